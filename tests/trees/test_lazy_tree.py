"""Trees that expand: the same bits as compiled ones, however little memory nodes have; the infosets' table."""

from types import SimpleNamespace

import naive
import numpy as np
import pyspiel
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lazy_trees import PLENTY, differences, lazy_solver, pair

from mccfr_plus import BudgetError, ConfigError, GameError, Solver
from mccfr_plus.solver import registry as parts
from mccfr_plus.trees import expansion as g
from mccfr_plus.trees.keys import KINDS, Keys
from mccfr_plus.trees.lazy_tree import LazyTree

SPECIAL = [
    ("outcome(update_all_players=True)", {}),
    ("outcome(update_all_players=True)", {"averaging": "stochastic", "batch": 3}),
    ("external(sample_per_infoset=True)", {}),
    ("opponent(sample_per_infoset=True)", {"batch": 3}),
    ("external(prune_below=-0.1,prune_probability=0.3)", {}),
    ("average_strategy(sample_per_infoset=True)", {}),
    ("external", {"alternating": False}),
    ("outcome", {"alternating": False, "batch": 4, "averaging": "stochastic"}),
    ("external", {"baseline": True}),
    ("outcome", {"baseline": "mean(rate=0.5,backup='sampled')", "batch": 2}),
    ("chance", {"baseline": True}),
    ("average_strategy", {"baseline": True, "averaging": "stochastic"}),
]
GAMES = [
    "leduc_poker",
    "kuhn_poker(players=3)",
    "goofspiel(num_cards=3)",
    "bid_goofspiel(num_cards=3)",
    "python_kuhn_poker",
]


def run_both(name, estimator, minimizer="rm", averaging=None, *, iterations=40, keys="hash", plan=PLENTY, **options):
    """Returns a solver on a compiled tree and one on a lazy tree, after a run."""
    both = pair(name, estimator, minimizer, averaging, keys=keys, plan=plan, seed=3, **options)
    return [solver.run(iterations) for solver in both]


# --- the same bits as a compiled tree ---


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("estimator", ["chance", "opponent", "external", "outcome", "average_strategy"])
@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_every_combination_that_can_grow(estimator, game):
    count = 0
    for minimizer in parts.MINIMIZERS:
        for averaging in parts.AVERAGES:
            if minimizer in ("ftrl", "omd"):
                minimizer += "(weights='constant')"
            try:
                Solver(naive.tree_of(game), estimator, minimizer, averaging)
            except ConfigError:
                continue
            if averaging == "exact":
                with pytest.raises(ConfigError, match=r"tree='lazy' with averaging='exact'.*tree='compiled'"):
                    lazy_solver(game, estimator, minimizer, averaging)
                continue
            assert differences(*run_both(game, estimator, minimizer, averaging)) == []
            count += 1
    rules = sum(naive.go_together(estimator, minimizer) for minimizer in parts.MINIMIZERS)
    assert count >= rules * (len(parts.AVERAGES) - 3)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(("estimator", "options"), SPECIAL, ids=str)
@pytest.mark.parametrize("game", GAMES[:2])
def test_every_form(game, estimator, options):
    iterations = 4 if estimator.startswith(("chance", "opponent")) else 40  # with all outcomes of chance
    assert differences(*run_both(game, estimator, iterations=iterations, **options)) == []


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("keys", KINDS)
def test_every_kind_of_key(keys):
    whole, lazy = run_both("leduc_poker", "external", keys=keys)
    assert differences(whole, lazy) == []
    assert lazy.tree.keys.kind == keys


@pytest.mark.parametrize("estimator", ["external", "outcome"])
@pytest.mark.parametrize("game", GAMES)
def test_every_kind_of_game(game, estimator):
    whole, lazy = run_both(game, estimator, "dcfr", iterations=200, keys="checked")
    assert differences(whole, lazy) == []
    assert lazy.stopped is None
    assert lazy.tree.num_nodes > 50


@pytest.mark.usefixtures("interpreted_loops")
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    game=st.builds("random:{}:{}".format, st.integers(2, 4), st.integers(0, 30)),
    estimator=st.sampled_from(
        ["chance", "opponent", "external", "average_strategy", "outcome(update_all_players=True)"]
    ),
    averaging=st.sampled_from([None, "lazy", "stochastic", "optimistic"]),
    options=st.sampled_from([{}, {"batch": 3}, {"alternating": False}, {"baseline": True}]),
    keys=st.sampled_from(KINDS),
)
def test_random_games(game, estimator, averaging, options, keys):
    try:
        Solver(naive.tree_of(game), estimator, "rm", averaging, **options)
    except ConfigError:
        return
    assert differences(*run_both(game, estimator, "rm", averaging, keys=keys, **options)) == []


