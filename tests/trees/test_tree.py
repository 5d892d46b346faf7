"""The compiled tree against a traversal through pyspiel, published counts, budgets and bad games."""

import time

import naive
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy

import mccfr_plus
from mccfr_plus import BudgetError, GameError, compile_game
from mccfr_plus.trees import game_tree
from mccfr_plus.trees.flattening import alias_table
from mccfr_plus.trees.order import openspiel_order, representative_states

SIMULTANEOUS = "goofspiel(imp_info=True,num_cards=3,points_order=descending)"
GAMES = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "tiny_hanabi",
    "matrix_rps",
    "matrix_bos",
    SIMULTANEOUS,
    "goofspiel(imp_info=True,num_cards=3,players=3,points_order=random)",
    "python_kuhn_poker",
    *naive.RANDOM_GAMES,
)


@pytest.mark.parametrize("game", GAMES)
def test_tree_equals_a_walk_through_pyspiel(game):
    """Node by node: kind, infoset, action labels, probabilities, payoffs, and who is whose child."""
    tree, root = naive.tree_of(game), naive.root_of(game)
    nodes, chance = tree.arrays.nodes, tree.arrays.chance
    seen = np.zeros(tree.num_nodes, bool)
    pairs = [(0, root)]
    while pairs:
        number, node = pairs.pop()
        assert not seen[number]
        seen[number] = True
        record = nodes[number]
        assert record["kind"] == node.player
        assert record["num_children"] == len(node.children)
        first = int(record["payload"])
        if node.player == naive.TERMINAL:
            assert tree.arrays.payoffs[first].tolist() == node.returns
            continue
        labels = slice(first, first + len(node.children))
        if node.player == naive.CHANCE:
            assert tree.outcome_action[labels].tolist() == node.actions
            np.testing.assert_allclose(chance["probability"][labels], node.probabilities, rtol=1e-9)
        else:
            infoset = tree.infoset(node.key[1], node.player)
            assert tree.slots(infoset) == labels
            assert tree.legal_actions(infoset) == node.actions
        children = range(int(record["first_child"]), int(record["first_child"]) + len(node.children))
        assert children.start > number  # parents come before children
        pairs.extend(zip(children, node.children, strict=True))
    assert seen.all()


@pytest.mark.parametrize("game", GAMES)
def test_counts_equal_a_walk_through_pyspiel(game):
    statistics, nodes = naive.tree_of(game).statistics(), list(naive.nodes_of(naive.root_of(game)))
    infosets = naive.infosets_of(naive.root_of(game))
    players = range(naive.game(game).num_players())
    assert statistics.histories == len(nodes)
    assert statistics.decision_nodes == [sum(n.player == p for n in nodes) for p in players]
    assert statistics.chance_nodes == sum(n.player == naive.CHANCE for n in nodes)
    assert statistics.terminal_nodes == sum(n.player == naive.TERMINAL for n in nodes)
    assert statistics.infosets == [sum(owner == p for owner, _ in infosets) for p in players]
    assert statistics.sequences == [1 + sum(n for (owner, _), n in infosets.items() if owner == p) for p in players]
    assert statistics.max_actions == [max((n for (o, _), n in infosets.items() if o == p), default=0) for p in players]
    assert statistics.max_history_length == max(n.history.count(",") + 1 for n in nodes if n.history) + (
        1 if nodes else 0
    ) or game.startswith("random")
    assert statistics.max_moves == _most_moves(naive.root_of(game))
    assert statistics.perfect_recall


def _most_moves(node):
    return max((int(node.player >= 0) + _most_moves(child) for child in node.children), default=0)


@pytest.mark.parametrize("game", GAMES)
def test_layout(game):
    tree, root = naive.tree_of(game), naive.root_of(game)
    arrays = tree.arrays
    # Children partition all nodes but the root.
    inner = arrays.nodes[arrays.nodes["kind"] != naive.TERMINAL]
    children = np.concatenate([np.arange(n["first_child"], n["first_child"] + n["num_children"]) for n in inner])
    assert sorted(children.tolist()) == list(range(1, tree.num_nodes))
    # Slots partition, infosets stand player by player in the order of first visit.
    first = [(key[0], key[1]) for key in naive.infosets_of(root)]
    expected = [text for player in range(tree.num_players) for owner, text in first if owner == player]
    assert tree.info_states == expected
    ends = arrays.infosets["first_slot"] + arrays.infosets["num_actions"]
    assert arrays.infosets["first_slot"].tolist() == [0, *ends[:-1].tolist()]
    assert ends[-1] == tree.num_slots == len(tree.slot_action)
    assert arrays.infosets["player"].tolist() == sorted(arrays.infosets["player"].tolist())
    for player in range(tree.num_players):
        begin, end = arrays.infoset_range[player : player + 2]
        assert set(arrays.infosets["player"][begin:end].tolist()) <= {player}
        assert arrays.slot_range[player] == (
            arrays.infosets["first_slot"][begin] if begin < len(expected) else ends[-1]
        )
    parents = naive.parent_sequences(root)
    for infoset in range(tree.num_infosets):
        player = int(arrays.infosets["player"][infoset])
        above = parents[player, tree.info_states[infoset]]
        slot = (
            tree.num_slots + player if above is None else tree.slots(tree.infoset(above[0][1], player)).start + above[1]
        )
        assert arrays.infosets["parent_slot"][infoset] == slot


