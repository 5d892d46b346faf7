"""Each kind of figure, run on a small setting."""

import farina2020
import gibson2012
import lanctot2009
import minimizers
import pytest
import rudolph2025
from common import SCALES

from mccfr_plus import Solver, compile_game, load_game
from mccfr_plus.experiments import Result
from mccfr_plus.experiments.algorithm import algorithm_of
from mccfr_plus.solver import registry
from mccfr_plus.solver.choice import suits_rules


def test_lanctot(setting, monkeypatch):
    monkeypatch.setattr(lanctot2009, "GAMES", ("kuhn_poker",))
    monkeypatch.setattr(lanctot2009, "NAMES", {"kuhn_poker": "Kuhn"})
    monkeypatch.setitem(lanctot2009.FIGURE1, "small", {"all": (tuple(lanctot2009.ALGORITHMS), ("kuhn_poker",), 2e3, 3)})
    page = lanctot2009.figure1(setting, "figure1")
    assert len(page.findings) == 2 * len(lanctot2009.ALGORITHMS)
    assert [axes.get_title() for axes in page.figure.axes] == ["Kuhn"]
    monkeypatch.setattr(lanctot2009, "_NODES", 1e3)
    page = lanctot2009.epsilon(setting, "epsilon")
    assert page.findings[0].what == "Kuhn: epsilon 0.1, b1 + b2"
    assert len(page.figure.axes[0].lines[0].get_xdata()) == 4


@pytest.mark.parametrize("scale", SCALES)
def test_lanctots_algorithms_run_once_on_each_game(scale):
    runs = [
        (name, game) for algorithms, games, *_ in lanctot2009.FIGURE1[scale].values() for name in algorithms
        for game in games
    ]  # fmt: skip
    assert sorted(runs) == sorted((name, game) for name in lanctot2009.ALGORITHMS for game in lanctot2009.GAMES)


def test_a_size_that_differs_is_told():
    tree = compile_game("one_card_poker(deck_size=5)")
    m_values = tuple(round(m, 2) for m in tree.statistics().m_values)
    assert lanctot2009._size("game", tree, "histories", "-", tree.num_nodes, "exact").verdict == "exact"
    assert lanctot2009._size("game", tree, "M", "-", m_values, "exact").verdict == "exact"
    assert "differs from" in lanctot2009._size("game", tree, "histories", "-", tree.num_nodes + 1, "exact").verdict


@pytest.mark.parametrize("name", ["figure1a", "figure1b"])
def test_gibsons_parameters(setting, monkeypatch, name):
    monkeypatch.setitem(gibson2012.SIZE, "small", (8, 1e4))
    monkeypatch.setattr(gibson2012, "VALUES", {"epsilon": (0.05, 1.0), "tau": (1.0, 1e3)})
    monkeypatch.setattr(gibson2012, "BETAS", {"epsilon": (1e3,), "tau": (1e3,)})
    page = gibson2012.parameter_figure(setting, name)
    values = [float(finding.here.split()[0]) for finding in page.findings[:2]]
    assert len(page.findings) == 2 + 1
    assert values[0] != values[1]
    assert all(0 < value < 8 * 500 for value in values)  # mbb/g of stacks of 8
    assert page.figure.axes[0].lines[0].get_ydata() == pytest.approx(values, rel=1e-3)


def test_gibsons_curves_and_stacks(setting, monkeypatch):
    game = "bluff(dice1=2,dice2=1,faces=2)"
    monkeypatch.setitem(gibson2012.CURVES, ("figure3b", "small"), (game, 1e4, "A note."))
    monkeypatch.setitem(gibson2012.UNIFORM, game, 0.3)
    page = gibson2012.curve_figure(setting, "figure3b")
    assert len(page.findings) == len(gibson2012.ALGORITHMS) + len(gibson2012.OURS)
    assert page.figure.axes[0].lines[-1].get_label() == "uniform play"
    monkeypatch.setitem(gibson2012.STACKS, "small", ((4, 5), 5e3))
    page = gibson2012.stack_figure(setting, "figure2b")
    assert len(page.findings) == 2 * (len(gibson2012.WITHOUT_OUTCOME) + len(gibson2012.OURS))
    assert page.figure.axes[0].lines[0].get_xdata().tolist() == [4, 5]


@pytest.mark.parametrize(("name", "traversals"), [("figure3", 1), ("figure4", 100)])
def test_farina(setting, monkeypatch, name, traversals):
    monkeypatch.setattr(farina2020, "NAMES", {"kuhn_poker": "Kuhn"})
    monkeypatch.setattr(farina2020, "SEEDS", {name: {"small": (2, 2)}})
    monkeypatch.setattr(farina2020, "TRAVERSALS", 200)
    page = farina2020.figure(setting, name)
    # As many histories as traversals of the whole tree, not counting what the last iteration touches beyond.
    limit, curves = 200 * compile_game("kuhn_poker").num_nodes, Result.load(setting.folder / f"{name}.jsonl").curves
    assert len(curves) == 1 + 2 * len(farina2020.STEP_SIZES) == len(page.findings) - 2
    for curve in curves:
        assert limit <= curve.x()[-1] <= limit + 2 * traversals * 20  # no traversal in Kuhn poker is longer
    assert sum(line.get_alpha() is None for line in page.figure.axes[0].lines) == 3  # the best of each method


def test_farinas_battleship_has_the_printed_size_and_its_figures_end():
    tree = compile_game(farina2020.BATTLESHIP)
    statistics = tree.statistics()
    assert (statistics.histories, *statistics.sequences) == (732_607, 73_130, 253_940)
    solver = Solver(tree, "external", "ftrl(eta=10.0)", alternating=False, seed=3).run(2000)
    assert (solver.nodes_touched, solver.nash_conv()) == (5_451_663, pytest.approx(0.42366741185508844, rel=1e-12))


def test_ftrl_and_omd_are_the_same_with_a_constant_step_size_only():
    ends = [
        Solver("kuhn_poker", "external", rule, alternating=False, seed=1).run(200).nash_conv()
        for rule in ("ftrl(eta=10.0)", "omd(eta=10.0)", "omd(eta=10.0,decay=0.5)")
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)
    assert ends[2] != pytest.approx(ends[0], rel=1e-2)


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


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.66663, 0.66695, "agrees within 0.00025"),
        (0.6, 0.66666, "agrees within 0.067"),  # 0.6667 is a rounded number
        (0.6, 0.6666, "differs by at least 0.0001"),
    ],
)
def test_rudolphs_verdicts(low, high, expected):
    assert rudolph2025.verdict(0.6667, low, high) == expected


@pytest.mark.parametrize("scale", SCALES)
def test_rudolphs_algorithms_suit_the_rules(scale):
    for options in rudolph2025.runs_of(scale).values():
        for text in options["algorithms"].values():
            assert suits_rules(load_game(options["games"]), algorithm_of(text).config)


@pytest.mark.parametrize("name", ["last", "external"])
def test_minimizers(setting, monkeypatch, name):
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
    assert names == set(registry.MINIMIZERS) - {"omd", "dcfr_pruning"}  # ftrl's iterates; for runs with pruning
    for text in [text for form in minimizers.FORMS.values() for text in minimizers.algorithms_of(form, 10).values()]:
        algorithm_of(text)
    assert len(minimizers.GAMES) == len({game for game, _ in minimizers.GAMES.values()}) == 18
