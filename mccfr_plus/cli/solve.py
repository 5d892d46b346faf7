"""`mccfr-plus solve`: runs a solver on a game, shows its progress, and writes its average policy."""

import contextlib
import sys
from typing import Any

from absl import flags

from mccfr_plus.cli import checkpoints, cluster, neural, output
from mccfr_plus.cli.checkpoints import TABULAR
from mccfr_plus.cli.command import (
    Command,
    Topic,
    UsageError,
    address,
    define,
    define_limits,
    define_rules,
    define_settings,
    define_switch,
    duration,
    fraction,
    memory_size,
    one_of,
    positive,
    real,
    refuse,
    seed_of,
    text,
    whole,
)
from mccfr_plus.cli.run import announce_beginning, run_and_print
from mccfr_plus.errors import ConfigError, PolicyFileError
from mccfr_plus.estimators import Baseline
from mccfr_plus.files.atomic_write import require_kind
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.neural import ALGORITHMS
from mccfr_plus.solver.config import THREAD_MODES, TREES, SolverConfig
from mccfr_plus.solver.defaults import require_short_traversals, solver_for
from mccfr_plus.solver.registry import AVERAGES, ESTIMATORS, MINIMIZERS
from mccfr_plus.solver.solver import Solver
from mccfr_plus.solver.tree_choice import TreeLimits
from mccfr_plus.trees.keys import KINDS

_NOTES = """
The run ends at the first limit reached, by default after ten seconds. Ctrl-C
ends it early; the result so far is still printed and written.
exploitability: what a best response would gain, on average over the players;
0 at a Nash equilibrium. Seconds are those of the run, without compiling.
"""

_COMPONENTS = """
A tabular solver is an estimator, a minimizer and an average; any three go together. Parameters go into parentheses,
as in --estimator="outcome(epsilon=0.3)" or --averaging="power(gamma=1.5)".

estimators: which part of the tree a traversal visits
  full              all of it: CFR; pruning=True: not what the other players do not reach
  chance            one outcome at each chance node
  opponent          one action at each node of the other players
  external          both: MCCFR with external sampling; prune_below, prune_probability
  outcome           one history: MCCFR with outcome sampling; epsilon, update_all_players
  balanced          one history, by the exploration-balanced strategy; epsilon
  average_strategy  as external, but a subset of the own actions, by the average strategy; epsilon, tau, beta
  escher            one history, with values of histories instead of weights; values, refresh, sampling
  best_response     all of it, with the other player's best response in place of its strategy: CFR-BR
  opponent, external and average_strategy take sample_per_infoset=True: one action per information set, not per node
minimizers: how regrets become the next strategy
  rm, rm+           regret matching (CFR), regret matching+ (CFR+)
  linear, linear+   iteration t has weight t (LCFR, LCFR+)
  dcfr, dcfr+       discounted regrets (DCFR, DCFR+); alpha, beta; dcfr_pruning: the paper's parameters for pruning
  hs_dcfr           discounts on a schedule (HS-DCFR); iterations: how many are planned
  prm, prm+         predictive regret matching (PCFR, PCFR+)
  pdcfr+            the same with discounts (PDCFR+); alpha
  sapcfr+, apcfr+   predictions count less, a third or adaptively (SAPCFR+, APCFR+)
  smooth_prm+       predictive regret matching+ that changes gradually; eta
  hedge             multiplicative weights; eta, decay, optimistic
  ftrl, omd         on whole sequences, with dilated entropy; eta, weights, optimistic; not with escher
  mmd, rtcfr+, reg_cfr  their last strategy is meant to converge; only with --estimator=full
averages: the weight of iteration t, and how the sums are formed
  uniform, linear, power  1, t, t^gamma; exact sums, updated only where the strategy has changed
  schedule                t^gamma with gamma falling from 30 to 25 (HS-DCFR, HS-PCFR+); iterations: how many are planned
  lazy, exact             the same with weight t^gamma; exact updates everywhere in each iteration
  stochastic, sampled     at visited information sets: unbiased, with variance; sampled: from the sampled actions
  optimistic              as if nothing had changed since the last visit: biased
  last                    the last strategy
--batch=N makes the mean of N traversals one gradient. --baseline reduces the variance of sampled gradients.
User-defined components and games: --import=MODULE of a module that registers them.
"""

