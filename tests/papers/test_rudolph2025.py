"""The benchmark of Rudolph et al. 2025: values of games between exact limits."""

import pytest
from mccfr_plus.experiments.papers import rudolph2025

from mccfr_plus import load_game
from mccfr_plus.experiments.algorithm import algorithm_of
from mccfr_plus.solver.tree_choice import suits_rules


def test_the_published_value_is_judged(setting, monkeypatch):
    """Kuhn poker in the place of the benchmark's games: its value is -1/18."""

    def judged(value):
        game = rudolph2025.Benchmark(
            "Kuhn", value, {"small": (rudolph2025.EXTERNAL,)}, {"small": (rudolph2025.FULL, 100)}
        )
        monkeypatch.setattr(rudolph2025, "GAMES", {"kuhn_poker": game})
        return rudolph2025.exact_exploitability(setting, "benchmark")

    monkeypatch.setattr(rudolph2025, "SECONDS", {"small": 0.3})
    result = judged(-1 / 18)
    *_, exploitability, found = result.rows  # of full iterations; before them, of external sampling
    assert len(result.rows) == 4
    assert "PCFR+" in found.what
    assert float(exploitability.here) < 1e-4
    low, high = map(float, found.here.split(" to "))
    assert low <= -1 / 18 + 5e-5
    assert high >= -1 / 18 - 5e-5
    assert found.verdict.startswith("agrees within ")
    assert float(found.verdict.split()[-1]) < 1e-3
    assert all(picture.exists() for picture in result.pictures)
    *_, again = judged(0.3).rows  # of the same records
    assert again.here == found.here
    assert again.verdict == "differs by at least 0.36"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.66663, 0.66695, "agrees within 0.00025"),
        (0.6, 0.66666, "agrees within 0.067"),  # 0.6667 is a rounded number
        (0.6, 0.6666, "differs by at least 0.0001"),
        (0.667, 0.7, "differs by at least 0.0003"),
    ],
)
def test_verdicts(low, high, expected):
    assert rudolph2025.verdict(0.6667, low, high) == expected


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_every_run_has_a_name_and_rules(scale):
    comparisons = rudolph2025.comparisons_of(scale)
    assert {game for each in comparisons.values() for game in each.games} <= set(rudolph2025.GAMES)
    for comparison in comparisons.values():
        assert set(comparison.algorithms) <= set(rudolph2025.LABELS)
        config = algorithm_of(comparison.algorithms[0]).config
        assert suits_rules(load_game(comparison.games[0]), config)
    assert {each.name for each in rudolph2025.GAMES.values()} == {"PTTT", "DH3", "LD2D5F", "APTTT", "ADH3"}
