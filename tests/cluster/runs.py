"""Runs for tests, and a program that executes them: ``python runs.py FOLDER CLUSTER COUNT``."""

import json
import logging
import signal
import sys
from pathlib import Path

from mccfr_plus.cluster import Cluster
from mccfr_plus.experiments.comparison import Limit, Run, comparison_of
from mccfr_plus.experiments.run_all import run_on_cluster
from mccfr_plus.experiments.runs import DONE


def run_of(folder, algorithm="external", game="leduc_poker", seed=1, nodes=2e5):
    return Run(comparison_of(game, algorithm, [seed], Limit("nodes", nodes), 8), game, algorithm, seed, folder)


def files_of(folder):
    """Returns the content of the runs' files by name, without times and places."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for name in found:
        if name.endswith(".jsonl"):
            entries = [json.loads(line) for line in found[name].splitlines()]
            for entry in entries:
                if "run" in entry:
                    entry["run"] = {key: entry["run"][key] for key in ("game", "algorithm", "seed", "points")}
                elif "point" in entry:
                    del entry["point"]["seconds"], entry["point"]["cpu_seconds"]
                else:
                    entry["end"] = sorted(entry["end"])
            found[name] = entries
    return found


def long_runs(folder, count):
    return [run_of(folder, "outcome", seed=number + 1, nodes=6e7) for number in range(count)]


def main(folder, address, count):
    logging.getLogger("mccfr_plus").addHandler(logging.StreamHandler())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    runs = dict(enumerate(long_runs(Path(folder), int(count))))
    try:
        with Cluster(address) as cluster:
            events = list(run_on_cluster(runs, {"command": "test", "started": "today"}, cluster))
    except KeyboardInterrupt:
        print("interrupted")
        return
    if all(event.outcome in (None, DONE) for event in events):
        print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
