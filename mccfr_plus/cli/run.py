"""A run of `mccfr-plus solve`, tabular or neural: its limits, its display on standard error, and its result."""

import math
import shutil
import sys
import time
from typing import Any

from mccfr_plus.bounds import nash_conv_bound, regret_bound, why_no_bound
from mccfr_plus.bounds.nash_conv import FAST_THREADS
from mccfr_plus.cli import cluster, output
from mccfr_plus.errors import BudgetError, CheckpointError, TrainingError
from mccfr_plus.evaluation import Evaluation, evaluate, expected_values
from mccfr_plus.evaluation.by_rules import RulesEvaluator
from mccfr_plus.evaluation.expected_time import estimated_seconds, estimated_seconds_to_begin, visited_histories
from mccfr_plus.evaluation.quality import local_bound
from mccfr_plus.files import file as checkpoint_file
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.policies.files import save_policy
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.sizes.infoset_estimate import estimate_infosets
from mccfr_plus.trees.sizes.size import as_text

DEFAULT_SECONDS = 10.0
DEFAULT_CHECKPOINT_INTERVAL = 60.0

_SHORT_EVALUATION = 60.0  # seconds; a longer one at the end of a run must not take longer than the run
_SMALL_TREE = 300_000  # histories: a second or two through pyspiel
_REDRAW_AFTER = 0.1  # seconds
_EVALUATION_SHARE = 0.1  # of the time, at most
_FIRST_LINE = 5.0  # seconds; without a terminal each next line comes when the run is twice as long


class Watch:
    """A callback of ``run`` that shows the progress of a run and measures its time."""

    def __init__(self, quiet: bool):
        self._begin, self._started = time.perf_counter(), False
        self._first, self._iterations, self._seconds = 0, math.inf, math.inf
        self._seconds_evaluating = self._next_evaluation = 0.0
        self._exploitability: float | None = None
        self._rewrites = not quiet and sys.stderr.isatty()
        # By the clock on a terminal, else in seconds of the run.
        self._next_line = float("inf") if quiet else 0.0 if self._rewrites else _FIRST_LINE

    def expect(self, first: int, iterations: int | None, seconds: float | None) -> None:
        """Takes the iterations that were run before, and how many, and seconds, the run has; None: no limit."""
        self._first, self._iterations = first, math.inf if iterations is None else iterations
        self._seconds = math.inf if seconds is None else seconds

    def __call__(self, progress: Any) -> None:
        """Shows a `Progress` of the run."""
        now = time.perf_counter()
        if not self._started:
            self._begin, self._started = now - progress.seconds, True  # compiling the kernels came before
        seconds = progress.seconds - self._seconds_evaluating
        if progress.evaluation is not None:
            self._exploitability = progress.evaluation.exploitability
        if (now if self._rewrites else seconds) < self._next_line:
            return
        # Within an iteration the average is incomplete.
        if progress.evaluation is None and progress.phase is None and now >= self._next_evaluation:
            self._evaluate(progress.solver)
        line = self._line(progress, seconds)
        if self._rewrites:
            self._rewrite(line)
            self._next_line = time.perf_counter() + _REDRAW_AFTER
        else:
            print(line, file=sys.stderr)
            self._next_line = 2 * seconds

    def stop(self) -> float:
        """Clears the line and returns how many seconds the run took, without evaluations for the display."""
        seconds = time.perf_counter() - self._begin - self._seconds_evaluating
        if self._rewrites:
            self._rewrite("")
        return seconds

    def _rewrite(self, line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width].ljust(width)}\r", end="", file=sys.stderr, flush=True)

    def _evaluate(self, solver: Any) -> None:
        if solver.tree is None or solver.tree.is_lazy or not solver.tree.perfect_recall:
            return
        begin = time.perf_counter()
        self._exploitability = solver.exploitability()
        end = time.perf_counter()
        self._seconds_evaluating += end - begin
        self._next_evaluation = end + (end - begin) / _EVALUATION_SHARE

    def _line(self, progress: Any, seconds: float) -> str:
        """Returns a line that fits a terminal of 80 columns, with two players."""
        tree, iterations = progress.solver.tree, progress.iterations
        found = f"exploitability {output.number(self._exploitability, 3):<8}"
        if tree is not None and tree.is_lazy:
            found = f"{output.short(tree.num_infosets):>5} information sets"
        nodes = f"{output.short(progress.nodes_touched):>5} nodes"
        done = iterations - self._first  # those to come are taken to be as long
        end = min(self._seconds, self._iterations * seconds / done if done else math.inf)
        when = f"{seconds:.1f} s" + ("" if math.isinf(end) else f", {max(end - seconds, 0.0):.0f} s left")
        losses = getattr(progress.solver, "losses", None)
        if losses is None:
            pace = f"{output.short(done / seconds)}/s"
            return f"{when}  {found}  it. {output.short(iterations):>5}, {pace:>7}  {nodes}"
        phase = f"{output.count(iterations)} done"
        if progress.phase is not None:
            phase = f"{output.count(iterations + 1)}: {progress.phase}"
        found = nodes if tree is None and self._exploitability is None else found
        return f"{when}  {found}  it. {phase}  loss {' '.join(output.number(loss, 2) for loss in losses)}"


