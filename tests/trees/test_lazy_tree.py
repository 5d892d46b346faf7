"""Trees that expand: the same bits as compiled ones; what happens when they are full; the infosets' table."""

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lazy_trees import PLENTY, differences, lazy_solver, pair

from mccfr_plus import BudgetError, ConfigError, Solver
from mccfr_plus.trees import expansion as g
from mccfr_plus.trees import lazy_tree
from mccfr_plus.trees.lazy_tree import LazyTree

SPECIAL = [
    ("outcome(update_all_players=True)", {}),
    ("outcome(update_all_players=True)", {"averaging": "stochastic", "batch": 3}),
    ("external(sample_per_infoset=True)", {}),
    ("opponent(sample_per_infoset=True)", {"batch": 3}),
    ("external(prune_below=-0.1,prune_probability=0.3)", {}),
    ("average_strategy(sample_per_infoset=True)", {}),
    ("external", {"alternating": False, "minimizer": "dcfr"}),
    ("outcome", {"alternating": False, "batch": 4, "averaging": "stochastic"}),
    ("external", {"baseline": True}),
    ("outcome", {"baseline": "mean(rate=0.5,backup='sampled')", "batch": 2}),
    ("chance", {"baseline": True}),
    ("average_strategy", {"baseline": True, "averaging": "stochastic"}),
]
GAMES = [
    "leduc_poker",
    "kuhn_poker(players=3)",
    "goofspiel(num_cards=4,points_order=descending)",
    "bid_goofspiel(num_cards=3)",
    "python_kuhn_poker",
]


def run_both(name, estimator, minimizer="rm", averaging=None, *, iterations=40, plan=PLENTY, **options):
    both = pair(name, estimator, minimizer, averaging, plan=plan, seed=3, **options)
    return [solver.run(iterations) for solver in both]


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(("estimator", "options"), SPECIAL, ids=str)
@pytest.mark.parametrize("game", GAMES[:2])
def test_every_form(game, estimator, options):
    iterations = 4 if estimator.startswith(("chance", "opponent")) else 40  # with all outcomes of chance
    assert differences(*run_both(game, estimator, iterations=iterations, **options)) == []


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("estimator", ["external", "outcome"])
@pytest.mark.parametrize("game", GAMES)
def test_every_kind_of_game(game, estimator):
    whole, lazy = run_both(game, estimator, iterations=50 if game.startswith("goof") else 200)
    assert differences(whole, lazy) == []
    assert lazy.stopped is None
    assert lazy.tree.num_nodes > 50


@pytest.mark.usefixtures("interpreted_loops")
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    game=st.builds("random:{}:{}".format, st.integers(2, 4), st.integers(0, 30)),
    estimator=st.sampled_from(
        ["chance", "opponent", "external", "average_strategy", "outcome(update_all_players=True)"]
    ),
    averaging=st.sampled_from([None, "lazy", "stochastic", "optimistic"]),
    options=st.sampled_from([{}, {"batch": 3}, {"alternating": False}, {"baseline": True}]),
)
def test_random_games(game, estimator, averaging, options):
    try:
        Solver(naive.tree_of(game), estimator, "rm", averaging, **options)
    except ConfigError:
        return
    assert differences(*run_both(game, estimator, "rm", averaging, **options)) == []


@pytest.fixture
def unnoticed(monkeypatch):
    """The sample of random games misses imperfect recall, which is rare in some games."""
    monkeypatch.setattr(lazy_tree, "has_perfect_recall", lambda game: True)


@pytest.mark.usefixtures("unnoticed", "interpreted_loops")
def test_infosets_are_known_by_the_own_past():
    """With imperfect recall that is not noticed, a tree has an infoset per information state and own last slot."""
    game = "liars_dice_ir(dice_sides=3)"
    whole = naive.tree_of(game)
    assert not whole.perfect_recall
    lazy = lazy_solver(game, "chance", seed=1).run(40)  # all nine deals, and all that follows
    pasts, nodes = set(), whole.arrays.nodes
    pending = [(0, (-1, -1))]  # with both players' last slots, as a player and an action of an infoset
    while pending:
        node, last = pending.pop()
        kind, count, first, payload = nodes[node].tolist()
        if kind >= 0:
            pasts.add((kind, payload, last[kind]))
        for index in range(count):
            own = (payload + index, last[kind]) if kind >= 0 else None
            after = tuple(own if player == kind else each for player, each in enumerate(last))
            pending.append((first + index, after))
    assert lazy.tree.num_infosets == len(pasts) > whole.num_infosets
    assert lazy.tree.perfect_recall


