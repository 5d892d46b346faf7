"""The same solvers and comparisons on a Ray cluster. Needs the extra ``ray``: ``pip install 'mccfr_plus[ray]'``."""

from mccfr_plus.distributed.cluster import Cluster
from mccfr_plus.distributed.evaluation import DistributedEvaluator
from mccfr_plus.distributed.matches import head_to_head
from mccfr_plus.distributed.solver import DistributedSolver

__all__ = ["Cluster", "DistributedEvaluator", "DistributedSolver", "head_to_head"]
