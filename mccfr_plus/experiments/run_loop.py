"""One run of a comparison: its files, and the loop from its start, or its last checkpoint, to its end."""

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyspiel

from mccfr_plus.errors import BudgetError, CheckpointError, MccfrPlusError
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.experiments.algorithm import algorithm_of
from mccfr_plus.experiments.evaluation_points import FEW, Limit, affordable_points, evaluation_points
from mccfr_plus.experiments.record import Point, Record
from mccfr_plus.experiments.solvers import solver_of
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.policies.files import save_policy
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver.iterative import IterativeSolver
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.by_rules.implicit_tree import can_be_implicit
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.loading import load_game

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
        count = self.num_evaluations or FEW
        if self.num_evaluations is None and isinstance(game, GameTree):
            count = affordable_points(game, self.limit, self.evaluation_cost)
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
    """A progress event of a comparison."""

    number: int  # of the run
    progress: float  # 0 .. 1
    outcome: str | None  # `DONE`, `STOPPED`, an error, or None: the run goes on


def run_to_end(run: Run, game: GameTree | pyspiel.Game, about: dict[str, Any], tell: Tell, stop: Stop) -> bool:
    """Runs to the end; returns False if `stop` has ended it before. Recorded points are not measured again.

    Our solvers continue from their checkpoint. Solvers without checkpoints start from the beginning, with the same
    seed. A KeyboardInterrupt is raised after a checkpoint was written, unless `stop` returns True then.
    """
    record = Record(run.record, run.header(about))
    if record.ended is not None:
        return True
    solver = solver_of(game, algorithm_of(run.definition or run.algorithm), run.seed)
    has_checkpoints = isinstance(solver, IterativeSolver)
    if has_checkpoints and run.checkpoint.exists():
        try:
            solver.restore(run.checkpoint)
        except CheckpointError:  # damaged, or of another version: the run starts from the beginning
            run.checkpoint.unlink()
    if isinstance(game, GameTree):
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
        if isinstance(game, GameTree):
            save_policy(TreePolicy(game, strategy_of(game, policy)), run.policy)  # also of networks
        elif has_checkpoints:
            save_policy(policy, run.policy)
    record.end(seconds=solver.seconds)
    run.checkpoint.unlink(missing_ok=True)
    tell(1.0)
    return True


def _advance(solver: Any, limit: Limit, target: float, tell: Tell, stop: Stop) -> bool:
    """Runs until a target is reached; returns False if it was stopped.

    The number of iterations at a time depends on the solver's history alone, so that a restored run measures where an
    uninterrupted one does, except with a limit in seconds.
    """
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
    return Point(
        max(target for target in run.points if target <= done),
        int(solver.iterations),
        int(solver.nodes_touched),
        float(solver.seconds),
        float(found.nash_conv),
        tuple(map(float, found.values)),
        tuple(map(float, found.best_response_values)),
        float(getattr(solver, "cpu_seconds", 0.0)),
    )


def warm_up() -> None:
    """Compiles the kernels once, rather than in every process of a machine at the same time."""
    Solver("kuhn_poker", "external", seed=1).run(1).evaluate()
    Solver("kuhn_poker", "full").run(1)


def outcome_of(run: Run, about: dict[str, Any], tell: Tell, stop: Stop) -> str:
    """Runs a run, and returns `DONE`, `STOPPED`, or the error's message; see `run_to_end`."""
    try:
        game = run.game_object if isinstance(run.game_object, GameTree) else _prepared(run.game, run.game_object)
        return DONE if run_to_end(run.on(game), game, about, tell, stop) else STOPPED
    except MccfrPlusError as error:
        return " ".join(str(error).split())


_prepared_games: dict[str, GameTree | pyspiel.Game] = {}  # the last one: trees may take gigabytes


def drop_prepared_games() -> None:
    """Frees the game that is kept for the next run."""
    _prepared_games.clear()


def _prepared(name: str, game: pyspiel.Game | None = None) -> GameTree | pyspiel.Game:
    """Returns the tree of a game or, where that does not fit and the game has rules, the game itself."""
    if name not in _prepared_games:
        drop_prepared_games()
        loaded = load_game(name if game is None else game)
        try:
            prepared = compile_game(loaded)
            prepared.require_perfect_recall("an exploitability")
        except BudgetError:
            rules = compiled_rules(loaded)
            if rules is None or not can_be_implicit(rules):
                raise
            prepared = loaded
        _prepared_games[name] = prepared
    return _prepared_games[name]