def test_imperfect_recall_is_found_on_the_way(caplog, monkeypatch):
    seen_none = SimpleNamespace(perfect_recall=True)
    monkeypatch.setattr("mccfr_plus.solver.tree_choice.probe_size", lambda *_, **__: seen_none)  # no play has met it
    whole, lazy = run_both("liars_dice_ir(dice_sides=4)", "outcome", averaging="stochastic", iterations=2000)
    assert differences(whole, lazy) == []
    assert not lazy.tree.perfect_recall
    assert "imperfect recall" in caplog.text
    for estimator, averaging in (("external", None), ("outcome", "lazy")):
        solver = lazy_solver("liars_dice_ir", estimator, "rm", averaging, seed=1)
        with pytest.raises(GameError, match=r"imperfect recall .*at history \[.*averaging='stochastic'"):
            solver.run(5000)


@pytest.mark.parametrize("iterations", [[1] * 40, [7, 33], [39, 1]])
def test_it_does_not_matter_when_the_run_is_cut(iterations):
    whole, lazy = pair("leduc_poker", "external", "rm+", seed=3)
    for count in iterations:
        lazy.run(count)
    assert differences(whole.run(40), lazy) == []


@pytest.mark.parametrize("state_bytes", [1, 1 << 14])
@pytest.mark.parametrize("estimator", ["outcome", "external"])
@pytest.mark.parametrize("game", ["leduc_poker", "python_kuhn_poker"])
def test_states_that_are_not_kept_are_replayed(game, estimator, state_bytes):
    whole, lazy = run_both(game, estimator, iterations=200, plan=PLENTY._replace(state_bytes=state_bytes))
    assert differences(whole, lazy) == []
    assert len(lazy.tree.expander._young) <= max(2, state_bytes // 1000)


# --- transient nodes ---


def tiny(max_nodes, max_transient):
    return PLENTY._replace(max_nodes=max_nodes, max_transient=max_transient)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        ("external", {}),
        ("external", {"alternating": False, "batch": 3}),
        ("external(sample_per_infoset=True)", {"averaging": "stochastic", "batch": 5}),
        ("outcome", {"averaging": "stochastic", "batch": 5}),
        ("outcome", {"averaging": "optimistic"}),
        ("outcome(update_all_players=True)", {"averaging": "stochastic", "batch": 4}),
        ("opponent", {"averaging": "stochastic", "batch": 2}),
        ("average_strategy", {}),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("game", "max_nodes", "max_transient"),
    [
        ("leduc_poker", 1, 130),
        ("leduc_poker", 400, 131),
        ("kuhn_poker(players=3)", 40, 130),
    ],
)
def test_forgotten_nodes_change_no_bit(game, estimator, options, max_nodes, max_transient):
    """Some traversals do not fit into what is left and are rolled back; some gradients are cut between two of them."""
    iterations = 20
    if estimator == "opponent":  # with all outcomes of chance
        max_transient, iterations = 60 * max_transient, 2
    plan = tiny(max_nodes, max_transient)
    whole, lazy = run_both(game, estimator, iterations=iterations, plan=plan, **options)
    assert differences(whole, lazy) == []
    assert lazy.stopped is None
    assert lazy.tree.count(g.NUM_NODES) <= max_nodes


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("game", "estimator", "options"),
    [
        ("leduc_poker", "external(sample_per_infoset=True)", {"averaging": "stochastic", "batch": 5}),
        ("leduc_poker", "external", {"averaging": "stochastic", "batch": 3, "alternating": False}),
        ("leduc_poker", "external", {"averaging": "lazy", "batch": 4, "threads": 2}),
        ("kuhn_poker(players=3)", "external", {"averaging": "stochastic", "alternating": False, "batch": 5}),
        ("kuhn_poker(players=3)", "opponent", {"averaging": "stochastic", "batch": 2, "threads": 2}),
        ("leduc_poker", "average_strategy", {"averaging": "optimistic", "batch": 4}),
    ],
    ids=str,
)
def test_walks_that_do_not_fit_are_begun_anew(monkeypatch, game, estimator, options):
    """With little enough memory, where a traversal fails now and then: what others have added is not added twice."""
    begun = []
    go_on = LazyTree.go_on
    monkeypatch.setattr(LazyTree, "go_on", lambda tree: begun.append(tree.status) or go_on(tree))
    for power in range(14 if "threads" in options else 5, 28):
        max_transient = int(8 * 1.3**power)
        begun.clear()
        try:
            solver = lazy_solver(game, estimator, "rm", plan=tiny(1, max_transient), seed=3, **options).run(5)
            if solver.stopped is None and begun.count(g.NODES_FULL):
                break
        except BudgetError:
            pass
    assert begun.count(g.NODES_FULL) > 0
    assert differences(Solver(naive.tree_of(game), estimator, "rm", seed=3, **options).run(5), solver) == []


