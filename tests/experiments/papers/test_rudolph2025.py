"""The benchmark of Rudolph et al. 2025: values of games between exact limits."""

from mccfr_plus.experiments.papers import rudolph2025


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
    exploitability, found = result.rows
    assert float(exploitability.here) < 0.05
    low, high = map(float, found.here.split(" to "))
    assert low <= -1 / 18 + 5e-5
    assert high >= -1 / 18 - 5e-5
    assert high - low < 0.1
    assert found.verdict == "agrees"
    assert all(picture.exists() for picture in result.pictures)
    _, again = judged(0.3).rows  # of the same records
    assert (again.here, again.verdict) == (found.here, "differs")
