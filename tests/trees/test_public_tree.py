"""Public trees: gradients, iterates and evaluations beside stored trees and pyspiel; refusals; policies; threads."""

import functools
import itertools

import numpy as np
import pyspiel
import pytest
from interpreted import interpreted, plain_solver

import mccfr_plus
from mccfr_plus import ConfigError, GameError, PolicyFileError, Solver
from mccfr_plus.checks.games import exact_gradient, random_strategy
from mccfr_plus.kernels import slots
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver import choice
from mccfr_plus.solver.config import MINIMIZERS, SolverConfig, estimate_with
from mccfr_plus.solver.loop import ESTIMATE, begin_gradients
from mccfr_plus.trees.public import histories
from mccfr_plus.trees.public.public_tree import PublicTree
from mccfr_plus.trees.scratch import new_scratch

TOLERANCE, SMALL = 1e-12, "leduc_ranks(ranks=2,suits=2)"

# Deals before the players move and later ones, public outcomes, one and several hands, rules and a game in Python.
GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    "liars_dice(numdice=2,dice_sides=2)",
    "one_card_poker(deck_size=13)",
    SMALL,
    "bluff(dice1=2,dice2=1,faces=2)",
    "nl_holdem_buckets(stack=4)",
    "python_kuhn_poker",
)
pytestmark = pytest.mark.usefixtures("interpreted_public_trees")
stored_tree = functools.cache(mccfr_plus.compile_game)
public_tree = functools.cache(PublicTree)
tree_of_stored = functools.cache(lambda name: PublicTree(stored_tree(name)))


@kernel
def _estimate(tree, strategy, scratch, player):
    begin_gradients(tree, scratch, player)
    ESTIMATE(strategy, strategy, tree, strategy, scratch, player)