@pytest.mark.usefixtures("unnoticed", "interpreted_loops")
@pytest.mark.parametrize(("estimator", "averaging"), [("external", None), ("outcome", "stochastic"), ("chance", None)])
def test_a_policy_of_imperfect_recall_is_the_mean_over_pasts(estimator, averaging, caplog):
    """Weighted by how much of the average's weight came to each past."""
    solver = lazy_solver("liars_dice_ir(dice_sides=3)", estimator, "rm", averaging, seed=1).run(100)
    tree, sums = solver.tree, solver._engine.sums()
    expected = {}
    for infoset in range(tree.num_infosets):
        key = int(tree.found_infosets["player"][infoset]), *tree.found_keys[infoset].tolist()
        expected[key] = expected.get(key, 0.0) + sums[tree.slots(infoset)]
    policy = solver.average_policy()
    assert "imperfect recall" in caplog.text
    assert policy.num_infosets == len(expected) < tree.num_infosets
    table = policy.table
    for row, key in enumerate(zip(table.players.tolist(), *table.keys.T.tolist(), strict=True)):
        own = expected[key]
        share = own / own.sum() if own.sum() > 0 else np.full(len(own), 1 / len(own))
        np.testing.assert_allclose(table.probabilities[table.first[row] : table.first[row + 1]], share, atol=1e-12)
    state = solver.game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    assert sum(policy.action_probabilities(state).values()) == pytest.approx(1.0)


