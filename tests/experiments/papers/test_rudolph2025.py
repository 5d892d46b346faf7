"""The benchmark of Rudolph et al. 2025: values of games between exact limits."""

import contextlib

import pytest

from mccfr_plus.experiments.comparison import about_here
from mccfr_plus.experiments.papers import rudolph2025
from mccfr_plus.experiments.papers.item import Setting


@pytest.mark.parametrize(("value", "verdict"), [(-1 / 18, "agrees"), (0.3, "differs")])
def test_the_published_value_is_judged(tmp_path, monkeypatch, value, verdict):
    """Kuhn poker in the place of the benchmark's games: its value is -1/18."""
    game = rudolph2025.Benchmark("Kuhn", value, {"small": (rudolph2025.EXTERNAL,)})
    monkeypatch.setattr(rudolph2025, "SECONDS", {"small": 0.3})
    monkeypatch.setattr(rudolph2025, "GAMES", {"kuhn_poker": game})

    class View:
        def show(self, event):
            pass

    setting = Setting("small", tmp_path, about_here("test"), 1, lambda _: contextlib.nullcontext(View()))
    result = rudolph2025.exact_exploitability(setting, "benchmark")
    exploitability, found = result.rows
    assert float(exploitability.here) < 0.05
    low, high = map(float, found.here.split(" to "))
    assert low <= -1 / 18 + 5e-5
    assert high >= -1 / 18 - 5e-5
    assert high - low < 0.1
    assert found.verdict == verdict
    assert all(picture.exists() for picture in result.pictures)
