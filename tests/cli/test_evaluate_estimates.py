"""`mccfr-plus evaluate` where exact numbers are out of reach, and `--against`."""

import numpy as np
import pytest

import mccfr_plus


@pytest.fixture(scope="module")
def phantom_policy(tmp_path_factory):
    path = tmp_path_factory.mktemp("policies") / "phantom.npz"
    solver = mccfr_plus.Solver("phantom_ttt", "outcome", tree="lazy", seed=1)
    mccfr_plus.save_policy(solver.run(500).average_policy(), path)
    return str(path)


@pytest.fixture(scope="module")
def kuhn_policy(tmp_path_factory):
    path = tmp_path_factory.mktemp("policies") / "kuhn.npz"
    mccfr_plus.save_policy(mccfr_plus.Solver("kuhn_poker", "full", "rm+").run(200).average_policy(), path)
    return str(path)


def found(result, quantity, kind, player=None, by=None):
    return [
        row
        for row in result["estimates"]
        if (row["quantity"], row["kind"], row["player"]) == (quantity, kind, player) and by in (None, row["by"])
    ]


def standard_error(row):
    return (row["high"] - row["low"]) / 2 / 1.96


def test_estimates_agree_with_exact_numbers(command):
    exact = command("evaluate", "kuhn_poker", "uniform", "--json").json
    assert exact["kind"] == "exact"
    assert exact["estimates"] == []
    outcome = command("evaluate", "kuhn_poker", "uniform", "--estimate", "--seconds=1.5", "--seed=1", "--json")
    result = outcome.json
    assert result["kind"] == "estimates"
    assert result["exploitability"] is None
    for player in range(2):
        (value,) = found(result, "value", "estimate", player)
        assert abs(value["value"] - exact["values"][player]) < 5 * standard_error(value)
        best = exact["best_response_values"][player]
        for row in found(result, "best response", "lower bound", player):
            assert row["value"] - 5 * standard_error(row) < best
        (upper,) = found(result, "best response", "upper bound", player)
        assert upper["value"] + 5 * standard_error(upper) > best
    lower = found(result, "exploitability", "lower bound")
    assert {row["by"] for row in lower} == {"local best response", "sampled best response"}
    assert all(row["value"] - 5 * standard_error(row) < exact["exploitability"] for row in lower)
    # Kuhn poker has one own decision that matters after the first: looking one ahead finds nearly all there is to win.
    (local,) = found(result, "exploitability", "lower bound", by="local best response")
    assert local["value"] + 5 * standard_error(local) > 0.4
    (upper,) = found(result, "exploitability", "upper bound")
    assert upper["value"] + 5 * standard_error(upper) > exact["exploitability"]
    assert "lower bound" in outcome.out
    assert "95 % from" in outcome.out


def test_a_game_that_does_not_fit(command, phantom_policy):
    arguments = ("--estimate", "--seconds=1", "--seed=1", "--confidence=0.9", "--json")  # exact takes minutes
    outcome = command("evaluate", "phantom_ttt", phantom_policy, *arguments)
    assert outcome.code == 0
    result = outcome.json
    assert result["kind"] == "estimates"
    assert len(found(result, "exploitability", "lower bound")) == 1
    assert not found(result, "exploitability", "upper bound")
    assert any("no upper bound" in note for note in result["notes"])
    assert all(row["confidence"] == 0.9 for row in result["estimates"])
    assert "90 % from" in outcome.out


def test_a_game_too_long_for_looking_ahead(command):
    outcome = command("evaluate", "battleship", "uniform", "--seconds=0.5", "--json")
    assert outcome.code == 0
    assert "battleship() has about" in outcome.err  # why there is nothing exact
    assert {row["quantity"] for row in outcome.json["estimates"]} == {"value"}
    assert any("no local best response" in note for note in outcome.json["notes"])


def test_players_who_forget(command):
    outcome = command("evaluate", "liars_dice_ir", "uniform", "--estimate", "--seconds=1", "--json")
    assert {row["quantity"] for row in outcome.json["estimates"]} == {"value"}
    assert "imperfect recall" in outcome.out


