"""Comparisons: games x algorithms x seeds on this machine or a cluster, with records, curves and pictures.

algorithm ─▶ solvers ─▶ run_loop (one run) ─▶ record (a file)    comparison (a directory) ─▶ curves ─▶ plot, report
                          ▲ evaluation_points                          ▲ run_all, cluster_runs ◀─ result (`compare`)
"""

from mccfr_plus.experiments.curves import Curve, Interval
from mccfr_plus.experiments.result import Result, compare

__all__ = ["Curve", "Interval", "Result", "compare"]