_MORE = """
With --resume, the same command continues the run of --checkpoint, bitwise identical to one run; limits count the whole
run. Components, settings and seed come from the checkpoint. SIGTERM ends a run as Ctrl-C does.
Nodes touched counts visited histories.
--bounds prints regret bounds. They hold together with probability --confidence, for a given number of --iterations.
"""

_NEURAL = """
--algorithm=NAME solves with neural networks instead of tables: deep_cfr, dream, escher and nfsp on a compiled tree,
batched_deep_cfr and so on without one. They need torch and a game with information-state tensors. Flags about tables
are errors with them. --help_neural --algorithm=NAME lists the settings for --set.
"""

_CLUSTER = """
--cluster=ray samples on a Ray cluster: the one of RAY_ADDRESS or of this machine, else a new one for this run. Results
depend on --seed and --batch only.
"""

_TOPICS = {
    "components": Topic(
        "Estimators, minimizers, averages", ("batch", "baseline", "baseline_rate", "alternating"), _COMPONENTS
    ),
    "neural": Topic("Neural networks", ("algorithm", "set"), _NEURAL),
    "cluster": Topic("Ray clusters", ("cluster", "workers"), _CLUSTER),
    "more": Topic(
        "Trees, checkpoints, threads, bounds",
        (
            "checkpoint_interval", "tree", "keys", "rules", "symmetry", "max_nodes", "max_bytes",
            "thread_mode", "bounds", "confidence", "bound_seconds",
        ),
        _MORE,
    ),
}  # fmt: skip

_KEYS = (
    "game, algorithm, estimator, minimizer, averaging, alternating, batch, baseline_rate, seed, iterations, "
    "nodes_touched, seconds, iterations_per_second, values, nash_conv, exploitability, exploitability_bound, tree, "
    "information_sets, "
    "nodes, threads, thread_mode, cluster, workers, num_batches, stopped (null, or why the run ended early), "
    "interrupted, policy_out, checkpoint, bounds; what is unknown is null; neural: also settings, losses"
)


# Flags that mean something beside another one only, and how to give that.
_ABOUT = {
    "resume": ("checkpoint", "its file by --checkpoint=FILE"),
    "checkpoint_interval": ("checkpoint", "its file by --checkpoint=FILE"),
    "workers": ("cluster", "--cluster=ray, or local"),
}


# Those that are arguments of `SolverConfig.from_specs` as they are.
_OPTIONS = (
    "estimator", "minimizer", "averaging", "alternating", "batch", "threads", "thread_mode", "tree", "memory", "keys",
    "symmetry",
)  # fmt: skip