def gradient_of(tree, strategy, player):
    """Returns the gradient that `full` writes, ``[num_slots + num_players]``; 0 where it is not the player's."""
    estimate = estimate_with(mccfr_plus.Full(), tree_slots=tree.bindings)
    run = interpreted(bind(_estimate, {ESTIMATE: estimate}, partial=True))  # solvers below run it compiled
    scratch = new_scratch(tree.arrays, tree.shape, np.zeros(1, np.uint64))
    run(tree.arrays, strategy, scratch, player)
    found, (begin, end) = np.zeros(tree.num_slots + 2), tree.arrays.slot_range[player : player + 2]
    found[begin:end], found[tree.num_slots + player] = scratch.gradient[begin:end], scratch.gradient[-3 + player]
    return found


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_gradients_are_those_of_the_stored_tree(name, zeros):
    trees = public_tree(name), tree_of_stored(name)
    strategy = random_strategy(trees[0], np.random.default_rng(1), zeros)
    for player in range(2):
        expected = exact_gradient(trees[0], strategy, player)  # of the stored tree, in plain Python
        for tree in trees:
            np.testing.assert_allclose(gradient_of(tree, strategy, player), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", GAMES)
def test_rules_and_the_stored_tree_give_the_same_public_tree(name):
    one, other = public_tree(name), tree_of_stored(name)
    assert one.info_states == other.info_states
    assert (one.slot_action == other.slot_action).all()
    for field in ("nodes", "infosets", "ends", "chance", "outcome_node"):
        assert (getattr(one.arrays, field) == getattr(other.arrays, field)).all(), field
    actions = [one.legal_actions(infoset) for infoset in range(one.num_infosets)]
    assert np.concatenate(actions).tolist() == one.slot_action.tolist()


def test_matrices_are_stored_once():
    tree = PublicTree("liars_dice(numdice=2,dice_sides=2)")
    starts = {tuple(row) for row in tree.arrays.ends[:, 0, 2:]}
    assert len(tree.arrays.ends) == 255
    assert len(starts) <= 8  # 4 quantities of each of 2 faces, for both players


@pytest.mark.parametrize("name", GAMES[:6])
@pytest.mark.parametrize("minimizer", ["rm", "rm+"])
def test_iterates_are_those_of_the_stored_tree_but_where_regrets_cancel(name, minimizer):
    """Each iteration begins at the same state, as rounding grows from one to the next.

    Where all regrets of an information set are 0 up to rounding, regret matching plays what rounding has left.
    """
    tree = public_tree(name)
    stored, public = Solver(tree.stored, "full", minimizer), Solver(tree, "full", minimizer)
    first = stored.tree.arrays.infosets["first_slot"]
    for _ in range(50):
        public.set_tables(stored.tables()[:, tree.stored_slots])
        public.set_strategy(stored.current_strategy()[tree.stored_slots])
        stored.run(1), public.run(1)
        away = np.abs(tree.on_stored(public.current_strategy()) - stored.current_strategy())
        apart = np.maximum.reduceat(away, first) > 1e-10
        positive = np.add.reduceat(np.maximum(stored.tables()[0], 0.0), first)
        assert not apart.any() or (positive[apart] < TOLERANCE).any(), "iterates differ where no regrets cancel"
    averages = tree.on_stored(public.average_strategy()), stored.average_strategy()
    assert name.startswith("liars_dice") or np.abs(np.subtract(*averages)).max() < 1e-10


@pytest.mark.parametrize("minimizer", MINIMIZERS)
def test_every_minimizer_runs(minimizer, interpreted_loops):
    options = {"alternating": len(minimizer) % 2 == 0}
    stored, public = (
        Solver("kuhn_poker", "full", minimizer, tree=tree, **options).run(30) for tree in ("compiled", "public")
    )
    np.testing.assert_allclose(public.evaluate(), stored.evaluate(), rtol=0, atol=1e-9)


AVERAGES = ("uniform", "linear", "lazy", "exact", "last", "schedule(iterations=6)")
PAIRS = [pair for pair in itertools.product(("full", "public_chance"), AVERAGES) if pair != ("public_chance", "exact")]


@pytest.mark.parametrize(("estimator", "averaging"), PAIRS)
def test_every_average_runs(estimator, averaging, interpreted_loops):
    solver = Solver(public_tree(SMALL), estimator, "rm", averaging, seed=1).run(6)
    assert mccfr_plus.nash_conv(SMALL, solver.average_policy()) == pytest.approx(solver.nash_conv(), abs=1e-12)


COMPONENTS = [*(("full", each, None) for each in MINIMIZERS), *((first, "rm", last) for first, last in PAIRS)]
COMPONENTS = [("full", "pdcfr+", None, 2), *((*each, 1) for each in COMPONENTS)]


@pytest.mark.parametrize(
    "components",
    [pytest.param(c, marks=pytest.mark.slow if i and i % 10 != 1 else ()) for i, c in enumerate(COMPONENTS)],
)
def test_compiled_loops_give_the_bits_of_python(components):
    *components, threads = components
    compiled, plain = (
        make(public_tree("leduc_poker"), *components, threads=threads, seed=1).run(3) for make in (Solver, plain_solver)
    )
    assert (compiled.tables() == plain.tables()).all()
    assert (compiled.average_strategy() == plain.average_strategy()).all()


@pytest.mark.parametrize("name", GAMES)
def test_evaluations_are_those_of_pyspiel(name):
    solver = Solver(public_tree(name), "full", "rm+").run(10)
    policy = solver.average_policy()
    table = policy.to_pyspiel()
    assert solver.nash_conv() == pytest.approx(pyspiel.nash_conv(policy.game, table), abs=1e-10)
    of_tree = TreePolicy(solver.tree, solver.average_strategy())
    assert mccfr_plus.nash_conv(name, of_tree) == pytest.approx(mccfr_plus.nash_conv(name, policy), abs=1e-12)
    response = mccfr_plus.best_response(name, of_tree, 0)
    assert response.value == pytest.approx(mccfr_plus.best_response(name, policy, 0).value, abs=1e-12)
    assert response.actions == mccfr_plus.best_response(name, policy, 0).actions


def test_policies_answer_for_states_and_are_saved(tmp_path):
    for name in ("liars_dice(dice_sides=3)", "leduc_poker", "python_kuhn_poker"):
        solver = Solver(name, "full", "rm+", tree="public").run(5)
        small, policy = solver.average_policy(), TreePolicy(solver.tree, solver.average_strategy())
        mccfr_plus.save_policy(policy, tmp_path / "policy.npz")
        loaded = mccfr_plus.load_policy(tmp_path / "policy.npz")
        rng = np.random.default_rng(0)
        for _ in range(20):
            state = policy.game.new_initial_state()
            while not state.is_terminal():
                if not state.is_chance_node():
                    expected = small.action_probabilities(state)
                    assert policy.action_probabilities(state) == expected == loaded.action_probabilities(state)
                state.apply_action(int(rng.choice(state.legal_actions())))
    with pytest.raises(PolicyFileError, match="is not"):
        mccfr_plus.load_policy(tmp_path / "policy.npz", "kuhn_poker(players=2)")


def test_public_chance_is_full_where_no_outcome_is_public():
    full, sampled = (Solver(public_tree("nl_holdem_buckets(stack=4)"), e, "rm") for e in ("full", "public_chance"))
    np.testing.assert_allclose(sampled.run(5).average_strategy(), full.run(5).average_strategy(), rtol=0, atol=1e-10)


def test_public_chance_is_unbiased():
    mccfr_plus.check_estimator("public_chance", samples=20_000)
    mccfr_plus.check_estimator(
        "public_chance", batch=2, games=["leduc_ranks(ranks=2,suits=2)"], samples=2_000, exact=False
    )


@pytest.mark.parametrize(("minimizer", "alternating"), [("pdcfr+", True), ("omd(optimistic=True)", False)])
def test_threads_share_the_tree(minimizer, alternating, interpreted_loops):
    runs = [
        Solver(public_tree("leduc_poker"), "full", minimizer, tree="public", threads=threads, alternating=alternating)
        for threads in (1, 2, 2, 3)
    ]
    one, two, again, three = (run.run(2).average_strategy() for run in runs)
    np.testing.assert_allclose([two, three], [one, one], rtol=0, atol=1e-9)
    assert (two == again).all()


@pytest.mark.parametrize("minimizer", ["rm+", "pdcfr+", "omd(optimistic=True)"])
def test_tables_of_32_bits(minimizer):
    options = ((Solver, "float32"), (plain_solver, "float64"))
    single, double = (make(public_tree("leduc_poker"), "full", minimizer, dtype=dtype) for make, dtype in options)
    assert {single.tables().dtype, single._engine.strategy.dtype, single._engine.average.dtype} == {np.dtype("f4")}
    assert single.run(5).nash_conv() == pytest.approx(double.run(5).nash_conv(), abs=1e-3)  # regrets may cancel
    with pytest.raises(ConfigError, match="dtype='float32' needs a public tree: give tree='public'"):
        Solver("kuhn_poker", "full", dtype="float32")


@pytest.mark.parametrize(
    "options",
    [{}, {"threads": 2}, {"estimator": "public_chance", "minimizer": "rm"}, {"threads": 2, "dtype": "float32"}],
)
def test_checkpoints_go_on_bitwise(options, tmp_path):
    arguments = {"estimator": "full", "minimizer": "pdcfr+", "tree": "public", "seed": 3, **options}
    solver = Solver(SMALL, **arguments).run(7)
    solver.save_checkpoint(tmp_path / "run")
    copy = Solver.from_checkpoint(tmp_path / "run")
    assert copy.tree.kind == "public"
    assert (copy.run(5).average_strategy() == solver.run(5).average_strategy()).all()


def test_hands_that_are_compared_in_part_are_the_same(monkeypatch):
    expected = PublicTree("leduc_ranks(ranks=5)")
    monkeypatch.setattr(histories, "_CHECKS", -1)
    monkeypatch.setattr(slots, "_bound", {})  # else kernels keep the number that they were bound with
    assert PublicTree("leduc_ranks(ranks=5)").fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("kuhn_poker(players=3)", "3 players"),
        ("phantom_ttt", "of player 0 is not public"),
        ("dark_hex(board_size=2)", "of player 0 is not public"),
        ("goofspiel(num_cards=3,imp_info=True)", "of player 0 is not public"),
        ("search_game", "is not public"),
    ],
)
def test_other_games_are_refused_with_a_reason(name, reason):
    with pytest.raises(GameError, match=reason) as refused:
        Solver(name, "full", "rm", tree="public")
    assert "Use tree='compiled'" in str(refused.value)


