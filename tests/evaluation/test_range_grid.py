"""Grids of ranges: reach beside the stored tree, cells beside the mean over their hands, hand by hand."""

from collections import defaultdict

import numpy as np
import pytest

from mccfr_plus.checks.games import random_strategy
from mccfr_plus.evaluation.range_grid import ranges_of
from mccfr_plus.games import compiled_rules
from mccfr_plus.policies.table import infoset_values
from mccfr_plus.trees.public.public_tree import PublicTree

GAMES = (
    "holdem_subgame(board=4s3h2s2h,pot=20,stack=20,ranks=3,bets=50%)",
    "universal_poker(betting=nolimit,numRounds=2,blind=2 1,firstPlayer=2 1,numHoleCards=2,numRanks=4,numSuits=2,"
    "numBoardCards=0 2,stack=9 9,bettingAbstraction=fcpa)",
)


@pytest.mark.parametrize("game", GAMES)
def test_nodes_and_cells_are_sums_over_hands(game):
    tree = PublicTree(game)
    deal, strategy = compiled_rules(tree.game).deal, random_strategy(tree, np.random.default_rng(1), 0.2)
    ranks = deal.deck // deal.suits
    joint = infoset_values(tree.stored, tree.on_stored(strategy)).reach[tree.stored.infoset_of_slot[tree.stored_slots]]
    reach, hands, own = defaultdict(float), defaultdict(list), np.ones(tree.num_slots + 2)
    for infoset, view in enumerate(tree.info_states.views(range(tree.num_infosets)).tolist()):
        record, slots = tree.arrays.infosets[infoset], tree.slots(infoset)
        own[slots] = own[record["parent_slot"]] * strategy[slots]  # parents come first
        key = int(record["player"]), frozenset(view[2:-1]) - {0}, deal.nodes[view[-1]].text
        reach[key] += joint[slots.start]
        (low, low_suit), (high, high_suit) = (divmod(card - 1, deal.suits) for card in view[:2])
        place = [ranks - 1 - high, ranks - 1 - low][:: 1 if low_suit == high_suit else -1]
        hands[key].append((place[0] * ranks + place[1], own[record["parent_slot"]], strategy[slots]))
    names = ["23456789TJQKA"[card // deal.suits] + "cdhs"[card % deal.suits] for card in range(deal.deck)]
    rows = ranges_of(tree, deal, strategy, most=1_000_000)
    decisions = [row for row in rows if "cells" in row]
    assert len(decisions) == sum(probability > 0 for probability in reach.values())
    for row in decisions:
        cards = [row["board"][begin : begin + 2] for begin in range(0, len(row["board"]), 2)]
        key = row["player"], frozenset(names.index(card) + 1 for card in cards), row["bets"]
        assert row["reach"] == pytest.approx(reach[key], abs=1e-9)
        means = np.zeros(ranks**2)
        for index, cell in enumerate(row["cells"]):
            own_reach = np.array([weight for place, weight, _ in hands[key] if place == index])
            means[index] = own_reach.mean() if len(own_reach) else 0.0
            if cell and means[index]:
                played = np.array([probabilities for place, _, probabilities in hands[key] if place == index])
                np.testing.assert_allclose(cell[1:], 100 * own_reach @ played / own_reach.sum(), atol=0.06)
        shown = [cell[0] if cell else 0.0 for cell in row["cells"]]
        np.testing.assert_allclose(shown, 100 * means / means.max(), atol=0.06)
        assert sum(share for _, share, _ in row["next"]) == pytest.approx(100, abs=0.3)
    few = ranges_of(tree, deal, strategy, most=7)
    assert [row["reach"] for row in few] == sorted((row["reach"] for row in rows), reverse=True)[:7]
    assert {child for row in few for _, _, child in row["next"]} == {*range(1, 7), None}
