"""One run from its start, or from where it was killed, to its end: runs up to each measuring point, and records it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from mccfr_plus.experiments.algorithm import algorithm_of
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.record import Point
from mccfr_plus.experiments.run import Run
from mccfr_plus.experiments.run_records import FileLedger, Ledger
from mccfr_plus.experiments.runner import Runner, Stop, runner_of
from mccfr_plus.tree.game_tree import GameTree

CHECKPOINT_SECONDS = 30.0  # a killed run loses at most about this, and what is left to the next point,
SAVING_SHARE = 0.02  # but where checkpoints of this share of the time would be fewer

Tell = Callable[[float], None]  # how far a run is, from 0 to 1


def race(
    run: Run,
    tree: GameTree,
    about: dict[str, Any],
    tell: Tell,
    stop: Stop,
    open_ledger: Callable[[Run, dict[str, Any]], Ledger] = FileLedger,
) -> bool:
    """Runs to the end; returns False if `stop` has ended it before. What was recorded earlier is not done again.

    A solver of ours goes on from its checkpoint. One of OpenSpiel's has none: it begins anew, with the same seed, and
    only what comes after the last point recorded is recorded.

    Args:
        run: What to run.
        tree: The game's tree.
        about: Where and when, for the record.
        tell: Told how far the run is.
        stop: Asked whether to stop.
        open_ledger: Given the run and its header, returns where it is recorded.

    Raises:
        RecordError: If the record is of another run, or cannot be written; what was recorded before is kept.
        GameError: If the algorithm cannot play the game.
    """
    ledger = open_ledger(run, run.header(about))
    if ledger.ended is not None:
        return True
    runner = runner_of(tree, algorithm_of(run.algorithm), run.seed)
    ledger.restore(runner)
    runner.evaluate()  # compiles what evaluations need
    last = ledger.points[-1] if ledger.points else None
    saved, pause, measuring, saving = time.monotonic(), CHECKPOINT_SECONDS, 0.0, 0.0
    for target in run.points:
        is_recorded = last is not None and last.target >= target
        if is_recorded and target != run.points[-1]:
            continue
        # To the last point also if it is recorded: the policy is that of the run's end, and a checkpoint is older.
        if not _advance(runner, run.limit, target, tell, stop):
            ledger.save(runner)
            return False
        if is_recorded:
            continue
        begin = time.perf_counter()
        last = _measure(runner, run)
        ledger.add(last)
        measuring += time.perf_counter() - begin
        begin = time.monotonic()
        if begin - saved > pause and target != run.points[-1]:
            ledger.save(runner)
            saved = time.monotonic()
            saving += saved - begin
            pause = max(CHECKPOINT_SECONDS, (saved - begin) / SAVING_SHARE)
    if run.policy is not None:
        ledger.publish(runner.policy())
    ledger.end(seconds=runner.seconds, measuring_seconds=measuring, saving_seconds=saving)
    return True


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