class SolveCommand(Command):
    """Solves a game."""

    name = "solve"
    summary = "Compute an approximate equilibrium of a game."
    positionals = ("GAME",)
    notes = _NOTES
    topics = _TOPICS

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "estimator", text("NAME"), f"{', '.join(ESTIMATORS)}. Default: chosen for the game.")
        define(values, "minimizer", text("NAME"), f"{', '.join(MINIMIZERS)}. Default: pdcfr+ with full, else rm.")
        define(values, "averaging", text("NAME"), f"{', '.join(AVERAGES)}. Default: that of the minimizer's paper.")
        define(values, "batch", whole(), "Number of traversals per gradient.", 1)
        define_switch(values, "baseline", "Reduce the variance of sampled gradients by baselines.")
        define(values, "baseline_rate", positive("RATE"), "Weight of the newest value in a baseline, at most 1.")
        define_switch(values, "alternating", "Update players one after the other. Default: yes, if possible.", None)
        algorithms = one_of(TABULAR, *ALGORITHMS)
        define(values, "algorithm", algorithms, "Tables or networks (pip install 'mccfr_plus[neural]').", TABULAR)
        define_settings(values, "set", "A setting of a neural algorithm, such as traversals=1000; may be repeated.")
        define(values, "iterations", whole(), "Number of iterations, such as 5000 or 1e6.")
        define(values, "seconds", positive("SECONDS"), "Time of the run.")
        define(values, "target_exploitability", positive("NUMBER"), "Run until the exploitability is this small.")
        define(values, "seed", whole(0), "Makes a run repeatable. Default: random, and printed.")
        define(values, "checkpoint", text("FILE"), "Write the state of the run there, for --resume.")
        define(values, "checkpoint_interval", duration(), "How often, as in 90s, 5m or 2h. Default: 60s.")
        define_switch(values, "resume", "Continue the run of --checkpoint.")
        meaning = "Compile the tree, traverse the game by its rules, or expand it lazily. auto: the first that can be."
        define(values, "tree", one_of(*TREES), meaning, "auto")
        define(values, "memory", memory_size(), "Memory of the process, such as 4GB. Default: half of what is free.")
        define(values, "keys", one_of(*KINDS), "Keys of a lazy tree: 128-bit hashes, checked ones, or texts.", "hash")
        define_rules(values)
        meaning = "Make one of information states that symmetries of the board turn into each other."
        define_switch(values, "symmetry", meaning)
        define_limits(values)
        define(values, "threads", whole(), "Number of threads.", 1)
        meaning = "deterministic: threads make one gradient together; fast: shared tables, not repeatable."
        define(values, "thread_mode", one_of(*THREAD_MODES), meaning, "deterministic")
        meaning = "Sample on a Ray cluster: ray, ray://HOST:PORT or HOST:PORT; local: the same in this process."
        define(values, "cluster", address(), meaning)
        define(
            values,
            "workers",
            whole(1, 10_000),
            f"How many processes of the cluster sample. Default: {cluster.WORKERS}.",
        )
        define(values, "policy_out", text("FILE"), "Write the average policy there, as .npz.")
        define_switch(values, "bounds", "Print regret bounds beside what was measured.")
        define(values, "confidence", fraction(), "Probability of --bounds.", 0.95)
        meaning = "Time for a lower bound of the exploitability if the tree is not compiled; 0: none."
        seconds = real("SECONDS", "must be a number of seconds, 0 or more", low=0.0)
        define(values, "bound_seconds", seconds, meaning, 5.0)
        output.define_json(values, _KEYS)
        output.define_quiet(values)

    def help(self, values: Any = None) -> str:
        text = super().help(values)
        if values is not None and values.algorithm != TABULAR:
            settings = neural.settings_of(values.algorithm)
            return f"{text}\n\n{settings}" if values.help_neural else settings
        return text

    def run(self, arguments: list[str], values: Any) -> None:
        (game,) = arguments
        if values.policy_out is not None:
            require_kind(values.policy_out, PolicyFileError, begins=b"PK")  # as `.npz` does
        for name, (other, advice) in _ABOUT.items():
            if values[name].value and values[other].value is None:
                raise UsageError(f"--{name} is about a {other}: give {advice}, too.")
        with contextlib.ExitStack() as stack:
            lock = None if values.checkpoint is None else stack.enter_context(checkpoints.lock_of(values))
            algorithm = checkpoints.algorithm_in(lock, values) if lock and values.resume else values.algorithm
            is_tabular = algorithm == TABULAR
            if is_tabular and values["set"].present:
                raise UsageError(f"--set is about neural algorithms: give one of --algorithm={', '.join(ALGORITHMS)}.")
            if is_tabular and not values.bounds:
                refuse(values, ["confidence"], "bounds: give --bounds, too")
            if not is_tabular:
                neural.check_flags(values, algorithm)
            where = None
            if values.cluster is not None:
                cluster.check_flags(values)
                where = stack.enter_context(cluster.connected(values))
            if is_tabular:
                _solve(game, values, lock, where, stack)
            else:
                neural.solve(game, algorithm, values, lock)