def test_a_walk_that_needs_more_than_there_is():
    solver = lazy_solver("leduc_poker", "opponent", plan=tiny(1, 300), seed=1)
    with pytest.raises(BudgetError, match=r"not even the first iteration.*single traversal.* more nodes.*'outcome'"):
        solver.run(5)
    with pytest.raises(BudgetError, match="single traversal"):
        solver.run(5)


# --- infosets that fill their share ---


def test_infosets_take_what_nodes_leave():
    plan = PLENTY._replace(infosets_bytes=150 * 100 + 400 * 50, max_nodes=1000, limit=1)
    less, more = (
        lazy_solver("leduc_poker", "outcome", plan=plan._replace(node_cost=cost), seed=3).run(20_000)
        for cost in (0, 40)
    )
    assert "information sets have filled" in less.stopped
    assert "information sets have filled" in more.stopped
    assert more.tree.num_infosets > less.tree.num_infosets
    cost = more.tree.num_infosets * 100 + more.tree.num_slots * 50
    left = 40 * (plan.max_nodes - more.tree.sizes().nodes)
    assert plan.infosets_bytes < cost <= plan.infosets_bytes + left
    assert more.tree.why_too_small(more.tree.sizes()) is None  # a checkpoint of it fits as well


@pytest.mark.parametrize(
    "plan",
    [
        PLENTY._replace(max_infosets=150),
        PLENTY._replace(max_slots=400),
        PLENTY._replace(infosets_bytes=150 * 100 + 400 * 50),
    ],
    ids=["infosets", "slots", "bytes"],
)
@pytest.mark.parametrize("keys", KINDS)
def test_a_run_ends_when_infosets_have_filled_their_share(plan, keys, caplog):
    solver = lazy_solver("leduc_poker", "external", plan=plan, keys=keys, seed=3).run(1000)
    assert 0 < solver.iterations < 1000
    assert "information sets have filled their share of memory=1,000MB" in solver.stopped
    assert solver.stopped in caplog.text
    tree = solver.tree
    assert 0 < tree.num_infosets <= plan.max_infosets
    assert tree.num_slots <= plan.max_slots
    assert tree.num_infosets * 100 + tree.num_slots * 50 <= plan.infosets_bytes
    policy = solver.average_policy()
    assert policy.num_infosets == tree.num_infosets
    state = pyspiel.load_game("leduc_poker").new_initial_state()
    for action in (0, 1):
        state.apply_action(action)
    assert sum(policy.action_probabilities(state).values()) == pytest.approx(1)
    iterations = solver.iterations
    solver.run(1000)  # the same once more: it goes on where it can, and says so again
    assert solver.stopped is not None
    assert iterations <= solver.iterations < 1000
    more = lazy_solver("leduc_poker", "external", seed=3).run(1000)
    assert more.stopped is None
    assert more.iterations == 1000


# --- nothing is written outside ---


def guarded_zeros(buffers):
    """Returns a twin of `np.zeros` whose arrays stand between guards."""
    guard = 4096

    def zeros(shape, dtype=np.float64):
        dtype = np.dtype(dtype)
        size = int(np.prod(shape)) * dtype.itemsize
        buffer = np.full(size + 2 * guard, 0xA5, np.uint8)
        buffer[guard : guard + size] = 0
        buffers.append((buffer, guard, size))
        return np.ndarray(shape, dtype, buffer.data, guard)

    return zeros


