"""Public chance sampling: public outcomes are drawn, and all private ones visited, on public trees."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_plus.estimators.estimator import Estimator
from mccfr_plus.estimators.traversal import DRAW_AT_CHANCE
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.trees.needs import OWN_BY_CHANCE, PERFECT_RECALL, PUBLIC
from mccfr_plus.trees.public.arrays import ADD_END
from mccfr_plus.trees.scratch import at, push, touch


@inline_kernel
def sample_public_chance(parameters, sampling_weights, tree, strategy, scratch, player):
    """Adds one traversal of the public tree to `scratch.gradient`. `scratch` is modified in place.

    A public outcome c is drawn by its probability q(c) over all hands, whatever the hands. The matrices have the
    probabilities by chance of all pairs of hands with c, so that ends behind it weigh 1 / q(c).
    """
    nodes, infosets, reach, gradient, stack = tree.nodes, tree.infosets, scratch.reach, scratch.gradient, scratch.stack
    node, weight, pending, visited = 0, 1.0, 0, 0
    while node < len(nodes):
        record = nodes[at(node)]
        kind, count, first = record["kind"], record["num_children"], record["first"]
        node += 1
        visited += 1
        if kind == TERMINAL:
            ADD_END(tree, reach, gradient, player, first, weight)
        elif kind == CHANCE:
            outcome = first + DRAW_AT_CHANCE(tree, scratch, first, count)
            push(stack, pending, 0, 0, weight)
            pending += 1
            weight /= tree.chance[at(outcome)]["probability"]
            node = tree.outcome_node[at(outcome)]
        elif kind == player:
            for number in range(first, first + record["num_hands"]):
                infoset = infosets[at(number)]
                touch(tree, scratch, player, infoset["first_slot"], count, infoset["parent_slot"])
        elif kind >= 0:
            for number in range(first, first + record["num_hands"]):
                slot, above = infosets[at(number)]["first_slot"], reach[at(infosets[at(number)]["parent_slot"])]
                for index in range(count):
                    reach[at(slot + index)] = above * strategy[at(slot + index)]
        else:  # it leaves the outcome that was drawn
            pending -= 1
            weight, node = stack[at(pending)]["weight"], nodes[at(first)]["last"]
    scratch.counts[0]["nodes_touched"] += visited


@dataclass(frozen=True)
class PublicChanceSampling(Estimator):
    """Public chance sampling: draws public outcomes and visits all hands and actions (Johanson et al. 2012, section 3).

    This estimator needs a public tree. If chance deals nothing but hands, this estimator equals `Full`.

    Examples:
        >>> solver = mccfr_plus.Solver("leduc_poker", mccfr_plus.PublicChanceSampling(), seed=1)
        >>> solver.tree.kind, solver.run(200).exploitability() < 1
        ('public', True)
    """

    short_name: ClassVar[str] = "public_chance"
    kernel: ClassVar[Any] = staticmethod(sample_public_chance)
    references: ClassVar[tuple[str, ...]] = ("johanson2012efficient",)
    gives: ClassVar[frozenset[str]] = Estimator.gives | {OWN_BY_CHANCE, PUBLIC}
    needs: ClassVar[frozenset[str]] = frozenset({PERFECT_RECALL, PUBLIC})
