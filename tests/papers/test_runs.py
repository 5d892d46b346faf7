"""Each kind of figure, run on a small setting."""

import farina2020
import gibson2012
import lanctot2009
import minimizers
import pytest
import rudolph2025

from mccfr_plus import compile_game
from mccfr_plus.experiments import Result
from mccfr_plus.experiments.algorithms import algorithm_of
from mccfr_plus.solver.config import MINIMIZERS


def test_lanctot(setting, monkeypatch, interpreted_loops):
    monkeypatch.setattr(lanctot2009, "GAMES", ("kuhn_poker",))
    monkeypatch.setattr(lanctot2009, "NAMES", {"kuhn_poker": "Kuhn"})
    monkeypatch.setitem(lanctot2009.FIGURE1, "small", {"all": (tuple(lanctot2009.ALGORITHMS), ("kuhn_poker",), 5e2, 2)})
    page = lanctot2009.figure1(setting, "figure1")
    assert len(page.findings) == 2 * len(lanctot2009.ALGORITHMS)
    assert [axes.get_title() for axes in page.figure.axes] == ["Kuhn"]
    monkeypatch.setattr(lanctot2009, "_NODES", 3e2)
    page = lanctot2009.epsilon(setting, "epsilon")
    assert page.findings[0].what == "Kuhn: epsilon 0.1, b1 + b2"
    assert len(page.figure.axes[0].lines[0].get_xdata()) == 5


def test_gibsons_curves_and_stacks(setting, monkeypatch, interpreted_loops):
    game = "bluff(dice1=2,dice2=1,faces=2)"
    monkeypatch.setitem(gibson2012.CURVES, ("figure3b", "small"), (game, 5e2, "A note."))
    monkeypatch.setitem(gibson2012.LINE_9, ("figure3b", "small"), (3e2, 3e2))
    monkeypatch.setitem(gibson2012.UNIFORM, game, 0.3)
    page = gibson2012.curve_figure(setting, "figure3b")
    curves = len(gibson2012.ALGORITHMS) + len(gibson2012.ALGORITHMS_OF_LINE_9)
    assert len(page.findings) == curves + len(gibson2012.OURS)
    assert page.figure.axes[0].lines[-1].get_label() == "uniform play"
    monkeypatch.setitem(gibson2012.STACKS, "small", ((4, 5), 3e2))
    page = gibson2012.stack_figure(setting, "figure2b")
    assert len(page.findings) == 2 * (len(gibson2012.WITHOUT_OUTCOME) + len(gibson2012.OURS) - 1)  # no rivals by line 9
    assert page.figure.axes[0].lines[0].get_xdata().tolist() == [4, 5]


@pytest.mark.parametrize(("name", "traversals"), [("figure3", 1), ("figure4", 100)])
def test_farina(setting, monkeypatch, interpreted_loops, name, traversals):
    monkeypatch.setattr(farina2020, "NAMES", {"kuhn_poker": "Kuhn"})
    monkeypatch.setattr(farina2020, "SEEDS", {name: {"small": (2, 2)}})
    monkeypatch.setattr(farina2020, "TRAVERSALS", most := 15 if traversals == 1 else 45)
    page = farina2020.figure(setting, name)
    # As many histories as traversals of the whole tree, not counting what the last iteration touches beyond.
    limit, curves = most * compile_game("kuhn_poker").num_nodes, Result.load(setting.folder / f"{name}.jsonl").curves
    assert len(curves) == 1 + 2 * len(farina2020.STEP_SIZES) == len(page.findings) - 2
    for curve in curves:
        assert limit <= curve.x()[-1] <= limit + 2 * traversals * 20  # no traversal in Kuhn poker is longer
    assert sum(line.get_alpha() is None for line in page.figure.axes[0].lines) == 3  # the best of each method


def test_rudolph(setting, monkeypatch):
    """Kuhn poker in the place of the benchmark's games: its value is -1/18."""
    game = rudolph2025.Benchmark(
        "Kuhn", -1 / 18, {"small": (rudolph2025.EXTERNAL,)}, {"small": (rudolph2025.FULL, 100)}
    )
    monkeypatch.setattr(rudolph2025, "GAMES", {"kuhn_poker": game})
    monkeypatch.setattr(rudolph2025, "SECONDS", {"small": 0.2})
    page = rudolph2025.benchmark(setting, "benchmark")
    *_, exploitability, found = page.findings  # of full iterations; before them, of external sampling
    assert len(page.findings) == 4
    assert float(exploitability.here) < 1e-4
    low, high = map(float, found.here.split(" to "))
    assert low <= -1 / 18 + 5e-5
    assert high >= -1 / 18 - 5e-5
    assert found.verdict.startswith("agrees within ")


@pytest.mark.parametrize("name", ["last", "external"])
def test_minimizers(setting, monkeypatch, name, interpreted_loops):
    form = minimizers.FORMS[name]._replace(iterations={"small": 30}, seeds={"small": 2})
    monkeypatch.setattr(minimizers, "GAMES", {"Kuhn": ("kuhn_poker", 1.0)})
    monkeypatch.setattr(minimizers, "OVERVIEW", ("Kuhn",))
    monkeypatch.setattr(minimizers, "FORMS", {name: form})
    monkeypatch.setattr(minimizers, "_MATCHERS", ("rm",))
    monkeypatch.setattr(minimizers, "_OTHERS", ())
    monkeypatch.setattr(minimizers, "_FULL_ONLY", ("mmd",))
    page = minimizers.table(setting, name)
    expected = {"rm", "hs_dcfr", "mmd"} if name == "last" else {"rm", "hs_dcfr", "prm+/schedule"}
    assert {finding.what for finding in page.findings} == expected
    assert {line.get_label() for line in page.figure.axes[0].lines} == expected
    assert page.details[-1].count("|") == len(expected) + 2


def test_every_minimizer_is_in_the_table():
    names = {name for form in minimizers.FORMS.values() for name in minimizers.algorithms_of(form, 10)}
    names = {name.partition("/")[0] for name in names}
    assert names == set(MINIMIZERS) - {"omd", "dcfr_pruning"}  # ftrl's iterates; for runs with pruning
    for text in [text for form in minimizers.FORMS.values() for text in minimizers.algorithms_of(form, 10).values()]:
        algorithm_of(text)
    assert len(minimizers.GAMES) == len({game for game, _ in minimizers.GAMES.values()}) == 18