@pytest.mark.parametrize("game", ["kuhn_poker", SIMULTANEOUS])
def test_arrays_are_read_only(game):
    tree = compile_game(game)
    for array in (*tree.arrays, *tree.arrays_with_leaves, tree.slot_action, tree.outcome_action):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize("game", [*GAMES, "kuhn_poker(players=4)"])
def test_order_and_states_are_those_of_a_tabular_policy(game):
    tree = naive.tree_of(game)
    order = openspiel_order(tree)
    table = openspiel_policy.TabularPolicy(tree.game)
    assert [tree.info_states[i] for i in order] == [text for player in table.states_per_player for text in player]
    states = representative_states(tree, order)
    assert [s.history_str() for s in states] == [s.history_str() for s in table.states]


def test_order_of_more_than_ten_actions():
    # By text, as in OpenSpiel: 10 and 11 come before 2. The same for outcomes of chance.
    lines = ['EFG 2 R "many" { "A" "B" }', "c 0"]
    labels = " ".join(f'"a{i}"' for i in range(12))
    lines[1] = 'c "" 1 "" { ' + " ".join(f'"c{i}" {0.0625 if i else 0.3125}' for i in range(12)) + " } 0"
    ends = iter(range(1, 1000))
    for deal in range(12):
        lines.append(f'p "" 1 {deal + 1} "I{deal}" {{ {labels} }} 0')
        for bid in range(12):
            lines.append(f'p "" 2 {bid + 1} "J{bid}" {{ "x" "y" }} 0')
            lines += [f't "" {next(ends)} "" {{ {bid}.0 {deal}.0 }}' for _ in range(2)]
    tree = compile_game(pyspiel.load_efg_game("\n".join(lines) + "\n"))
    table = openspiel_policy.TabularPolicy(tree.game)
    texts = [tree.info_states[i] for i in openspiel_order(tree)]
    assert texts == [text for player in table.states_per_player for text in player]
    assert texts != tree.info_states
    assert [s.history_str() for s in representative_states(tree, openspiel_order(tree))] == [
        s.history_str() for s in table.states
    ]


@pytest.mark.parametrize(
    "probabilities", [[1.0], [0.5, 0.5], [0.9, 0.1], [1 / 3] * 3, [1e-12, 1 - 1e-12], list(range(1, 40)), [0.0, 1.0]]
)
def test_alias_table_reproduces_probabilities(probabilities):
    probabilities = np.array(probabilities, float) / np.sum(probabilities)
    table = alias_table(probabilities)
    count = len(table)
    share = np.zeros(count)
    for column, row in enumerate(table):
        assert 0 <= row["alias"] < count
        accept = min(max(row["accept"], 0.0), 1.0)  # compared with numbers in [0, 1)
        share[column] += accept / count
        share[row["alias"]] += (1 - accept) / count
    np.testing.assert_allclose(share, probabilities, rtol=0, atol=1e-15 * count)
    np.testing.assert_allclose(table["probability"], probabilities, rtol=1e-15)


@pytest.mark.parametrize("game", GAMES)
def test_fingerprint_is_of_the_decisions(game):
    again = compile_game(naive.game(game))
    assert again.fingerprint == naive.tree_of(game).fingerprint
    assert again.fingerprint != naive.tree_of("liars_dice(dice_sides=3)").fingerprint


def test_a_node_budget_is_exact():
    nodes = naive.tree_of("kuhn_poker").num_nodes
    assert compile_game("kuhn_poker", max_nodes=nodes).num_nodes == nodes
    with pytest.raises(BudgetError, match=rf"budget of {nodes - 1}") as caught:
        compile_game("kuhn_poker", max_nodes=nodes - 1)
    assert "about" in str(caught.value)
    assert isinstance(caught.value, MemoryError)


def test_a_slow_game_is_estimated_before_many_nodes_are_visited(monkeypatch):
    monkeypatch.setattr(game_tree, "_PROBE_AFTER_SECONDS", 0.0)
    with pytest.raises(BudgetError, match=r"estimated from a sample\); the budget is 2,000"):
        compile_game("leduc_poker", max_nodes=2000, rules=False)


def test_a_memory_budget():
    with pytest.raises(BudgetError, match="memory limit"):
        compile_game("liars_dice", max_bytes=500_000)


def test_chess_is_refused_within_seconds():
    begin = time.process_time()
    with pytest.raises(BudgetError, match=r"about 10\^\d+ nodes"):
        compile_game("chess")
    assert time.process_time() - begin < 20


@pytest.mark.parametrize(
    ("game", "text"),
    [("kuhn_pokr", "did you mean kuhn_poker"), ("xyzzy_nothing_like_it", "registered_names"), ("", "no game")],
)
def test_bad_games(game, text, capfd):
    with pytest.raises(GameError, match=text):
        compile_game(game)
    assert capfd.readouterr().err == ""  # OpenSpiel's C++ does not print its own copy of the error


def test_a_compiled_tree_is_returned_as_it_is():
    tree = naive.tree_of("kuhn_poker")
    assert mccfr_plus.compile_game(tree) is tree


def test_lookup_of_infosets():
    tree = naive.tree_of("kuhn_poker")
    for number, text in enumerate(tree.info_states):
        player = int(tree.arrays.infosets["player"][number])
        assert tree.infoset(text) == tree.infoset(text, player) == number
        assert tree.infoset(text, 1 - player) is None
    assert tree.infoset("nothing") is None
