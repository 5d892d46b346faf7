"""`full` by rules: the numbers of stored trees, by a traversal of all histories or by the payoff matrix."""

from __future__ import annotations

import itertools
import re
import threading

import numpy as np
import pytest
from interpreted import plain_solver
from lazy_trees import beside_this_process

import mccfr_plus
from mccfr_plus import BudgetError, ConfigError, PolicyError, Solver
from mccfr_plus.evaluation import by_rules
from mccfr_plus.games.rules import TERMINAL
from mccfr_plus.solver import choice
from mccfr_plus.trees import flattening
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.order import representative_states

KUHN, LEDUC, THREE = "kuhn_poker", "leduc_poker", "kuhn_poker(players=3)"
DICE = "liars_dice(numdice=2,dice_sides=2)"
HEX = "perfect_recall_dark_hex(num_rows=2,num_cols=2)"
TRAVERSAL, MATRIX = "full(traversal=True)", "full"

slow = pytest.mark.slow
interpreted = pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")

# Each game, minimizer and average has a kernel of its own, which takes some seconds to compile.
COMBINATIONS = [
    (KUHN, MATRIX, "rm+", None, {}),
    (KUHN, TRAVERSAL, "rm+", None, {}),
    (KUHN, TRAVERSAL, "rm+", None, {"threads": 2}),
    *(
        pytest.param(*combination, marks=slow)
        for combination in [
            *((KUHN, kind, minimizer, None, {}) for kind in (TRAVERSAL, MATRIX) for minimizer in ("rm", "dcfr", "prm")),
            *((KUHN, MATRIX, minimizer, None, {}) for minimizer in ("prm+", "hedge", "linear+", "ftrl", "omd")),
            (KUHN, MATRIX, "ftrl(weights='kroer')", None, {}),
            (KUHN, MATRIX, "omd(weights='least')", None, {}),
            *((KUHN, MATRIX, "rm", average, {}) for average in ("exact", "lazy", "stochastic", "optimistic", "last")),
            (KUHN, MATRIX, "rm+", None, {"alternating": False}),
            (KUHN, TRAVERSAL, "rm+", None, {"alternating": False, "threads": 2}),
            (THREE, MATRIX, "hedge", None, {"threads": 2}),
            (LEDUC, MATRIX, "rm+", None, {}),
            (LEDUC, TRAVERSAL, "rm+", None, {}),
            ("leduc_poker(players=3)", MATRIX, "hedge", None, {}),
            ("liars_dice(dice_sides=3)", MATRIX, "prm+", None, {}),
            ("goofspiel(imp_info=True,num_cards=3,points_order=descending)", MATRIX, "rm+", None, {}),
            ("goofspiel(imp_info=True,num_cards=3,points_order=descending)", TRAVERSAL, "rm+", None, {}),
            (HEX, MATRIX, "rm+", None, {}),
            (HEX, TRAVERSAL, "rm+", None, {}),
        ]
    ),
]


def strategies(solver):
    """Returns the average strategy by information state, for either kind of tree."""
    tree = mccfr_plus.compile_game(solver.tree.game)
    policy = solver.average_policy()
    states = {(s.current_player(), s.information_state_string()): s for s in representative_states(tree)}
    return {key: list(policy.action_probabilities(state).values()) for key, state in states.items()}


@pytest.mark.parametrize(("game", "estimator", "minimizer", "averaging", "options"), COMBINATIONS)
def test_the_numbers_of_a_stored_tree(game, estimator, minimizer, averaging, options):
    assert_equal_numbers(game, estimator, minimizer, averaging, options)


def assert_equal_numbers(game, estimator, minimizer, averaging, options):
    stored = Solver(game, MATRIX, minimizer, averaging, alternating=options.get("alternating")).run(3)
    solver = Solver(game, estimator, minimizer, averaging, tree="rules", **options).run(3)
    assert (solver.tree.matrix_words is None) == (estimator == TRAVERSAL or game.endswith("players=3)"))
    expected = strategies(stored)
    for key, found in strategies(solver).items():
        assert found == pytest.approx(expected[key], abs=1e-12), key
    evaluation, there = solver.evaluate(), stored.evaluate()
    assert evaluation.values == pytest.approx(there.values, abs=1e-12)
    assert evaluation.best_response_values == pytest.approx(there.best_response_values, abs=1e-12)


@interpreted
@pytest.mark.parametrize(("game", "minimizer", "options"), [(THREE, "hedge", {}), (KUHN, "reg_cfr", {"threads": 2})])
def test_the_numbers_of_three_players_and_of_a_minimizer_that_prepares(game, minimizer, options):
    """With three players regret matching would play leftovers of rounding, see docs/design.md."""
    assert_equal_numbers(game, MATRIX, minimizer, None, options)


