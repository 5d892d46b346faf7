"""A run that must end keeps its result: the command writes it, the solver has it, and the message says so."""

import pytest
from lazy_games import Fault

from mccfr_plus import Solver, load_policy
from mccfr_plus.cli import solve
from mccfr_plus.errors import BudgetError

FAULTY = "python_faulty(length=4)"
OUTCOME = "outcome(update_all_players=True)"  # an iteration is one gradient: nothing is left of one that fails


@pytest.fixture(autouse=True)
def no_fault(monkeypatch, interpreted_loops):
    monkeypatch.setattr(solve, "BOUND_SECONDS", 0.2)
    yield
    Fault.set("", 0)


@pytest.mark.parametrize("method", ["returns", "legal_actions", "information_state_string"])
def test_the_command_writes_the_policy_before_the_game_failed(command, tmp_path, method):
    path = tmp_path / "policy.npz"
    Fault.set(method, 60, ZeroDivisionError("on purpose"))
    run = ["solve", FAULTY, f"--estimator={OUTCOME}", "--tree=lazy", "--seed=1", "--iterations=1000", "--json"]
    outcome = command(*run, f"--policy_out={path}")
    done = outcome.json["iterations"]
    assert outcome.code == 2
    assert 0 < done < 1000
    assert f"on purpose. The average policy after {done:,} iterations is kept." in outcome.err
    assert outcome.json["stopped"] in outcome.err
    assert "(ended by an error)" in outcome.out
    expected = Solver(FAULTY, OUTCOME, seed=1, tree="lazy").run(done).average_policy()
    loaded, state = load_policy(path), expected.game.new_initial_state().child(0)
    assert loaded.action_probabilities(state) == expected.action_probabilities(state)


def test_an_evaluation_that_fails_keeps_the_run(command, monkeypatch, tmp_path):
    def raising(*_):
        raise BudgetError("too large to be evaluated.")

    monkeypatch.setattr(Solver, "evaluate", raising)
    run = ["solve", "python_faulty(length=2)", "--estimator=external", "--tree=lazy", "--seed=1", "--iterations=50"]
    outcome = command(*run, "--eval_every=0.001", f"--log={tmp_path / 'log'}", f"--policy_out={tmp_path / 'p.npz'}")
    assert outcome.code == 2
    assert "too large to be evaluated. The average policy after" in outcome.err
    assert load_policy(tmp_path / "p.npz").num_infosets > 0


def test_a_failure_in_the_first_iteration_has_no_result(command, tmp_path):
    Fault.set("returns", 1, ZeroDivisionError("on purpose"))
    path = tmp_path / "policy.npz"
    outcome = command("solve", FAULTY, "--estimator=outcome", "--tree=lazy", "--iterations=9", f"--policy_out={path}")
    outcome.assert_one_line_error("on purpose")
    assert "kept" not in outcome.err
    assert not path.exists()