@pytest.mark.parametrize(
    ("estimator", "options"),
    [("external", {"averaging": "stochastic"}), ("outcome", {"baseline": True}), ("outcome", {"threads": 3})],
    ids=str,
)
@pytest.mark.parametrize("keys", KINDS)
def test_nothing_is_written_outside_of_arrays(monkeypatch, estimator, options, keys):
    buffers = []
    plan = PLENTY._replace(max_nodes=300, max_transient=250, max_infosets=100, max_slots=270)
    Solver("leduc_poker", estimator, seed=1, **options).run(1)  # so that nothing is compiled below
    monkeypatch.setattr("mccfr_plus.trees.lazy_tree._MAX_PAYOFFS", 64)
    monkeypatch.setattr("mccfr_plus.trees.lazy_tree._MAX_OUTCOMES", 500)
    with monkeypatch.context() as patch:
        patch.setattr(np, "zeros", guarded_zeros(buffers))
        solver = lazy_solver("leduc_poker", estimator, plan=plan, keys=keys, seed=2, **options)
    assert len(buffers) > 15
    solver.run(5000)
    assert solver.stopped is not None
    solver.run(5)
    for buffer, guard, size in buffers:
        assert (buffer[:guard] == 0xA5).all()
        assert (buffer[guard + size :] == 0xA5).all(), size


# --- the table of infosets ---


def a_tree(keys="hash", **plan):
    tree = LazyTree("kuhn_poker", PLENTY._replace(**plan), Keys(keys))
    tree.bind(np.zeros(tree.slot_capacity))
    return tree


def put(tree, player, key, actions=(0, 1), check=0):
    """Puts an infoset, as `expand` would."""
    expansion = tree._places.expansion
    answer = np.array([player, len(actions), 0, *key, check, *actions], np.int64)
    assert g.find(expansion, player, *key) == g.NONE
    return int(g._new_infoset(expansion, tree._places.infosets, player, answer, expansion[g.MAX_SLOTS] + player))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_table_is_a_dictionary(seed):
    """Keys that share one of their words, or have another player, are others; the table doubles several times."""
    rng = np.random.default_rng(seed)
    tree, numbers = a_tree(), {}
    for _ in range(9000):
        high = rng.integers(-(2**63), 2**63) if rng.random() < 0.5 else rng.integers(50)
        key = (int(rng.integers(2)), (int(rng.integers(-60, 60)), int(high)))
        if key not in numbers:
            numbers[key] = put(tree, *key)
        assert g.find(tree._places.expansion, key[0], *key[1]) == numbers[key]
    assert list(numbers.values()) == list(range(len(numbers)))
    assert tree.count(g.TABLE_SIZE) >= 2 * len(numbers) > 4096
    for (player, key), number in numbers.items():
        assert g.find(tree._places.expansion, player, *key) == number
    assert g.find(tree._places.expansion, 0, 1000, 0) == -1


def test_the_table_is_as_large_as_the_number_of_infosets_needs():
    tree = a_tree(max_infosets=5000)
    for number in range(5000):
        assert put(tree, 0, (number, number)) == number
    assert put(tree, 0, (-1, -1)) == -1
    assert tree.status == g.INFOSETS_FULL
    assert 2 * 5000 <= tree.count(g.TABLE_SIZE) <= len(tree._places.table)


# --- asking ---


def test_regrets_by_information_state():
    whole, lazy = pair("kuhn_poker", "external", seed=1)
    whole.run(100)
    lazy.run(100)
    for text in naive.tree_of("kuhn_poker").info_states:
        assert whole.regrets(text) == lazy.regrets(text)


def test_a_small_game_is_evaluated_exactly():
    whole, lazy = pair("kuhn_poker", "external", seed=1)
    for ours, theirs in zip(whole.run(500).evaluate(), lazy.run(500).evaluate(), strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-15)
    assert lazy.run(target_exploitability=0.05).exploitability() <= 0.05


@pytest.mark.parametrize(
    "arguments", [("full",), ("balanced",), ("external", "ftrl"), ("external", "rm", "exact")], ids=str
)
def test_parts_that_need_the_whole_tree(arguments):
    with pytest.raises(ConfigError, match=r"tree='lazy' with .*needs the whole tree: use tree='compiled'"):
        Solver("kuhn_poker", *arguments, tree="lazy")
    assert not Solver("kuhn_poker", *arguments).tree.is_lazy