def test_what_opponents_do_not_reach_is_left_out():
    stored = plain_solver(KUHN, "full(pruning=True)", "rm+").run(20)
    solver = Solver(KUHN, TRAVERSAL, "rm+", tree="rules").run(20)
    assert solver.nodes_touched == stored.nodes_touched < 20 * 2 * stored.tree.num_nodes
    matrix = Solver(KUHN, MATRIX, "rm+", tree="rules").run(20)
    assert matrix.nodes_touched == 20 * 2 * stored.tree.num_nodes


@pytest.mark.parametrize("estimator", [TRAVERSAL, MATRIX])
def test_a_checkpoint_goes_on_bitwise(tmp_path, estimator):
    once = Solver(KUHN, estimator, "rm+", tree="rules").run(9)
    half = Solver(KUHN, estimator, "rm+", tree="rules").run(4)
    half.save_checkpoint(tmp_path / "half")
    loaded = Solver.from_checkpoint(tmp_path / "half", memory=beside_this_process(2e9)).run(5)
    assert (loaded.average_strategy() == once.average_strategy()).all()
    assert loaded.nodes_touched == once.nodes_touched
    again = half.restore(tmp_path / "half").run(5)
    assert (again.average_strategy() == once.average_strategy()).all()


@pytest.mark.parametrize(
    ("estimator", "tree", "threads"), [(TRAVERSAL, "rules", 1), (TRAVERSAL, "rules", 2), (MATRIX, "compiled", 2)]
)
def test_interruptions_change_nothing(estimator, tree, threads, monkeypatch):
    solver, is_over = Solver(KUHN, estimator, "rm+", tree=tree, threads=threads).run(1), threading.Event()
    run_to, num_cut = solver._engine._run_to, 0

    def counting(target):
        nonlocal num_cut
        run_to(target)
        num_cut += solver.iterations < target

    def interrupt():
        while not is_over.wait(1e-3):
            solver._engine.interrupt()

    monkeypatch.setattr(solver._engine, "_run_to", counting)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        while num_cut < 3 and solver.iterations < 1_000_000:
            solver.run(1000)
    finally:
        is_over.set()
        thread.join()
    assert num_cut >= 3
    once = Solver(KUHN, estimator, "rm+", tree=tree, threads=threads).run(solver.iterations)
    assert (solver.average_strategy() == once.average_strategy()).all()
    assert solver.nodes_touched == once.nodes_touched


def num_leaves(game):
    return np.count_nonzero(mccfr_plus.compile_game(game).arrays.nodes["kind"] == TERMINAL)


def entries_of(solver):
    """Returns the rows, columns and both players' values of a solver's payoff matrix."""
    matrix = solver.tree._matrix
    rows = np.repeat(np.arange(len(matrix.starts) - 1), np.diff(matrix.starts))
    columns, numbers = matrix.entries & ((1 << matrix.column_bits) - 1), matrix.entries >> matrix.column_bits
    return rows, columns, matrix.values[:, numbers]


@interpreted
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_orders_of_dice_have_one_entry(threads):
    stored, solver = Solver(DICE, MATRIX, "rm+").run(2), Solver(DICE, MATRIX, "rm+", tree="rules", threads=threads)
    solver.run(2)
    expected = strategies(stored)
    for key, found in strategies(solver).items():
        assert found == pytest.approx(expected[key], abs=1e-12), key
    assert solver.nodes_touched == stored.nodes_touched  # in both orders
    assert solver.nash_conv() == pytest.approx(stored.nash_conv(), abs=1e-12)
    rows, columns, values = entries_of(solver)
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
    leaves = flattening.entries_of(stored.tree.arrays_with_leaves, 0)[2]  # which adds up, too
    assert len(rows) == len(leaves)
    assert sorted(values[0]) == pytest.approx(sorted(leaves))
    assert len(rows) < 0.7 * num_leaves(DICE)