def test_options_that_do_not_go_together():
    with pytest.raises(ConfigError, match=r"do not fit the given public tree|on a public tree"):
        Solver("kuhn_poker", "public_chance", tree="compiled")
    with pytest.raises(ConfigError, match=r"no kernel|values"):
        Solver("kuhn_poker", "public_chance", tree="public", baseline=True)
    with pytest.raises(ConfigError, match="needs all histories"):
        Solver("leduc_poker", "public_chance", averaging="exact", tree="public")
    with pytest.raises(ConfigError, match="averaging='lazy' does not work with threads=2"):
        Solver("kuhn_poker", "full", "rm", "lazy", tree="public", threads=2)


@pytest.mark.parametrize("name", ["liars_dice(numdice=2,dice_sides=5)", "liars_dice(numdice=4,dice_sides=2)"])
def test_it_is_chosen_where_it_is_faster_or_alone_fits(name, monkeypatch):
    monkeypatch.undo()  # kernels run compiled: these games have many hands
    estimate = mccfr_plus.estimate_size(name, sample_size=20_000, seed=0)
    for given in ({"estimate": estimate}, {}):
        config, tree, reason = choice.choose(name, {}, **given)
        assert isinstance(config, SolverConfig)
        assert (config.tree, config.estimator, tree) == ("public", mccfr_plus.Full(), None)
        assert "only hands are private" in reason
    assert choice.choose(name, {"estimator": "external"}, estimate=estimate)[0].tree != "public"


def test_it_is_not_chosen_where_a_stored_tree_is_as_fast(monkeypatch):
    monkeypatch.undo()
    assert [Solver(name, "full").tree.kind for name in ("leduc_poker", "liars_dice")] == ["compiled"] * 2
    assert Solver("liars_dice(numdice=4,dice_sides=2)", "full").tree.kind == "public"
