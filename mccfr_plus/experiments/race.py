"""One run from its start, or from where it was killed, to its end: runs up to each measuring point, and records it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mccfr_plus.errors import CheckpointError
from mccfr_plus.experiments.algorithm import algorithm_of
from mccfr_plus.experiments.points import Limit
from mccfr_plus.experiments.record import Point, Record
from mccfr_plus.experiments.runner import Runner, Stop, runner_of
from mccfr_plus.policy_file import save_policy
from mccfr_plus.tree.game_tree import GameTree

CHECKPOINT_SECONDS = 30.0  # a killed run loses at most about this, and what is left to the next point

Tell = Callable[[float], None]  # how far a run is, from 0 to 1


@dataclass(frozen=True)
class Run:
    """What is run, and where its files are."""

    game: str
    algorithm: str
    seed: int
    limit: Limit
    points: tuple[float, ...]  # where to measure, in the limit's unit
    record: Path
    checkpoint: Path
    policy: Path | None  # where the final policy is written; None: it is not

    def header(self, about: dict[str, Any]) -> dict[str, Any]:
        """Returns the first line of the record: what was run, and `about` where and when."""
        return {
            "game": self.game,
            "algorithm": self.algorithm,
            "seed": self.seed,
            "unit": self.limit.unit,
            "total": self.limit.total,
            "points": list(self.points),
            **about,
        }


def race(run: Run, tree: GameTree, about: dict[str, Any], tell: Tell, stop: Stop) -> bool:
    """Runs to the end; returns False if `stop` has ended it before. What was recorded earlier is not done again.

    A solver of ours goes on from its checkpoint. One of OpenSpiel's has none: it begins anew, with the same seed, and
    only what comes after the last point recorded is recorded.

    Args:
        run: What to run.
        tree: The game's tree.
        about: Where and when, for the record.
        tell: Told how far the run is.
        stop: Asked whether to stop.

    Raises:
        RecordError: If the record is of another run, or cannot be written; what was recorded before is kept.
        GameError: If the algorithm cannot play the game.
    """
    record = Record(run.record, run.header(about))
    if record.ended is not None:
        return True
    runner = runner_of(tree, algorithm_of(run.algorithm), run.seed)
    _restore(runner, run.checkpoint)
    runner.evaluate()  # compiles what evaluations need
    last = record.points[-1] if record.points else None
    saved, measuring = time.monotonic(), 0.0
    for target in run.points:
        if last is not None and last.target >= target:
            continue
        if not _advance(runner, run.limit, target, tell, stop):
            runner.save(run.checkpoint)
            return False
        begin = time.perf_counter()
        last = _measure(runner, run)
        record.add(last)
        measuring += time.perf_counter() - begin
        if time.monotonic() - saved > CHECKPOINT_SECONDS and target != run.points[-1]:
            runner.save(run.checkpoint)
            saved = time.monotonic()
    if run.policy is not None:
        save_policy(runner.policy(), run.policy)
    record.end(seconds=runner.seconds, measuring_seconds=measuring)
    run.checkpoint.unlink(missing_ok=True)
    return True


def _restore(runner: Runner, checkpoint: Path) -> None:
    if checkpoint.exists():
        try:
            runner.restore(checkpoint)
        except CheckpointError:
            checkpoint.unlink()  # of another version of the package, or damaged: the run begins anew


def _advance(runner: Runner, limit: Limit, target: float, tell: Tell, stop: Stop) -> bool:
    """Runs until a target is reached; returns False if it was stopped.

    How many iterations are run at a time follows from what the runner has done so far alone, so that a run that was
    restored measures where an uninterrupted one does; but for a limit in seconds.
    """
    is_stopped = False

    def look() -> bool:
        nonlocal is_stopped
        tell(limit.done(runner) / limit.total)
        is_stopped = is_stopped or stop()
        return is_stopped or (limit.unit == "seconds" and limit.done(runner) >= target)

    while limit.done(runner) < target:
        runner.run(limit.iterations_to(runner, target), look)
        if is_stopped:
            return False
    return True


def _measure(runner: Runner, run: Run) -> Point:
    found, done = runner.evaluate(), run.limit.done(runner)
    return Point(
        max(target for target in run.points if target <= done),
        runner.iterations,
        runner.nodes,
        runner.seconds,
        found.nash_conv,
        tuple(found.values.tolist()),
    )
