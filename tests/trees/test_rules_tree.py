"""The tree that compiled rules build, on games whose trees are written down as data: one set of kernels for all."""

import itertools
import math
import random
from collections import Counter
from typing import NamedTuple

import numba
import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccfr_plus import BudgetError, GameError, compile_game
from mccfr_plus.games import CHANCE, MOVER, TERMINAL, Field, Layout, Rules, RulesGame, register_game
from mccfr_plus.trees.by_rules import rules_tree
from mccfr_plus.trees.game_tree import Budget, build_tree
from mccfr_plus.trees.info_states import EMPTY, hash_of_row, key_places, pack, place_of_row, table_of_rows, unpack
from mccfr_plus.trees.loading import record

# --- games as data ---

_NODE, _TRAIL = 1, 2  # words of a state: where its node stands in the parameters, the path that led there
TRAIL = -(10**6)  # in a view: what the path was, as a number


class End(NamedTuple):
    payoffs: tuple


class Move(NamedTuple):
    player: int
    view: tuple
    children: dict  # by action

    def __hash__(self):
        return id(self)


class Chance(NamedTuple):
    outcomes: list  # of (outcome, probability, child)


@numba.njit(error_model="numpy", nogil=True)
def _start(parameters, table, state):
    state[MOVER] = parameters[1]
    state[_NODE] = 1
    state[_TRAIL] = 1


@numba.njit(error_model="numpy", nogil=True)
def _legal(parameters, table, state, actions):
    node = state[_NODE]
    for choice in range(parameters[node + 1]):
        actions[choice] = parameters[node + 3 + choice]
    return parameters[node + 1]


@numba.njit(error_model="numpy", nogil=True)
def _outcomes(parameters, table, state, actions, probabilities):
    node = state[_NODE]
    for choice in range(parameters[node + 1]):
        actions[choice] = parameters[node + 3 + choice]
        probabilities[choice] = table[parameters[node + 2] + choice]
    return parameters[node + 1]


@numba.njit(error_model="numpy", nogil=True)
def _apply(parameters, table, state, action):
    node = state[_NODE]
    count = parameters[node + 1]
    for choice in range(count):
        if parameters[node + 3 + choice] == action:
            state[_NODE] = parameters[node + 3 + count + choice]
            state[_TRAIL] = 2 * state[_TRAIL] + choice
    state[MOVER] = parameters[state[_NODE]]


@numba.njit(error_model="numpy", nogil=True)
def _returns(parameters, table, state, payoffs):
    for player in range(len(payoffs)):
        payoffs[player] = table[parameters[state[_NODE] + 2] + player]


@numba.njit(error_model="numpy", nogil=True)
def _look(parameters, table, state, player, view):
    if player != state[MOVER]:
        return
    first = state[_NODE] + 3 + 2 * parameters[state[_NODE] + 1]
    for entry in range(parameters[0]):
        view[entry] = parameters[first + entry]
        if view[entry] == TRAIL:
            view[entry] = state[_TRAIL]


def encoded(root, view_size):
    """Returns the parameters and the table of a tree: number of entries of a view, then node by node, shared ones once.

    A node is its mover, its number of children, where its floats are, actions, children, and what its mover sees.
    """
    numbers, floats, places = [view_size], [], {}

    def add(node):
        if id(node) in places:
            return places[id(node)]
        if isinstance(node, End):
            kind, actions, children, view = TERMINAL, [], [], [0] * view_size
            own = node.payoffs
        elif isinstance(node, Chance):
            kind, view = CHANCE, [0] * view_size
            actions, own, children = map(list, zip(*node.outcomes, strict=True))
        else:
            kind, actions, children = node.player, list(node.children), list(node.children.values())
            view, own = [*node.view, *[0] * (view_size - len(node.view))], ()
        place = places[id(node)] = len(numbers)
        numbers.extend([kind, len(actions), len(floats), *actions, *actions, *view])
        floats.extend(own)
        for index, child in enumerate(children):
            numbers[place + 3 + len(actions) + index] = add(child)
        return place

    add(root)
    return numbers, floats


SPECS = {}


def spec(name, root, **sizes):
    """Registers a tree under a name, with sizes that differ from the usual ones; returns its game string."""
    SPECS[name] = root, sizes
    return f"toy_tree(spec={name})"


