"""External sampling in parallel: exact regrets where nothing is drawn, mean regrets elsewhere."""

import numpy as np
import pytest
from neural_states import Table, counterfactual_regrets

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.neural.paths import ExternalSampling  # noqa: E402
from mccfr_plus.trees.batches import Observer  # noqa: E402


@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker"])
def test_mean_regrets_are_counterfactual_regrets(game):
    """Traversals reach an infoset with the probability of chance and other players: no weights. A z-test per slot."""
    tree = mccfr_plus.compile_game(game)
    table, traversals = Table(tree, 1), 3000 if game == "leduc_poker" else 10_000
    expected, observer = counterfactual_regrets(tree, table.strategy), Observer(tree.game, "X")
    tested = 0
    for player in range(tree.num_players):
        found = ExternalSampling(table, player).sample(observer, traversals, np.random.default_rng(player))
        own = found.players == player
        assert (found.regrets[~own] == 0).all()
        assert (found.regrets[~found.masks] == 0).all()
        assert abs((found.strategies * found.regrets).sum(1)).max() < 1e-12  # the mean over the strategy is 0
        infosets = table.infosets(found.players[own], found.infosets[own])
        regrets = found.regrets[own]
        for infoset in np.unique(infosets):
            decisions = infosets == infoset
            if decisions.sum() < 300:
                continue
            # With perfect recall a traversal reaches an infoset at most once: the values are independent.
            assert decisions.sum() <= traversals
            for slot, action in zip(
                range(tree.slots(infoset).start, tree.slots(infoset).stop), tree.legal_actions(infoset), strict=True
            ):
                values = regrets[decisions, action]
                mean = values.sum() / traversals
                deviation = np.sqrt(np.square(values).sum() / traversals - mean**2) / np.sqrt(traversals)
                assert abs(mean - expected[slot]) <= 6 * deviation + 1e-12, (player, infoset, action)
                tested += 1
    assert tested > 10