@pytest.mark.parametrize("state_bytes", [1, 1 << 14])
@pytest.mark.parametrize("estimator", ["outcome", "external"])
@pytest.mark.parametrize("game", ["leduc_poker", "python_kuhn_poker"])
def test_states_that_are_not_kept_are_replayed(game, estimator, state_bytes):
    whole, lazy = run_both(game, estimator, iterations=200, plan=PLENTY._replace(state_bytes=state_bytes))
    assert differences(whole, lazy) == []
    assert len(lazy.tree._young) <= max(2, state_bytes // 1000)


FULL = [("nodes", {"max_nodes": 700}), ("infosets", {"max_infosets": 150}), ("slots", {"max_slots": 400})]
FULL += [("bytes", {"tree_bytes": 150 * 100 + 400 * 50 + 600 * 20, "node_cost": 20})]


@pytest.mark.parametrize("plan", [PLENTY._replace(**given) for _, given in FULL], ids=[name for name, _ in FULL])
@pytest.mark.parametrize(
    "options", [{}, {"threads": 2}, {"batch": 3}, {"averaging": "optimistic", "baseline": True}], ids=str
)
def test_a_run_ends_when_the_tree_is_full(plan, options, caplog, request):
    """Each player has the strategy of as many updates as with plenty of memory, and the run ends with it."""
    if options.keys() - {"batch"}:
        request.getfixturevalue("interpreted_loops")
    solver = lazy_solver("leduc_poker", "external", plan=plan, seed=3, **options).run(1000)
    assert 0 < solver.iterations < 1000
    assert "have filled memory=1,000MB" in solver.stopped
    assert solver.stopped in caplog.text
    tree = solver.tree
    assert tree.num_nodes <= plan.max_nodes
    assert tree.num_infosets <= plan.max_infosets
    assert tree.num_slots <= plan.max_slots
    assert solver.average_policy().num_infosets == tree.num_infosets
    player_to_go = int(solver._engine.scratches[0].counts[0]["step"]) // 2
    more = lazy_solver("leduc_poker", "external", seed=3, **options).run(solver.iterations)
    for player in reversed(range(2)):
        if player < player_to_go:  # was updated once more
            more.run(1)
        infosets = [i for i, each in enumerate(more.tree.found_infosets) if each["player"] == player]
        slots = np.concatenate([np.r_[more.tree.slots(i)] for i in infosets])
        for ours, theirs in (
            (solver.current_policy(), more.current_strategy()),
            (solver.average_policy(), more.average_strategy()),
        ):  # by their keys: threads number infosets as they come
            assert ours.on_tree(more.tree, theirs)[slots].tobytes() == theirs[slots].tobytes()


def test_a_full_tree_stays_full(tmp_path):
    """A further run ends at once; a checkpoint can go on where there is more memory, and changes no bit."""
    plan = PLENTY._replace(max_infosets=150)
    solver = lazy_solver("leduc_poker", "external", plan=plan, seed=3).run(1000)
    iterations, nodes, stopped = solver.iterations, solver.nodes_touched, solver.stopped
    assert solver.run(1000).stopped == stopped
    assert (solver.iterations, solver.nodes_touched) == (iterations, nodes)
    solver.save_checkpoint(tmp_path / "full.npz")
    same = lazy_solver("leduc_poker", "external", plan=plan, seed=3).restore(tmp_path / "full.npz").run(1000)
    assert (same.iterations, same.stopped) == (iterations, stopped)
    more = lazy_solver("leduc_poker", "external", seed=8).restore(tmp_path / "full.npz").run(50)
    assert more.stopped is None
    assert differences(Solver(naive.tree_of("leduc_poker"), "external", seed=3).run(iterations + 50), more) == []


def test_memory_for_less_than_an_iteration(interpreted_loops):
    solver = lazy_solver("leduc_poker", "opponent", plan=PLENTY._replace(max_nodes=300), seed=1)
    for _ in range(2):
        with pytest.raises(BudgetError, match=r"no iteration was completed.*have filled memory="):
            solver.run(5)


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
    [("external", {"averaging": "stochastic", "threads": 2}), ("external", {"baseline": True})],
    ids=str,
)
def test_nothing_is_written_outside_of_arrays(monkeypatch, estimator, options):
    buffers = []
    plan = PLENTY._replace(max_nodes=500, max_infosets=100, max_slots=270)
    lazy_solver("leduc_poker", estimator, seed=1, **options).run(1)  # so that nothing is compiled below
    with monkeypatch.context() as patch:
        patch.setattr(np, "zeros", guarded_zeros(buffers))
        solver = lazy_solver("leduc_poker", estimator, plan=plan, seed=2, **options)
    assert len(buffers) > 15
    solver.run(5000)
    assert solver.stopped is not None
    solver.run(5)
    for buffer, guard, size in buffers:
        assert (buffer[:guard] == 0xA5).all()
        assert (buffer[guard + size :] == 0xA5).all(), size


def a_tree(**plan):
    tree = LazyTree("kuhn_poker", PLENTY._replace(**plan))
    tree.attach(check_depth=False, single_trajectory=False)
    return tree


def put(tree, slot, key, actions=(0, 1)):
    answer = np.array([0, len(actions), 0, *key, *actions], np.int64)
    assert found(tree, slot, key) == g.NONE
    return int(g.new_infoset(tree.tables, slot, answer))


def found(tree, slot, key):
    return g.find(tree.tables, slot, *key)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_table_is_a_dictionary(seed):
    """Keys that share one of their words, or have another slot before them, are others; the table doubles often."""
    rng = np.random.default_rng(seed)
    tree, numbers = a_tree(), {}
    for _ in range(9000):
        high = rng.integers(-(2**63), 2**63) if rng.random() < 0.5 else rng.integers(50)
        key = (int(rng.integers(30)), (int(rng.integers(-60, 60)), int(high)))
        if key not in numbers:
            numbers[key] = put(tree, *key)
        assert found(tree, *key) == numbers[key]
    assert list(numbers.values()) == list(range(len(numbers)))
    assert tree.count(g.TABLE_SIZE) >= 2 * len(numbers) > 4096
    for key, number in numbers.items():
        assert found(tree, *key) == number
    assert found(tree, 0, (1000, 0)) == -1