def run_to_limits(
    solver: Any, values: Any, lock: CheckpointLock | None, watch: Watch
) -> tuple[float, KeyboardInterrupt | CheckpointError | TrainingError | None]:
    """Runs up to the limits of the command line, which include what was run before a checkpoint.

    Without a single iteration there is no result, and Ctrl-C and errors are raised.

    Returns:
        Seconds of the run, without evaluations for the display and with the time before the checkpoint that it
        continues; and what ended it early: Ctrl-C, or an error to be raised after the result so far is printed.
    """
    iterations_before, seconds_before = solver.iterations, solver.seconds
    seconds, iterations, target = values.seconds, values.iterations, values.target_exploitability
    if seconds is None and iterations is None and target is None:
        seconds = DEFAULT_SECONDS
    if iterations_before and (
        (iterations is not None and iterations_before >= iterations)
        or (seconds is not None and seconds_before >= seconds)
        or (target is not None and solver.exploitability() <= target)
    ):
        return seconds_before, None
    iterations_left = None if iterations is None else iterations - iterations_before
    seconds_left = None if seconds is None else seconds - seconds_before
    watch.expect(iterations_before, iterations_left, seconds_left)
    ended_by = None
    try:
        solver.run(
            iterations_left,
            seconds=seconds_left,
            target_exploitability=target,
            checkpoint=lock,
            checkpoint_interval=values.checkpoint_interval or DEFAULT_CHECKPOINT_INTERVAL,
            callback=watch,
            on_phase=watch,
        )
    except (KeyboardInterrupt, CheckpointError, TrainingError) as error:
        if solver.iterations == (iterations_before if isinstance(error, CheckpointError) else 0):
            raise
        ended_by = error
    return seconds_before + watch.stop(), ended_by


# --- the result ---


