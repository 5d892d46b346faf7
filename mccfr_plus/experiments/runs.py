"""Runs of a comparison: where along a run it is evaluated, its record, and the loop from its start or checkpoint on."""

import hashlib
import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyspiel

from mccfr_plus.errors import BudgetError, CheckpointError, ConfigError, MccfrPlusError, RecordError
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.experiments.algorithms import algorithm_of, solver_of
from mccfr_plus.files.json_files import JsonLines, read_json_lines
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.policies.files import save_policy
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver.iterative import IterativeSolver
from mccfr_plus.trees.by_rules.implicit_tree import rules_with_recall
from mccfr_plus.trees.game_tree import GameTree, compile_game, given_tree
from mccfr_plus.trees.loading import load_game

UNITS = ("nodes", "iterations", "seconds")

LEAST, MOST = 8, 60  # points of a run
FEW = 4  # points where an evaluation takes minutes: all histories of a game that is not stored
_DECADES = 4.0  # that the points go over, at the most
_SHARE = 0.04  # of a run's work that evaluations may take


class Limit(NamedTuple):
    unit: str  # one of `UNITS`
    total: float

    def done(self, solver: Any) -> float:
        return float(getattr(solver, "nodes_touched" if self.unit == "nodes" else self.unit))

    def progress(self, solver: Any) -> float:
        return min(self.done(solver) / self.total, 1.0)

    def iterations_to(self, solver: Any, target: float) -> int:
        """Returns how many iterations to run next, at least 1, to not pass the target; the clock plays no part."""
        done, iterations = self.done(solver), solver.iterations
        if self.unit == "iterations":
            return round(target - done)
        if not iterations or done <= 0.0:
            return 1
        missing = (target - done) * iterations / done
        # The mean of k iterations is known to about 1 / sqrt(k), the sum of the next ones strays by about its root, and
        # iterations change as strategies become purer: so at most half of what seems to be missing.
        cautious = missing * (1.0 - 2.0 / math.sqrt(iterations + 3)) - 3.0 * math.sqrt(missing)
        return max(1, min(math.floor(cautious), math.floor(missing / 2.0), iterations))


def limit_of(**given: float | None) -> Limit:
    """Returns the limit of the one argument that is not None, or a ConfigError if it is not the only one."""
    chosen = {unit: total for unit, total in given.items() if total is not None}
    if len(chosen) != 1:
        what = "none" if not chosen else " and ".join(chosen)
        raise ConfigError(f"a run needs exactly one limit, but {what} given: give exactly one of {', '.join(UNITS)}.")
    ((unit, total),) = chosen.items()
    if not math.isfinite(total) or total <= 0 or (unit != "seconds" and total < 1):
        raise ConfigError(f"{unit}={total!r}: must be a number, {'above 0' if unit == 'seconds' else 'at least 1'}.")
    return Limit(unit, float(total))


def evaluation_points(limit: Limit, count: int) -> tuple[float, ...]:
    """Returns at most `count` numbers up to the limit, evenly spaced on a logarithmic axis, whole but for seconds."""
    if count < 1:
        raise ConfigError(f"num_evaluations={count}: give at least one.")
    is_time = limit.unit == "seconds"
    decades = _DECADES if is_time else min(_DECADES, math.log10(limit.total))
    if count == 1 or decades == 0.0:
        return (limit.total,)
    numbers = [limit.total * 10.0 ** (-decades * (1.0 - index / (count - 1))) for index in range(count - 1)]
    return (*sorted({number if is_time else float(round(number)) for number in numbers} - {limit.total}), limit.total)


def affordable_points(tree: GameTree, limit: Limit, cost: float) -> int:
    """Returns how many evaluations, which cost so many visits per history and player, take a small share of a run."""
    if limit.unit != "nodes":
        return 25
    evaluation = cost * tree.num_nodes * tree.num_players
    return int(min(max(_SHARE * limit.total / evaluation, LEAST), MOST))


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
                    f"{self.path} is the record of another run: {what}. Delete it, or choose another directory."
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


def run_file(folder: Path, game: str, algorithm: str, seed: int, ending: str) -> Path:
    """Returns the path of a run's file: ``jsonl`` is its record, ``checkpoint``, ``policy.npz`` the final policy."""
    digest = hashlib.blake2b(f"{game}\n{algorithm}".encode(), digest_size=4).hexdigest()
    game, algorithm = (re.sub(r"[^a-z0-9+]+", "_", name.lower()).strip("_")[:40] for name in (game, algorithm))
    return folder / f"{game}-{algorithm}-{digest}-seed{seed}.{ending}"


@dataclass(frozen=True)
class Run:
    """One run of a comparison: a game, an algorithm, a seed, a length, and where its files are."""

    game: str  # its name
    algorithm: str  # its name
    seed: int
    limit: Limit
    folder: Path  # of the files
    keeps_policy: bool  # whether the final policy is written
    num_evaluations: int | None = None  # None: as many as cost little
    evaluation_cost: float = 1.0  # see `affordable_points`
    points: tuple[float, ...] = ()  # where to measure, in the limit's unit; empty until the tree is known
    game_object: Any = None  # the game, if its name does not say all
    definition: Any = None  # the algorithm, likewise; see `algorithm_of`

    def on(self, game: GameTree | pyspiel.Game) -> "Run":
        """Returns the run with its points on a game's tree, or on a game that is traversed by its rules."""
        count, tree = self.num_evaluations or FEW, given_tree(game)
        if self.num_evaluations is None and tree is not None:
            count = affordable_points(tree, self.limit, self.evaluation_cost)
        return replace(self, points=evaluation_points(self.limit, count))

    def __str__(self) -> str:
        return f"{self.game} {self.algorithm} seed {self.seed}"

    def _file(self, ending: str) -> Path:
        return run_file(self.folder, self.game, self.algorithm, self.seed, ending)

    record = property(lambda self: self._file("jsonl"))
    checkpoint = property(lambda self: self._file("checkpoint"))
    policy = property(lambda self: self._file("policy.npz"))

    def header(self, about: dict[str, Any]) -> dict[str, Any]:
        """Returns the first line of the record: what was run, and `about` where and when."""
        what = {"game": self.game, "algorithm": self.algorithm, "seed": self.seed}
        return what | {"unit": self.limit.unit, "total": self.limit.total, "points": list(self.points)} | about


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
    solver, tree = solver_of(game, algorithm_of(run.definition or run.algorithm), run.seed), given_tree(game)
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
        game = _prepared(run.game, run.game if run.game_object is None else run.game_object)
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
