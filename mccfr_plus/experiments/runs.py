"""Runs of a comparison: their records, and the loop from a run's start or checkpoint on."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyspiel

from mccfr_plus.errors import BudgetError, CheckpointError, MccfrPlusError, RecordError
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.experiments.algorithms import solver_of
from mccfr_plus.experiments.comparison import Limit, Run
from mccfr_plus.files.json_files import JsonLines, read_json_lines
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.policies.files import save_policy
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver.iterative import IterativeSolver
from mccfr_plus.trees.by_rules.implicit_tree import rules_with_recall
from mccfr_plus.trees.game_tree import GameTree, compile_game, given_tree
from mccfr_plus.trees.loading import load_game

# --- records ---

_FORMAT, _VERSION = "mccfr_plus.run", 1
# What makes a run the same run; the rest of the header says where and when it was run.
_IDENTITY = ("format", "version", "game", "algorithm", "seed", "unit", "total", "points")


class Point(NamedTuple):
    """An evaluation of a run's average policy."""

    target: float  # the measuring point, in the limit's unit; the last of those that one iteration has passed
    iterations: int
    nodes: int  # histories touched
    seconds: float  # wall time of the run, without evaluations and compiling
    nash_conv: float
    values: tuple[float, ...]  # per player, of the average policy
    best_response_values: tuple[float, ...] = ()  # per player, of the best response to the others' average policies
    cpu_seconds: float = 0.0  # CPU time since the run was started or resumed, likewise; 0: not measured


class Record:
    """The file of one run, opened to append to it. If it exists, it must be of the same run, and is continued."""

    def __init__(self, path: str | os.PathLike, header: dict[str, Any]):
        self.path = Path(path)
        header = {"format": _FORMAT, "version": _VERSION, **header}
        self.points: list[Point] = []
        self.ended: dict[str, Any] | None = None
        self._lines = JsonLines(self.path, RecordError)
        if not self.path.exists() or not read_json_lines(self.path, RecordError):  # a header may be incomplete
            self._lines.append({"run": header})
            return
        found, self.points, self.ended = read_record(self.path)
        for key in _IDENTITY:
            if found.get(key) != header.get(key):
                what = f"its {key} is {found.get(key)!r}, not {header.get(key)!r}"
                raise RecordError(
                    f"{self.path} is the record of another run: {what}. Delete the record, or choose another directory."
                )

    def add(self, point: Point) -> None:
        self._lines.append({"point": point._asdict()})
        self.points.append(point)

    def end(self, **about: Any) -> None:
        self._lines.append({"end": about})
        self.ended = about


def read_record(path: str | os.PathLike) -> tuple[dict[str, Any], list[Point], dict[str, Any] | None]:
    """Returns a record's header, its points, and how the run has ended (None: it has not)."""
    entries = read_json_lines(path, RecordError)
    try:
        header, ended = entries[0]["run"], None
        if (header["format"], header["version"]) != (_FORMAT, _VERSION):
            raise ValueError
        points = []
        for entry in entries[1:]:
            if "point" in entry:
                values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry["point"].items()}
                points.append(Point(**values))
            else:
                ended = entry["end"]
    except (IndexError, ValueError, KeyError, TypeError, AttributeError):
        what = f"{path} is not a record of a run of this version, or is damaged"
        raise RecordError(f"{what}: delete it to repeat the run.") from None
    return header, points, ended


# --- runs ---

CHECKPOINT_SECONDS = 30.0  # between checkpoints, which are only written at measuring points;
PAUSE = 50.0  # and at least so many times as long as writing one took

Stop = Callable[[], bool]  # called about five times a second; True ends the run
Tell = Callable[[float], None]  # gets the progress of the run, from 0 to 1; its files may have changed

DONE, STOPPED = "done", "stopped"  # other outcomes are errors, as text


Runs = dict[int, Run]  # by number, in the order in which they are started


class RunEvent(NamedTuple):
    number: int  # of the run
    progress: float  # 0 .. 1
    outcome: str | None  # `DONE`, `STOPPED`, an error, or None: the run goes on