@interpreted
@pytest.mark.parametrize("estimator", [pytest.param(TRAVERSAL, marks=pytest.mark.slow), MATRIX])
def test_a_limit_of_time_ends_what_comes_before_the_first_iteration(estimator, monkeypatch, caplog):
    solver, is_ended, visits = Solver(KUHN, estimator, "rm+", tree="rules"), threading.Event(), itertools.count()
    end, compiled = solver._engine.end, by_rules.RulesEvaluator._compiled

    def end_then():
        end()
        is_ended.set()

    def held(*arguments, **options):
        traverse = compiled(*arguments, **options)

        def traverse_later(*given):
            if next(visits) == 1:
                assert is_ended.wait(60.0)
            return traverse(*given)

        return traverse_later

    with monkeypatch.context() as patched:
        patched.setattr(solver._engine, "end", end_then)
        patched.setattr(by_rules.RulesEvaluator, "_compiled", held)
        solver.run(seconds=0.1, evaluate_every=0)
    assert solver.iterations == len(solver.history) == 0
    assert solver.seconds >= 0.1
    what = "counting leaves" if estimator == MATRIX else "numbering information sets"
    assert re.search(rf"ended before the first iteration \({what}: \d+ of \d+ parts in \d+ s\): allow", caplog.text)
    expected = Solver(KUHN, estimator, "rm+", tree="rules").run(3)
    solver.run(3)
    assert (solver.average_strategy() == expected.average_strategy()).all()


@interpreted
def test_a_target_needs_no_compiled_tree(monkeypatch):
    monkeypatch.delattr(choice, "compile_game")
    solver = Solver(KUHN, "external", tree="rules", seed=1).run(target_exploitability=0.3)
    assert solver.exploitability() <= 0.3


def test_without_memory_for_the_matrix(monkeypatch, caplog):
    expected = Solver(KUHN, TRAVERSAL, "rm+", tree="rules").run(6).average_strategy()
    monkeypatch.setattr(ImplicitTree, "bytes_left", 10)
    solver = Solver(KUHN, MATRIX, "rm+", tree="rules").run(6)
    assert solver.tree.matrix_words is None
    assert "the payoff matrix of 30 leaves" in caplog.text
    assert (solver.average_strategy() == expected).all()


@interpreted
def test_infosets_that_do_not_fit(monkeypatch):
    plan_memory = choice.plan_memory
    little = lambda *given, **costs: plan_memory(*given, **costs)._replace(max_infosets=9)  # noqa: E731
    monkeypatch.setattr(choice, "plan_memory", little)
    solver = Solver(KUHN, MATRIX, "rm+", tree="rules")
    with pytest.raises(
        BudgetError, match=r"information sets do not fit into memory=.* after 9 of them: raise the limit"
    ):
        solver.run(1)


def test_all_infosets_have_a_number_before_the_first_iteration():
    solver, stored = Solver(KUHN, MATRIX, "rm+", tree="rules"), mccfr_plus.compile_game(KUHN)
    assert solver.tables().shape == (1, stored.num_slots)
    assert solver.tree.num_infosets == stored.num_infosets
    assert solver.nash_conv() == pytest.approx(Solver(KUHN, MATRIX, "rm+").nash_conv(), abs=1e-12)


@interpreted
def test_going_on_from_a_policy():
    policy = Solver(KUHN, "external", "rm", tree="rules", seed=1).run(300).average_policy()
    solver = Solver(KUHN, MATRIX, "rm+", "last", tree="rules").set_strategy(policy)
    assert solver.nash_conv() == pytest.approx(mccfr_plus.nash_conv(KUHN, policy), abs=1e-12)
    with pytest.raises(PolicyError, match="a policy for leduc_poker"):
        solver.set_strategy(Solver(LEDUC, "outcome", tree="rules", seed=1).run(1).average_policy())


@interpreted
@pytest.mark.parametrize("minimizer", ["rm", pytest.param("ftrl(weights='kroer')", marks=slow)])
def test_balanced_sampling(minimizer):
    stored, solver = (Solver(KUHN, "balanced", minimizer, seed=1, tree=tree).run(50) for tree in ("compiled", "rules"))
    assert stored.nodes_touched == solver.nodes_touched
    expected = strategies(stored)
    for key, found in strategies(solver).items():
        assert found == pytest.approx(expected[key], abs=1e-12), key


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"estimator": "escher", "tree": "rules"}, ConfigError, "estimator='escher'.*, which needs stored histories"),
        ({"baseline": True, "tree": "rules"}, ConfigError, "a baseline, which needs stored histories"),
        ({"estimator": "escher"}, BudgetError, r"estimator='escher' needs the whole tree: .*billion nodes"),
    ],
)
def test_what_keeps_a_number_per_history_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        Solver("phantom_ttt", **options)


def test_games_that_do_not_fit_are_traversed_by_rules():
    assert Solver("phantom_ttt", MATRIX, memory=beside_this_process(1e9)).tree.kind == "rules"
    assert Solver(KUHN, MATRIX).tree.kind == "compiled"