def test_saved_policy_of_a_compiled_tree(command, kuhn_policy):
    result = command("evaluate", "kuhn_poker", kuhn_policy, "--estimate", "--seconds=1", "--json").json
    uniform = command("evaluate", "kuhn_poker", "uniform", "--estimate", "--seconds=1", "--json").json
    best = [found(r, "exploitability", "lower bound", by="local best response")[0] for r in (result, uniform)]
    rooms = [5 * standard_error(each) for each in best]  # of as many games as the machine plays in a second
    assert best[0]["value"] - rooms[0] < 0.1 < best[1]["value"] + rooms[1]


def test_against_is_exact_where_the_tree_fits(command, kuhn_policy):
    outcome = command("evaluate", "kuhn_poker", kuhn_policy, "--against=uniform", "--json")
    played = outcome.json["head_to_head"]
    tree = mccfr_plus.compile_game("kuhn_poker")
    first, second = mccfr_plus.load_policy(kuhn_policy, tree), mccfr_plus.TreePolicy(tree, tree.uniform_strategy())
    seats = [
        mccfr_plus.expected_values(tree, [first, second])[0],
        mccfr_plus.expected_values(tree, [second, first])[1],
    ]
    assert [seat["value"] for seat in played["by_seat"]] == pytest.approx(seats, abs=1e-12)
    assert played["value"] == pytest.approx(np.mean(seats), abs=1e-12)
    assert played["kind"] == "exact"
    assert played["variance_reduction"] is None
    assert "won per game" in outcome.out


def test_against_is_played_elsewhere(command, kuhn_policy):
    exact = command("evaluate", "kuhn_poker", kuhn_policy, "--against=uniform", "--json").json["head_to_head"]
    arguments = ("--against=uniform", "--estimate", "--seconds=1", "--seed=1", "--json")
    outcome = command("evaluate", "kuhn_poker", kuhn_policy, *arguments)
    played = outcome.json["head_to_head"]
    assert played["kind"] == "estimate"
    assert abs(played["value"] - exact["value"]) < 5 * standard_error(played)
    for seat, right in zip(played["by_seat"], exact["by_seat"], strict=True):
        assert abs(seat["value"] - right["value"]) < 5 * standard_error(seat)
    assert played["variance_reduction"] > 2
    assert "control variates reduce variance" in outcome.out


def test_two_files_of_a_large_game(command, phantom_policy):
    arguments = (phantom_policy, f"--against={phantom_policy}", "--estimate", "--seconds=1", "--json")
    result = command("evaluate", "phantom_ttt", *arguments).json
    assert result["head_to_head"]["against"] == phantom_policy
    assert result["head_to_head"]["samples"] >= 8


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("chess", "uniform", "--against=none.npz"), ("there is no file none.npz",)),
        (("kuhn_poker", "uniform", "--estimate", "--tree=compiled"), ("--tree=compiled", "exclude each other")),
        (("kuhn_poker", "uniform", "--seconds=0"), ("seconds", "positive")),
        (("kuhn_poker", "uniform", "--confidence=0.3"), ("confidence=0.3", "0.5")),
        (("phantom_ttt", "uniform", "--tree=compiled", "--max_nodes=1000"), ("more than the budget",)),
        (("chess", "uniform", "--tree=compiled", "--max_nodes=1000"), ("10^",)),
        (("no_such_game", "uniform", "--estimate"), ("no game of OpenSpiel",)),
    ],
)
def test_bad_input(command, arguments, parts):
    command("evaluate", *arguments).assert_one_line_error(*parts)


def test_policy_of_another_large_game(command, phantom_policy):
    command("evaluate", "chess", phantom_policy).assert_one_line_error("phantom_ttt", "chess")


def test_damaged_keyed_policy(command, phantom_policy, tmp_path):
    with np.load(phantom_policy) as archive:
        fields = {name: archive[name] for name in archive.files}
    fields["probabilities"] = fields["probabilities"] * 2
    np.savez(tmp_path / "bad.npz", **fields)
    command("evaluate", "phantom_ttt", str(tmp_path / "bad.npz")).assert_one_line_error("damaged")