def run_and_print(
    game: str,
    solver: Any,
    values: Any,
    lock: CheckpointLock | None,
    about: dict[str, Any],
    heading: list[list[str]],
) -> None:
    """Runs a solver up to the limits of the command line, and prints and writes its result.

    Args:
        about: Algorithm, components and options, for the JSON object.
        heading: The same, as rows of the table.

    Raises:
        MccfrPlusError: After the result so far, if networks diverged or the last checkpoint could not be written.
    """
    tree = solver.tree
    if tree is not None and not tree.is_lazy and tree.perfect_recall:
        solver.evaluate()  # compiles what evaluations need, before the clock starts
    seconds, ended_by = run_to_limits(solver, values, lock, Watch(values.quiet))
    interrupted, diverged = isinstance(ended_by, KeyboardInterrupt), isinstance(ended_by, TrainingError)
    if tree is None and not values.quiet:
        print("computing the average policy, whose networks may have to be trained", file=sys.stderr)
    if values.policy_out is not None:
        policy = solver.average_policy()
        policy.save(values.policy_out) if tree is None else save_policy(policy, values.policy_out)
    result = {
        "game": game,
        **about,
        "seed": solver.seed,
        "iterations": solver.iterations,
        "nodes_touched": solver.nodes_touched,
        "seconds": seconds,
        "iterations_per_second": solver.iterations / seconds if seconds else None,
        **_quality(solver, values, interrupted),
        "tree": tree and tree.kind,
        "information_sets": tree and tree.num_infosets,
        "nodes": tree and tree.num_nodes,
        "cluster": values.cluster,
        "workers": values.cluster and (values.workers or cluster.WORKERS),
        "num_batches": getattr(solver, "num_batches", None),
        "stopped": str(ended_by) if diverged else getattr(solver, "stopped", None),
        "interrupted": interrupted,
        "policy_out": values.policy_out,
        "checkpoint": values.checkpoint,
    }
    result["bounds"] = _bounds(solver, values.confidence, result["nash_conv"]) if values.bounds else None
    cut = " (then a network diverged)" if diverged else " (memory full)" if result["stopped"] else ""
    rows = [
        ["game", game],
        *heading,
        ["seed", str(result["seed"])],
        ["iterations", output.count(result["iterations"]) + (" (interrupted)" if interrupted else cut)],
        ["nodes touched", output.count(result["nodes_touched"])],
        ["seconds", output.number(seconds, 4)],
        ["iterations/s", output.rate(result["iterations_per_second"]) if seconds else output.number(None)],
    ]
    if "settings" in result:
        result["losses"] = list(solver.losses)
        rows.append(["losses", ", ".join(output.number(loss, 3) for loss in solver.losses)])
    elif tree.is_lazy:
        found = f"{output.count(tree.num_infosets)} information sets"
        stored = "no history" if tree.kind == "rules" else f"{output.count(tree.num_nodes)} nodes"
        rows.append([{"rules": "by rules"}.get(tree.kind, "lazy tree"), f"{found}, {stored} kept"])
    rows += _quality_rows(solver, result)
    files = {"policy": values.policy_out, "checkpoint": values.checkpoint}
    output.print_table([*rows, *([name, file] for name, file in files.items() if file is not None)], texts=(0, 1))
    if result["bounds"] is not None:
        _print_bounds(result["bounds"])
    if values.json:
        output.print_json(result)
    if lock and lock.path.exists() and (interrupted or diverged) and not values.quiet:
        kept = f"{lock} is of iteration {checkpoint_file.read_header(lock)['iterations']:,}"
        print(f"interrupted: {kept}; add --resume to go on" if interrupted else f"kept: {kept}", file=sys.stderr)
    if ended_by is not None and not interrupted:
        raise ended_by  # last, as the result is good without a checkpoint, and up to where networks diverged


def _quality(solver: Any, values: Any, interrupted: bool) -> dict[str, Any]:
    """Returns values, NashConv, exploitability and its bound of the average policy; None for what is not known."""
    tree, policy = solver.tree, solver.average_policy
    found: dict[str, Any] = {"nash_conv": None, "exploitability": None, "exploitability_bound": None}
    if tree is None:
        evaluation = _exact_if_small(solver, values)
    elif tree.kind == "rules" and solver.iterations > 0 and not interrupted:
        evaluation = _exact_by_rules(solver, values)
    else:
        evaluation = None if tree.is_lazy or not tree.perfect_recall else solver.evaluate()
    if evaluation is not None:
        found["values"] = evaluation.values.tolist()
        found |= {"nash_conv": evaluation.nash_conv, "exploitability": evaluation.exploitability}
    elif tree is None or tree.is_lazy:
        game = solver.game if tree is None else tree.game
        found["values"] = [None] * game.num_players()
        if values.bound_seconds and (tree is None or tree.perfect_recall):
            progress = not values.quiet and sys.stderr.isatty()
            bound = local_bound(game, policy(), values.bound_seconds, seed=values.seed, progress=progress)
            found["exploitability_bound"] = bound and bound.estimate._asdict()
    else:
        found["values"] = expected_values(tree, policy()).tolist()
    return found


def _exact_by_rules(solver: Any, values: Any) -> Evaluation | None:
    """Returns the exact evaluation of a game that is not stored, unless it takes longer than the run or a minute."""
    if not values.bound_seconds:
        return None
    tree = solver.tree
    is_symmetric = tree.num_symmetries > 1
    histories = visited_histories(tree.game, tree.rules_game, is_symmetric)
    seconds = estimated_seconds(histories, is_symmetric=is_symmetric)
    if seconds > max(solver.seconds, _SHORT_EVALUATION):
        return None
    if seconds > 1 and not values.quiet:
        what = f"exact evaluation of {as_text(math.log10(histories))} histories"
        print(f"{what}: about {seconds:.0f} s; Ctrl-C leaves it out", file=sys.stderr)
    try:
        return RulesEvaluator(solver.tree, progress=False if values.quiet else None).evaluate(solver.average_strategy())
    except (BudgetError, KeyboardInterrupt) as error:
        if not values.quiet:
            print(f"no exact evaluation: {error or 'interrupted'}", file=sys.stderr)
        return None