def arguments_of(values: Any) -> dict[str, Any]:
    """Returns the arguments of `SolverConfig.from_specs` that the command line gives."""
    given = {name: values[name].value for name in _OPTIONS if values[name].present}
    if values["baseline"].present or values["baseline_rate"].present:
        given["baseline"] = values.baseline if values.baseline_rate is None else Baseline(values.baseline_rate)
    if values["rules"].present:
        given["rules"] = values.rules == "on"
    return given


def _solve(game: str, values: Any, lock: CheckpointLock | None, where: Any, stack: contextlib.ExitStack) -> None:
    """Runs a tabular solver, and prints and writes its result; `stack` ends the workers of a cluster."""
    to_resume, given, reason = lock if values.resume else None, arguments_of(values), ""
    limits = TreeLimits(values.max_nodes, values.max_bytes, False if values.quiet else None)
    needs_exploitability = values.target_exploitability is not None
    solver: Solver
    if where is not None:
        solver = stack.enter_context(cluster.new_solver(game, given, values, where, to_resume))
    elif to_resume is not None:
        arguments = checkpoints.arguments_to_resume(to_resume, given, values)
        seed, config = arguments.pop("seed"), SolverConfig.from_specs(**arguments)
        solver = Solver.from_config(game, config, seed=seed, limits=limits).restore(to_resume)
    elif "estimator" in given:
        config = SolverConfig.from_specs(**{"minimizer": None, **given})
        solver = Solver.from_config(game, config, seed=seed_of(values), limits=limits)
        if solver.tree.kind == "lazy":
            require_short_traversals(solver)
    else:
        seed = seed_of(values)
        solver, reason = solver_for(game, given, seed=seed, limits=limits, needs_exploitability=needs_exploitability)
    config, tree = solver.config, solver.tree
    if needs_exploitability and not tree.is_lazy:
        tree.require_perfect_recall("an exploitability")
    if values.bounds and tree.is_lazy:
        raise ConfigError(
            f"--bounds needs the whole tree, and that of {game} is lazy: leave it out, or give --tree=compiled."
        )
    specs = config.describe()
    names = {name: specs[name] for name in ("estimator", "minimizer", "averaging")}
    output.show_notes()
    if not values.quiet:
        listed = ", ".join(f"{name}={spec}" for name, spec in names.items())
        print(f"solving with {listed}{reason and ': '}{reason}", file=sys.stderr)
        announce_beginning(solver)
    about = {
        "algorithm": TABULAR,
        **names,
        **{name: getattr(config, name) for name in ("alternating", "batch", "threads", "thread_mode")},
        "baseline_rate": config.baseline and config.baseline.rate,
    }
    heading = [["components", _components(solver, names)]]
    run_and_print(game, solver, values, lock, about, heading)


def _components(solver: Solver, names: dict[str, str]) -> str:
    config, num_batches = solver.config, getattr(solver, "num_batches", None)
    gamma = 0.0 if len(solver.averaging.scheduled) else solver.averaging.gamma
    components = [
        f"{names['estimator']} + {names['minimizer']}",
        f"{names['averaging']} average" + (f" (t^{gamma:g})" if gamma else ""),
        "alternating updates" if config.alternating else "simultaneous updates",
    ]
    if num_batches:
        components.append(f"{num_batches} batches of {config.batch // num_batches} traversals")
    elif config.batch > 1:
        components.append(f"batches of {config.batch}")
    if config.baseline:
        components.append(f"baselines with rate {config.baseline.rate:g}")
    if config.symmetry:
        components.append("symmetries of the board")
    if config.threads > 1:
        components.append(f"{config.threads} threads ({config.thread_mode})")
    return ", ".join(components)