@register_game
class ToyTreeGame(RulesGame):
    short_name = "toy_tree"
    long_name = "Toy Tree"
    defaults = {"spec": "end"}  # noqa: RUF012
    utility = pyspiel.GameType.Utility.GENERAL_SUM
    rules = Rules(start=_start, legal=_legal, outcomes=_outcomes, apply=_apply, returns=_returns, look=_look)

    @classmethod
    def layout(cls, parameters):
        root, sizes = SPECS[parameters["spec"]]
        usual = {
            "state_size": 3,
            "fields": (Field("seen", 1000), Field("also", 1000)),
            "num_distinct_actions": 4,
            "max_chance_outcomes": 4,
            "max_game_length": 12,
            "max_chance_nodes": 4,
            "min_utility": -100.0,
            "max_utility": 100.0,
            "utility_sum": None,
        }
        sizes = usual | sizes
        numbers, floats = encoded(root, sum(each.count for each in sizes["fields"]))
        return Layout(**sizes, parameters=numbers, table=floats)


def layers(depth, view=(0,), players=2):
    """Returns a binary tree of 2**(depth + 1) - 1 histories out of depth + 1 nodes."""
    node = End((1.0, -1.0, 0.0)[:players])
    for layer in reversed(range(depth)):
        node = Move(layer % players, view, {0: node, 1: node})
    return node