def _exact_if_small(solver: Any, values: Any) -> Evaluation | None:
    """Returns the exact evaluation of a solver without a tree, if its game is compiled within a second or two."""
    if not values.bound_seconds:
        return None
    try:
        tree = solver.whole_tree(_SMALL_TREE)
    except BudgetError:
        return None
    return evaluate(tree, solver.average_policy()) if tree.perfect_recall else None


def announce_beginning(solver: Solver) -> None:
    """Prints how long it takes until the first iteration begins, if a game by rules must be traversed before."""
    tree, config = solver.tree, solver.config
    if not isinstance(tree, ImplicitTree) or config.needs_whole_tree() is None:
        return
    is_symmetric, with_leaves = tree.num_symmetries > 1, config.estimator.needs_leaves and tree.num_players == 2
    histories = visited_histories(tree.game, tree.rules_game, is_symmetric)
    infosets = estimate_infosets(tree.rules_game)
    slots = infosets.slots / tree.num_symmetries if infosets else 0.0
    seconds = estimated_seconds_to_begin(histories, slots, with_leaves, is_symmetric, config.threads)
    if seconds > 1:
        what = "list leaves" if with_leaves else "number information sets"
        print(
            f"before the first iteration: {as_text(math.log10(histories))} histories are traversed to {what}, about "
            f"{seconds:.0f} s, which count as --seconds",
            file=sys.stderr,
        )


def _quality_rows(solver: Any, result: dict[str, Any]) -> list[list[str]]:
    if (solver.tree is None or solver.tree.is_lazy) and result["exploitability"] is None:
        bound = result["exploitability_bound"]
        if bound is None:
            unknown = "n/a (no bound found in time; compare policies by mccfr-plus evaluate --against)"
            return [["exploitability", unknown]]
        value, low, high = (output.number(bound[name], 4) for name in ("value", "low", "high"))
        found = f"local best response: {value}, {100 * bound['confidence']:g} % interval {low} to {high}"
        return [["exploitability", f"at least {low if bound['low'] > 0 else 0} ({found})"]]
    rows = [[f"value of player {i}", output.number(v)] for i, v in enumerate(result["values"])]
    for name in ("nash_conv", "exploitability"):
        known = f"{output.number(result[name])} in the game's payoffs"
        has_recall = solver.tree is None or solver.tree.perfect_recall
        rows.append([name, known if has_recall else "n/a (imperfect recall)"])
    return rows


def _bounds(solver: Solver, confidence: float, nash_conv: float | None) -> dict[str, Any]:
    """Returns the bounds on the players' average regrets, their sum, and what NashConv says about it."""
    tree, components = solver.tree.require_whole("a bound"), (solver.estimator, solver.minimizer, solver.averaging)
    p = (1 - confidence) / tree.num_players  # of each, so that all hold together
    reason = why_no_bound(tree, *components)
    if solver.config.baseline is not None:
        reason = "with baselines the range of the estimates is unknown"
    if solver.config.threads > 1 and not solver.config.is_team:
        reason = FAST_THREADS
    players = range(tree.num_players)
    found = [None if reason else regret_bound(tree, i, solver.iterations, *components, p=p) for i in players]
    regret = [bound and bound.value for bound in found]
    relation = nash_conv_bound(solver)
    return {
        "confidence": confidence,
        "regret": regret,
        "theorem": [bound and bound.theorem for bound in found],
        "sum": None if None in regret else sum(each for each in regret if each is not None),
        "slack": relation.slack if relation.is_bounded else None,
        "measured": nash_conv if relation.is_bounded else None,
        "reason": "; ".join(dict.fromkeys(each for each in (reason, relation.reason) if each)),
    }


def _print_bounds(bounds: dict[str, Any]) -> None:
    rows = [["average regret", "bound", "measured", "by"]]
    for player, (value, theorem) in enumerate(zip(bounds["regret"], bounds["theorem"], strict=True)):
        rows.append([f"player {player}", output.number(value), "", theorem or ""])
    rows.append(["all players", output.number(bounds["sum"]), output.number(bounds["measured"])])
    if bounds["slack"]:
        rows.append(["slack of alternating updates", output.number(bounds["slack"])])
    print()
    output.print_table(rows, texts=(0, 3))
    print(f"confidence {bounds['confidence']:g}; {bounds['reason']}")
