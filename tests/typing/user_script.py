"""A user's program, which `.ci/run` checks with `mypy --strict` and pyright: the public names are typed for both."""

import numba
import numpy as np
import pyspiel  # type: ignore[import-not-found]
from numpy.typing import NDArray

import mccfr_plus
from mccfr_plus import (
    CheckError,
    ConfigError,
    ExternalSampling,
    GameTree,
    KeyedPolicy,
    Minimizer,
    OutcomeSampling,
    PowerAverage,
    Progress,
    RegretMatchingPlus,
    Solver,
    TreePolicy,
)
from mccfr_plus.drop_in import cfr
from mccfr_plus.drop_in import pyspiel as fast_pyspiel
from mccfr_plus.drop_in.outcome_sampling_mccfr import OutcomeSamplingSolver

Floats = NDArray[np.float64]


def greedy_update(
    values: Floats, strategy: Floats, tables: Floats, first: int, last: int, iteration: float, parameters: Floats
) -> float:
    """Plays the action with the largest value."""
    best, value = first, 0.0
    for slot in range(first, last):
        value += strategy[slot] * values[slot]
        best = slot if values[slot] > values[best] else best
        strategy[slot] = 0.0
    strategy[best] = 1.0
    return value


class Greedy(Minimizer):
    short_name = "greedy"
    kernel = staticmethod(numba.njit(greedy_update))

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def parameters(self) -> Floats:
        return np.array([0.0, self.scale])


def report(progress: Progress) -> bool:
    exploitability = None if progress.evaluation is None else progress.evaluation.exploitability
    print(progress.iterations, progress.nodes_touched, exploitability)
    return progress.iterations >= 100


def main() -> None:
    version: str = mccfr_plus.__version__
    tree: GameTree = mccfr_plus.compile_game("kuhn_poker")
    slots: slice = tree.slots(0)
    print(version, tree.num_nodes, tree.num_infosets, slots.start, tree.statistics().infosets)

    solver = Solver(tree, ExternalSampling(), RegretMatchingPlus(), PowerAverage(1.0), seed=1)
    solver.run(1000, callbacks=[report], evaluate_every=0.1)
    policy: TreePolicy | KeyedPolicy = solver.average_policy()
    strategy: Floats = solver.average_strategy()
    state = tree.game.new_initial_state()
    for action in (0, 1):
        state.apply_action(action)
    probabilities: dict[int, float] = policy.action_probabilities(state)
    print(strategy.sum(), probabilities, solver.exploitability(), solver.evaluate().values.tolist())
    mccfr_plus.save_policy(policy, "kuhn.npz")
    loaded = mccfr_plus.load_policy("kuhn.npz", tree)
    nash_conv: float = mccfr_plus.nash_conv(tree, loaded)
    quality = mccfr_plus.estimate_quality("kuhn_poker", loaded, seconds=1.0, seed=1)
    print(nash_conv, [finding.estimate.value for finding in quality.findings])

    own = Solver("kuhn_poker", OutcomeSampling(epsilon=0.3), Greedy(), baseline=True, batch=2, seed=1)
    print(own.run(100).nash_conv(), own.regrets("0", player=0))
    try:
        print(mccfr_plus.check_minimizer(Greedy()))
    except (CheckError, ConfigError) as error:
        print(f"wrong: {error}")

    game = pyspiel.load_game("leduc_poker")
    plain = cfr.CFRSolver(game)
    plain.evaluate_and_update_policy()
    sampled = OutcomeSamplingSolver(game)
    sampled.iteration()
    external = fast_pyspiel.ExternalSamplingMCCFRSolver(game, 1)
    external.run_iteration()
    print(mccfr_plus.exploitability(game, plain.average_policy()))


if __name__ == "__main__":
    main()
