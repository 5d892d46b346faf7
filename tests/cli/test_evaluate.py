"""`mccfr-plus evaluate`: exact numbers, estimates beside them, and `--against`."""

import numpy as np
import pairs_game  # noqa: F401  (registers it)
import pyspiel
import pytest

import mccfr_plus
from mccfr_plus.solver import choice


@pytest.fixture(scope="module")
def kuhn_policy(tmp_path_factory):
    path = tmp_path_factory.mktemp("policies") / "kuhn.npz"
    mccfr_plus.save_policy(mccfr_plus.Solver("kuhn_poker", "full", "rm+").run(200).average_policy(), path)
    return str(path)


@pytest.fixture
def phantom_policy(tmp_path, interpreted_loops):
    path = tmp_path / "phantom.npz"
    solver = mccfr_plus.Solver("phantom_ttt", "outcome", tree="lazy", seed=1)
    mccfr_plus.save_policy(solver.run(50).average_policy(), path)
    return str(path)


@pytest.fixture
def small_memory(monkeypatch):
    """Makes trees of more than 50 histories too large to compile."""
    compile_game = choice.compile_game
    monkeypatch.setattr(choice, "compile_game", lambda *a, **o: compile_game(*a, **{**o, "max_nodes": 50}))


@pytest.mark.parametrize("game", ["leduc_poker", "kuhn_poker(players=3)"])
def test_uniform_policy_beside_openspiel(command, game):
    outcome = command("evaluate", game, "uniform", "--json")
    result, loaded = outcome.json, pyspiel.load_game(game)
    nash_conv = pyspiel.nash_conv(loaded, pyspiel.UniformRandomPolicy(loaded))
    assert result["kind"] == "exact"
    assert result["nash_conv"] == pytest.approx(nash_conv, abs=1e-10)
    assert result["exploitability"] == pytest.approx(nash_conv / loaded.num_players(), abs=1e-10)
    gains = np.subtract(result["best_response_values"], result["values"])
    for player, expected in enumerate(zip(result["values"], result["best_response_values"], gains, strict=True)):
        (line,) = (line for line in outcome.out.splitlines() if line.startswith(f"player {player} "))
        assert [float(cell) for cell in line.split()[2:]] == pytest.approx(expected, rel=1e-3)


@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation", "small_memory")
@pytest.mark.parametrize(("game", "options"), [("kuhn_poker", {"tree": "lazy"}), ("pairs_game", {"symmetry": True})])
def test_by_rules_where_the_tree_does_not_fit(command, tmp_path, game, options):
    policy = mccfr_plus.Solver(game, "outcome", seed=1, **options).run(20).average_policy()
    mccfr_plus.save_policy(policy, tmp_path / "policy.npz")
    outcome = command("evaluate", game, str(tmp_path / "policy.npz"), "--json")
    assert outcome.json["kind"] == "exact"
    assert outcome.json["nash_conv"] == pytest.approx(mccfr_plus.nash_conv(game, policy), abs=1e-12)
    histories = float(outcome.err.split("exact evaluation of ")[1].split(" ")[0].replace(",", ""))
    num_nodes = mccfr_plus.compile_game(game).num_nodes
    assert histories < num_nodes / 4 if "symmetry" in options else histories == num_nodes


@pytest.mark.parametrize("flags", [["--estimate", "--seconds=1"], ["--seconds=0.5"]])
def test_a_game_that_does_not_fit(command, phantom_policy, flags):
    outcome = command("evaluate", "phantom_ttt", phantom_policy, *flags, "--seed=1", "--json")
    result = outcome.json
    assert (outcome.code, result["kind"]) == (0, "estimates")
    kinds = [(row["quantity"], row["kind"]) for row in result["estimates"]]
    assert kinds.count(("exploitability", "lower bound")) <= 1  # a busy machine may leave no time for it
    assert any("no upper bound" in note for note in result["notes"])
    assert ("an exact evaluation would take at least " in outcome.err) == ("--estimate" not in flags)


def test_against_another_policy(command, kuhn_policy):
    outcome = command("evaluate", "kuhn_poker", kuhn_policy, "--against=uniform", "--json")
    exact = outcome.json["head_to_head"]
    tree = mccfr_plus.compile_game("kuhn_poker")
    first, second = mccfr_plus.load_policy(kuhn_policy, tree), mccfr_plus.TreePolicy(tree, tree.uniform_strategy())
    seats = [mccfr_plus.expected_values(tree, [first, second])[0], mccfr_plus.expected_values(tree, [second, first])[1]]
    assert [seat["value"] for seat in exact["by_seat"]] == pytest.approx(seats, abs=1e-12)
    assert exact["value"] == pytest.approx(np.mean(seats), abs=1e-12)
    assert (exact["kind"], exact["variance_reduction"]) == ("exact", None)
    assert "payoff per game" in outcome.out
    arguments = ("--against=uniform", "--estimate", "--seconds=1", "--seed=1", "--json")
    outcome = command("evaluate", "kuhn_poker", kuhn_policy, *arguments)
    played = outcome.json["head_to_head"]
    assert played["kind"] == "estimate"
    for row, right in zip([played, *played["by_seat"]], [exact, *exact["by_seat"]], strict=True):
        assert abs(row["value"] - right["value"]) < 5 * (row["high"] - row["low"]) / 2 / 1.96


def test_bad_files(command, kuhn_policy, phantom_policy, tmp_path):
    command("evaluate", "chess", f"{tmp_path}/none.npz").assert_one_line_error("there is no file")
    command("evaluate", "chess", phantom_policy).assert_one_line_error("phantom_ttt", "chess")
    bad = tmp_path / "bad.npz"
    with open(kuhn_policy, "rb") as file:
        bad.write_bytes(file.read()[:300])
    command("evaluate", "chess", str(bad)).assert_one_line_error("damaged")  # before the game is compiled