def run_to_end(run: Run, game: GameTree | pyspiel.Game, about: dict[str, Any], tell: Tell, stop: Stop) -> bool:
    """Runs to the end; returns False if `stop` has ended it before. Recorded points are not measured again.

    Solvers without checkpoints start from the beginning, with the same seed. A KeyboardInterrupt is raised after a
    checkpoint was written, unless `stop` returns True then.
    """
    record = Record(run.record, run.header(about))
    if record.ended is not None:
        return True
    solver, tree = solver_of(game, run.comparison.algorithm(run.algorithm), run.seed), given_tree(game)
    has_checkpoints = isinstance(solver, IterativeSolver)
    if has_checkpoints and run.checkpoint.exists():
        try:
            solver.restore(run.checkpoint)
        except CheckpointError:  # damaged, or of another version: the run starts from the beginning
            run.checkpoint.unlink()
    if tree is not None:
        solver.evaluate()  # compiles what evaluations need
    recorded = record.points[-1].target if record.points else 0.0
    saved, pause = time.monotonic(), CHECKPOINT_SECONDS
    for target in run.points:
        is_last, interrupt = target == run.points[-1], None
        if recorded >= target and not is_last:
            continue
        # To the last point also if it is recorded: the policy is that of the run's end, and a checkpoint is older.
        try:
            is_there = _advance(solver, run.limit, target, tell, stop)
            if is_there and recorded < target:
                point = _measure(solver, run)
                with deferred_signals():
                    record.add(point)
                recorded = point.target
                begin = time.monotonic()
                if has_checkpoints and begin - saved > pause and not is_last:
                    solver.save_checkpoint(run.checkpoint)
                    saved = time.monotonic()
                    pause = max(CHECKPOINT_SECONDS, PAUSE * (saved - begin))
                tell(run.limit.progress(solver))
        except KeyboardInterrupt as error:
            is_there, interrupt = False, error
        if not is_there:
            if has_checkpoints and solver.iterations:
                with deferred_signals():
                    solver.save_checkpoint(run.checkpoint)
            tell(run.limit.progress(solver))
            if interrupt is not None and not stop():
                raise interrupt
            return False
    if run.keeps_policy and hasattr(solver, "average_policy") and (policy := solver.average_policy()) is not None:
        if tree is not None:
            save_policy(TreePolicy(tree, strategy_of(tree, policy)), run.policy)  # also of networks
        elif has_checkpoints:
            save_policy(policy, run.policy)
    record.end(seconds=solver.seconds)
    run.checkpoint.unlink(missing_ok=True)
    tell(1.0)
    return True


def _advance(solver: Any, limit: Limit, target: float, tell: Tell, stop: Stop) -> bool:
    """Runs until a target is reached; returns False if it was stopped."""
    is_stopped = False

    def look(_: Any) -> bool:
        nonlocal is_stopped
        tell(limit.progress(solver))
        is_stopped = is_stopped or stop()
        return is_stopped or (limit.unit == "seconds" and limit.done(solver) >= target)

    while limit.done(solver) < target:
        solver.run(limit.iterations_to(solver, target), callbacks=[look])
        if is_stopped:
            return False
    return True


def _measure(solver: Any, run: Run) -> Point:
    found, done = solver.evaluate(), run.limit.done(solver)
    target = max(target for target in run.points if target <= done)
    cost = int(solver.iterations), int(solver.nodes_touched), float(solver.seconds)
    values, best_values = (tuple(map(float, each)) for each in (found.values, found.best_response_values))
    cpu_seconds = float(getattr(solver, "cpu_seconds", 0.0))
    return Point(target, *cost, float(found.nash_conv), values, best_values, cpu_seconds)


def outcome_of(run: Run, about: dict[str, Any], tell: Tell, stop: Stop) -> str:
    """Runs a run, and returns `DONE`, `STOPPED`, or the error's message; see `run_to_end`."""
    try:
        game = _prepared(run.game, run.comparison.games[run.game])
        return DONE if run_to_end(run.on(game), game, about, tell, stop) else STOPPED
    except MccfrPlusError as error:
        return " ".join(str(error).split())


prepared_games: dict[str, GameTree | pyspiel.Game] = {}  # the last one: trees may take gigabytes


def _prepared(name: str, given: pyspiel.Game | str | GameTree) -> GameTree | pyspiel.Game:
    """Returns the tree of a game or, where that does not fit and the game has rules, the game."""
    if name not in prepared_games:
        prepared_games.clear()
        try:
            prepared_games[name] = compile_game(given)
        except BudgetError:
            game = load_game(given)
            if rules_with_recall(game) is None:
                raise
            prepared_games[name] = game
    return prepared_games[name]
