"""The comparison with OpenSpiel: that both sides run what the table says. Nothing is asserted about speed."""

import importlib
import json
from pathlib import Path

import pytest

from mccfr_plus.cli.main import main
from mccfr_plus.errors import ConfigError
from mccfr_plus.experiments import benchmark
from mccfr_plus.trees import compile_game


@pytest.mark.parametrize("algorithm", sorted(benchmark.ALGORITHMS))
@pytest.mark.parametrize("game", ["kuhn_poker", "matrix_rps", "kuhn_poker(players=3)"])
def test_each_algorithm_is_measured(game, algorithm):
    (row,) = benchmark.compare([game], [algorithm], rounds=1, seconds=1e-4)
    assert (row.game, row.algorithm, row.rounds) == (game, algorithm, 1)
    assert row.ratio == pytest.approx(row.ours / row.openspiel)


def test_ratio_is_the_median_of_paired_ratios(monkeypatch):
    # Five rounds in which both sides slow down together, and one side once hangs.
    seconds = iter([1.0, 1.0, 2.0, 4.0, 4.0, 8.0, 1.0, 2.0, 2.0, 100.0, 3.0, 6.0])
    monkeypatch.setattr(benchmark, "_time", lambda runs, iterations: next(seconds))
    row = benchmark._measure("game", "algorithm", lambda n: None, lambda n: None, rounds=5, seconds=1.0)
    assert (row.ratio, row.ratio_min, row.ratio_max) == (2.0, 2.0, 50.0)
    assert row.ours == 0.5


def test_measures_take_the_time_asked_for(monkeypatch):
    monkeypatch.setattr(benchmark, "_time", lambda runs, iterations: iterations * 1e-3)
    assert benchmark._calibrated(lambda iterations: None, 0.02) == 20


def test_unknown_algorithm():
    with pytest.raises(ConfigError, match="external, outcome"):
        benchmark.compare(["kuhn_poker"], ["fast"])


def test_openspiel_gets_the_turn_based_game():
    tree = compile_game(benchmark.GAMES[-1])
    assert str(tree.game).startswith("turn_based_simultaneous_game(game=goofspiel(")


def test_command(capsys):
    assert main(["benchmark", "--games=kuhn_poker", "--algorithms=cfr,external", "--seconds=0.001", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["unit"] == "iterations per second"
    assert [(row["game"], row["algorithm"]) for row in result["rows"]] == [
        ("kuhn_poker", "cfr"),
        ("kuhn_poker", "external"),
    ]
    for row in result["rows"]:
        assert row["ratio_min"] <= row["ratio"] <= row["ratio_max"]
    assert result["failed"] == []


@pytest.mark.parametrize("algorithm", ["cfr", "exploitability"])
def test_a_game_that_openspiel_cannot_play(capsys, monkeypatch, algorithm):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    monkeypatch.delattr(importlib.import_module("coin_toss").CoinToss, "make_py_observer")
    arguments = ["benchmark", "--games=coin_toss,kuhn_poker", f"--algorithms={algorithm}", "--seconds=0.001", "--json"]
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    result = json.loads(out.splitlines()[-1])
    assert [row["game"] for row in result["rows"]] == ["kuhn_poker"]
    (failed,) = result["failed"]
    assert f"{algorithm} fails on coin_toss(): OpenSpiel raised AttributeError: 'CoinToss' object" in failed
    assert f"mccfr-plus: error: 1 of 2 measurements failed: {failed}\n" in err
