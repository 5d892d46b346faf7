"""ESCHER: one history, and instead of importance weights a table of what every history is worth.

With v(h), the value of history h under the current strategies, the gradient gets v(h a) at the slots of an own infoset
at h, and at the last own slot before h minus the sum over a of strategy(a) v(h a), which a minimizer passes up from h.
That fits rules that pass up expected values; the result is not an unbiased gradient, which FTRL and OMD need.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.estimator import Estimator, SamplingWeights
from mccfr_plus.estimators.outcome import balanced_strategy
from mccfr_plus.estimators.traversal import DRAW_FOR_OPPONENT, LIST_VISIT, draw_exploring, draw_outcome
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.parameters import choice, number, whole
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import DRAWS, HISTORIES, OPPONENTS_DRAWN
from mccfr_plus.trees.scratch import at, touch

_NODES_PER_ITERATION = 100  # of a pass over all values: about the time of the traversals between two passes


@inline_kernel
def expected_value(tree, strategy, values, node, kind):
    """Returns the mean of one player's values of a node's children, by chance or by the strategy."""
    record, value = tree.nodes[at(node)], 0.0
    child, payload = record["first_child"], record["payload"]
    for index in range(record["num_children"]):
        if kind == CHANCE:
            value += tree.chance[at(payload + index)]["probability"] * values[at(child + index)]
        else:
            value += strategy[at(payload + index)] * values[at(child + index)]
    return value


@kernel
def refresh_values(tree, strategy, values, player):
    """Writes what every history is worth to a player under a strategy to `values`, ``[num_nodes]``."""
    nodes = tree.nodes
    for node in range(len(nodes) - 1, -1, -1):
        kind = nodes[at(node)]["kind"]
        if kind == TERMINAL:
            values[at(node)] = tree.payoffs[at(nodes[at(node)]["payload"]), at(player)]
        else:
            values[at(node)] = expected_value(tree, strategy, values, node, kind)


@inline_kernel
def escher_traversal(parameters, exploration, tree, strategy, scratch, player):
    """Adds what one sampled history says about a player's regrets to `scratch.gradient`; see `Estimator`.

    Opponents' infosets are listed with weight 1: they are visited with a probability that is proportional to their
    owner's reach, by a factor that stays the same. Own actions are drawn from `exploration`, uniformly if it is empty.
    The parameters are the iterations between two passes over all values (0: by the size of the tree; negative: values
    are learned), and how far learned values move, in (0, 1].
    """
    refresh, rate = int(parameters[0]), parameters[1]
    nodes, gradient, frames, rng = tree.nodes, scratch.gradient, scratch.frames, scratch.rng
    own = scratch.values[player]
    num_visits, nodes_touched, depth = scratch.counts[0]["num_visits"], 1, 0
    if refresh >= 0:
        interval = refresh if refresh > 0 else max(1, len(nodes) // _NODES_PER_ITERATION)
        # In a batch, before the first traversal only.
        if scratch.counts[0]["iteration"] % interval == 0 and scratch.num_touched[player] == 0:
            refresh_values(tree, strategy, own, player)
            nodes_touched += len(nodes)
    empty = tree.slot_range[-1] + player
    node, slot = 0, empty
    while True:
        record = nodes[at(node)]
        kind, count, payload = record["kind"], record["num_children"], record["payload"]
        if kind == TERMINAL:
            break
        frames[at(depth)]["node"] = node
        depth += 1
        if kind == player:
            base = touch(tree, scratch, player, payload, count, slot)
            mean = 0.0
            for index in range(count):
                value = own[at(record["first_child"] + index)]
                gradient[at(base + index)] += value
                mean += strategy[at(payload + index)] * value
            if slot != empty:
                gradient[at(slot)] -= mean
            index = draw_exploring(strategy, exploration, payload, count, 1.0, rng)
            slot = base + index
        elif kind == CHANCE:
            index = draw_outcome(tree.chance, payload, count, rng)
        else:
            index = DRAW_FOR_OPPONENT(strategy, scratch, payload, count)
            num_visits = LIST_VISIT(scratch, num_visits, payload, count, index, 1.0)
        node = record["first_child"] + index
        nodes_touched += 1
    if refresh < 0:
        while depth > 0:
            depth -= 1
            node = frames[at(depth)]["node"]
            own[at(node)] += rate * (expected_value(tree, strategy, own, node, nodes[at(node)]["kind"]) - own[at(node)])
    scratch.counts[0]["num_visits"] = num_visits
    scratch.counts[0]["nodes_touched"] += nodes_touched


@dataclass(frozen=True)
class Escher(Estimator):
    """ESCHER: samples one history; history values replace importance weights (McAleer et al. 2023, section 4).

    The player's actions are drawn from a fixed strategy, so the expected regrets are the counterfactual regrets times a
    factor that depends only on the information set. The tree must be complete, and the minimizer must be a form of
    regret matching.

    Args:
        values: ``"exact"`` values are recomputed every `refresh` iterations. With ``"learned"``, each traversal moves
            the values of its histories toward the expected values of their children; leaf values are exact.
        refresh: Number of iterations between two computations of all values. Default: a hundredth of the number of
            histories, so that one computation takes about as long as the traversals between two computations.
        rate: Step size of learned values, in (0, 1].
        sampling: The fixed strategy from which the player's actions are drawn: ``"uniform"``, or ``"balanced"``, the
            exploration-balanced strategy of Farina et al. 2020.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", mccfr_plus.Escher(values="exact"), seed=1).run(200).exploitability() < 0.4
        True
    """

    values: str = choice("exact", ("exact", "learned"))
    refresh: int | None = whole(None, most=2**53)
    rate: float = number(1.0, above=0, most=1, note="at 0 values would never move")
    sampling: str = choice("uniform", ("uniform", "balanced"))
    short_name: ClassVar[str] = "escher"
    visits_all_own: ClassVar[bool] = False
    # An opponent's infoset is visited by its owner's reach times something that never changes.
    gives: ClassVar[frozenset[str]] = frozenset({DRAWS, OPPONENTS_DRAWN})
    needs: ClassVar[frozenset[str]] = frozenset({HISTORIES})
    references: ClassVar[tuple[str, ...]] = ("mcaleer2023escher",)
    kernel: ClassVar[Any] = staticmethod(escher_traversal)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refresh is not None and self.values == "learned":
            raise ConfigError(
                f"refresh={self.refresh!r} with values='learned': learned values are never recomputed, so omit refresh."
            )

    def parameters(self) -> np.ndarray:
        return np.array([-1.0 if self.values == "learned" else float(self.refresh or 0), float(self.rate)])

    @property
    def sampling_weights(self) -> SamplingWeights:  # type: ignore[override]
        """Which array the kernel gets as ``sampling_weights``."""
        return SamplingWeights.NONE if self.sampling == "uniform" else SamplingWeights.SAMPLING

    def sampling_strategy(self, tree: GameTree) -> np.ndarray:
        return balanced_strategy(tree)