def random_tree(seed, players=2, depth=8):
    """Returns a tree with perfect recall: infosets are numbered, and belong to what their player did and was told."""
    rng = random.Random(seed)
    known = {}

    def expand(remaining, memories):
        if remaining == 0 or rng.random() < 0.08:
            return End(tuple(rng.choice([rng.randrange(-9, 9), -0.0, rng.random()]) for _ in range(players)))
        if rng.random() < 0.25:
            count = rng.randrange(1, 5)
            weights = [rng.choice([0.0, 1.0, rng.random()]) for _ in range(count)]
            weights[rng.randrange(count)] += 0.5
            actions = rng.sample(range(4), count)
            probabilities = [weight / math.fsum(weights) for weight in weights]
            return Chance(
                [(a, p, expand(remaining - 1, memories)) for a, p in zip(actions, probabilities, strict=True)]
            )
        player = rng.randrange(players)
        signal_ = rng.randrange(6)
        key = player, memories[player], signal_
        if key not in known:
            known[key] = len(known), sorted(rng.sample(range(4), rng.randrange(1, 5)))
        number, actions = known[key]
        children = {}
        for action in actions:
            after = list(memories)
            after[player] += ((number, action),)
            children[action] = expand(remaining - 1, tuple(after))
        return Move(player, (number % 11, 0, 0, number // 11, rng.randrange(5)), children)

    return Chance([(2, 0.5, expand(depth, ((),) * players)), (0, 0.5, expand(depth, ((),) * players))])


RANDOM_FIELDS = (
    Field("low", 11, 2),
    Field("wide", 2**59),  # so that a key has two words
    Field("high", 1000, private=True),
    Field("transient", 5, when="now"),
)


def random_game(seed, players=2):
    root = random_tree(seed, players)
    return spec(f"random{seed}x{players}", root, num_players=players, fields=RANDOM_FIELDS, max_chance_nodes=12)


def through_pyspiel(name):
    game = pyspiel.load_game(name)
    return build_tree(game, record(game, Budget(game, 10**7, 1 << 40).check, progress=False))


def assert_same(tree, other):
    """Bit by bit, but for the sign of zero payoffs, which pyspiel keeps."""
    for field, array in tree.arrays._asdict().items():
        theirs = getattr(other.arrays, field)
        assert array.dtype == theirs.dtype, field
        assert array.shape == theirs.shape, field
        assert (array + 0.0 if field == "payoffs" else array).tobytes() == (
            theirs + 0.0 if field == "payoffs" else theirs
        ).tobytes(), field
    assert (tree.shape, tree.fingerprint) == (other.shape, other.fingerprint)
    assert list(tree.info_states) == list(other.info_states)
    assert tree.slot_action.tolist() == other.slot_action.tolist()
    assert tree.outcome_action.tolist() == other.outcome_action.tolist()


@pytest.fixture
def statuses(monkeypatch):
    """Counts why the traversal returned, and keeps how long its arrays were at most."""
    seen, traversal_of = Counter(), rules_tree._traversal_of

    def counting_traversal_of(rules):
        traversal = traversal_of(rules)

        def counting(parameters, table, places, progress, arrays, *rest):
            status = traversal(parameters, table, places, progress, arrays, *rest)
            seen[status] += 1
            seen["nodes"] = max(seen["nodes"], len(arrays.nodes))
            for rows, index in (
                (arrays.infosets, arrays.infoset_table),
                (arrays.payoffs, arrays.payoff_table),
                (arrays.distributions, arrays.distribution_table),
            ):
                assert 2 * len(rows) <= len(index)
            return status

        return counting

    monkeypatch.setattr(rules_tree, "_traversal_of", counting_traversal_of)
    return seen


# --- what is built ---


@pytest.mark.parametrize(("seed", "players"), [*itertools.product(range(4), (1, 2, 3)), (0, 7)])
def test_equals_a_walk_through_pyspiel(seed, players):
    name = random_game(seed, players)
    tree = compile_game(name)
    assert tree.num_players == players
    assert tree.perfect_recall
    assert isinstance(tree.info_states, rules_tree.InfoStates)
    assert_same(tree, through_pyspiel(name))
    payoffs = tree.arrays.payoffs
    assert not np.signbit(payoffs[payoffs == 0.0]).any()  # minus zero is zero
    assert len(np.unique(payoffs, axis=0)) == len(payoffs)


@pytest.mark.parametrize(("growth", "visits"), [(1.0, 1), (1.25, 7), (4.0, 10**6)])
def test_the_same_bits_however_often_the_walk_stops(monkeypatch, statuses, growth, visits):
    name = random_game(5)
    tree = compile_game(name)
    statuses.clear()
    monkeypatch.setattr(rules_tree, "_FIRST_CAPACITY", 1)
    monkeypatch.setattr(rules_tree, "_FIRST_DISTRIBUTIONS", 1)
    monkeypatch.setattr(rules_tree, "_GROWTH", growth)
    monkeypatch.setattr(rules_tree, "_VISITS", visits)
    assert_same(compile_game(name), tree)
    assert statuses[rules_tree.DONE] == 1
    assert statuses[rules_tree.FULL] >= 2
    if visits < 10:
        assert statuses[rules_tree.PAUSED] > 10


def test_a_walk_that_is_over_before_it_begins():
    name = spec("end", End((2.5, -0.0)), max_game_length=0, max_chance_nodes=0, num_distinct_actions=1)
    tree = compile_game(name)
    assert_same(tree, through_pyspiel(name))
    assert tree.num_nodes == 1
    assert tree.num_slots == tree.num_infosets == len(tree.info_states) == 0
    assert tree.arrays.payoffs.tolist() == [[2.5, 0.0]]
    assert list(tree.info_states) == []
    assert tree.shape == (0, 1, True, 0)


def test_imperfect_recall_is_noticed():
    def second(payoff):
        return Move(0, (1,), {0: End((payoff, 0.0)), 1: End((0.0, 0.0))})

    name = spec("forgetful", Move(0, (0,), {0: second(1.0), 1: second(2.0)}))
    tree = compile_game(name)
    assert not tree.perfect_recall
    assert tree.num_infosets == 2
    assert_same(tree, through_pyspiel(name))
    with pytest.raises(GameError, match="imperfect recall"):
        tree.require_perfect_recall("this")
    remembered = spec("remembers", Move(0, (0,), {0: second(1.0), 1: Move(0, (2,), second(2.0).children)}))
    assert compile_game(remembered).perfect_recall


def test_absent_minded_players():
    inner = Move(0, (0,), {0: End((1.0, 0.0)), 1: End((0.0, 0.0))})
    name = spec("absent", Move(0, (0,), {0: inner, 1: End((4.0, 0.0))}))
    tree = compile_game(name)
    assert (tree.num_infosets, tree.perfect_recall) == (1, False)
    assert_same(tree, through_pyspiel(name))


# --- mistakes of rules ---

_END = End((0.0, 0.0))


def _pair(first, second, view=(7,)):
    """Two decisions with one view after the actions 1, 0 and 1, 3, whose legal actions are given."""
    nodes = [Move(1, view, dict.fromkeys(actions, _END)) for actions in (first, second)]
    return Move(0, (1,), {0: _END, 1: Chance([(0, 0.5, nodes[0]), (3, 0.5, nodes[1])])})


def _after(node):
    return Move(0, (1,), {0: _END, 2: Chance([(3, 1.0, node)])})


MISTAKES = {
    "too_deep": (layers(17), {}, "longer than max_game_length", [0] * 16),
    "no_player": (_after(Move(2, (), {0: _END})), {}, r"state\[MOVER\] is not a player", [2, 3]),
    "no_action": (_after(Move(1, (), {})), {}, "`legal` gives no action", [2, 3]),
    "low_view": (_after(Move(1, (-1,), {0: _END})), {}, "`look` writes an entry that is not in", [2, 3]),
    "high_view": (_after(Move(1, (0, 1000), {0: _END})), {}, "`look` writes an entry that is not in", [2, 3]),
    "half": (_after(Chance([(0, 0.5, _END)])), {}, "`outcomes` gives no outcome, .* or do not sum to 1", [2, 3]),
    "minus": (_after(Chance([(0, 1.5, _END), (1, -0.5, _END)])), {}, "probabilities that are negative", [2, 3]),
    "nan": (_after(Chance([(0, float("nan"), _END)])), {}, "do not sum to 1", [2, 3]),
    "payoff_nan": (
        _after(End((0.0, float("nan")))),
        {},
        "`returns` gives a payoff that is not a finite number",
        [2, 3],
    ),
    "fewer": (_pair([0, 1], [0]), {}, "other legal actions", [1, 3]),
    "others": (_pair([0, 1], [0, 2]), {}, "other legal actions", [1, 3]),
    "too_many": (
        _after(Move(1, (), dict.fromkeys(range(3), _END))),
        {"num_distinct_actions": 2, "max_chance_outcomes": 2},
        "or more than num_distinct_actions",
        [2, 3],
    ),
    "far_apart": (_pair([0, 33], [1, 2]), {"num_distinct_actions": 40}, "other legal actions", [1, 3]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_rules_are_reported_with_the_actions_that_led_there(mistake):
    root, sizes, message, history = MISTAKES[mistake]
    with pytest.raises(GameError, match=message) as caught:
        compile_game(spec(mistake, root, **sizes))
    text = str(caught.value)
    assert text.startswith("toy_tree(spec=")
    assert f"at history {history[:-1]}, action {history[-1]}: " in text


def test_views_alike_with_the_same_legal_actions_are_one_infoset():
    tree = compile_game(spec("alike", _pair([0, 1], [0, 1])))
    assert tree.num_infosets == 2
    assert tree.perfect_recall


# --- budgets ---


def test_a_node_budget_is_exact_and_nothing_is_taken_beyond_it(statuses):
    name = spec("layers12", layers(12))
    assert compile_game(name, max_nodes=2**13 - 1).num_nodes == 2**13 - 1
    for budget in (2**13 - 2, 5000, 1030, 1, 3):
        statuses.clear()
        with pytest.raises(BudgetError, match=f"more than the budget of {budget:,} nodes"):
            compile_game(name, max_nodes=budget)
        assert statuses["nodes"] <= max(budget + 4, 1024)


# --- information states ---


@pytest.fixture(scope="module")
def tree():
    return compile_game(random_game(6, 3))


def test_info_states_are_a_sequence(tree):
    states, texts = tree.info_states, list(tree.info_states)
    count = tree.num_infosets
    assert len(states) == len(texts) == count > 50
    assert [states[index] for index in range(count)] == texts
    assert (states[-1], states[3:9]) == (texts[-1], texts[3:9])
    with pytest.raises(IndexError):
        states[count]
    assert states.index(texts[7]) == 7
    assert len(set(texts)) == count
    assert states == texts == compile_game(random_game(6, 3)).info_states
    assert states != compile_game(random_game(7, 3)).info_states


def states_of(tree):
    stack = [tree.game.new_initial_state()]
    while stack:
        state = stack.pop()
        if not state.is_terminal():
            if not state.is_chance_node():
                yield state
            unlikely = {action for action, p in state.chance_outcomes() if p == 0} if state.is_chance_node() else ()
            stack.extend(state.child(action) for action in state.legal_actions() if action not in unlikely)


def test_every_state_finds_its_infoset(tree):
    found = Counter()
    for state in states_of(tree):
        player = state.current_player()
        infoset = tree.infoset_of_state(state, player)
        assert tree.info_states[infoset] == state.information_state_string()
        assert tree.arrays.infosets["player"][infoset] == player
        view = tree.info_states.views([infoset])[0].tolist()
        assert view[:-1] == state.look(player).tolist()[:-1]
        assert view[-1] == 0  # of when="now"
        found[infoset] += 1
    assert sorted(found) == list(range(tree.num_infosets))


def test_states_elsewhere_have_no_infoset(tree):
    other = pyspiel.load_game("one_card_poker(deck_size=4)").new_initial_state()
    assert tree.infoset_of_state(other, 0) is None
    assert tree.infoset_of_state(tree.game.new_initial_state(), 0) in (None, tree.infoset("player=0 low=0 0 wide=0"))


# --- keys ---


@st.composite
def layouts_and_views(draw):
    size = st.one_of(st.integers(1, 9), st.sampled_from([255, 256, 257, 2**31, 2**62, 2**62 + 1, 2**63 - 1]))
    fields = []
    for number in range(draw(st.integers(0, 6))):
        when = draw(st.sampled_from(["always", "recalled", "now"]))
        fields.append(Field(f"f{number}", draw(size), draw(st.integers(0, 12)), when=when))
    layout = Layout(1, tuple(fields), 1, 1, 0.0, 0.0, num_players=draw(st.integers(1, 10)))
    limits = [each.size for each in fields for _ in range(each.count)]
    value = [st.sampled_from(sorted({0, limit - 1, limit // 2})) for limit in limits]
    views = draw(st.lists(st.tuples(st.integers(0, layout.num_players - 1), st.tuples(*value)), min_size=1, max_size=8))
    return layout, limits, views


@settings(max_examples=150, deadline=None)
@given(layouts_and_views())
def test_keys_are_unpacked_to_what_was_packed(drawn):
    layout, limits, views = drawn
    places, words = key_places(layout)
    kept = [each.when != "now" for each in layout.fields for _ in range(each.count)]
    of_key = {}
    for player, view in views:
        key = np.full(words, 12345, np.int64)
        assert pack(places, player, np.array(view, np.int64), key)
        assert (key >= 0).all()
        expected = [value if keep else 0 for value, keep in zip(view, kept, strict=True)]
        assert unpack(places, key[None])[0].tolist() == expected
        assert of_key.setdefault(tuple(key.tolist()), (player, expected)) == (player, expected)
    assert len(of_key) == len(
        {(player, tuple(v for v, k in zip(view, kept, strict=True) if k)) for player, view in views}
    )
    for entry, limit in enumerate(limits):
        for wrong in (-1, limit) if limit < 2**63 - 1 else (-1,):
            view = np.zeros(len(limits), np.int64)
            view[entry] = wrong
            assert not pack(places, 0, view, np.zeros(words, np.int64))


# --- hash tables ---


def test_rows_of_one_hash_are_told_apart():
    places = 64
    rows = np.array([[n, -n] for n in range(20_000) if int(hash_of_row(np.array([n, -n]))) % places == places - 2])[:30]
    assert len(rows) == 30
    table = table_of_rows(rows[:29], 29, places)
    assert sorted(table[table != EMPTY].tolist()) == list(range(29))
    for index in range(29):
        assert table[place_of_row(table, rows, rows[index])] == index
    place = place_of_row(table, rows, rows[29])
    assert table[place] == EMPTY  # behind all others, round the end of the table
    assert place == (places - 2 + 29) % places


def test_distributions_of_different_probabilities_or_outcomes_are_different():
    weights = list(itertools.product((0.25, 0.5, 0.75), (0, 1, 2), (0, 1, 2)))
    children = {}
    for number, (weight, first, second) in enumerate(weights):
        if first != second:
            children[number] = Chance([(first, weight, _END), (second, 1 - weight, _END)])
    name = spec("distributions", Move(0, (0,), children), num_distinct_actions=30, max_chance_outcomes=4)
    tree = compile_game(name)
    assert len(tree.outcome_action) == 2 * len(children)
    assert_same(tree, through_pyspiel(name))
