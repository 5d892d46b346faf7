"""The report and the viewer's page, opened in a browser without a network: what is drawn, and what its switches do."""

import dataclasses
import re

import numpy as np
import pytest
from browser import run_script, screenshot

from mccfr_plus import Solver, compile_game, display, save_policy
from mccfr_plus.errors import ConfigError, RecordError
from mccfr_plus.evaluation.infoset_values import infoset_values
from mccfr_plus.experiments import page
from mccfr_plus.experiments.comparison import Comparison, Directory
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.plot import COLOURS
from mccfr_plus.experiments.record import Point, Record
from mccfr_plus.experiments.report import write_report
from mccfr_plus.experiments.strategy_table import strategy_view

pytest.importorskip("bokeh")

ALGORITHMS = ("external", "outcome", "openspiel:external")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("comparison") / "out"
    comparison = Comparison(("kuhn_poker", "leduc_poker"), ALGORITHMS, (1, 2, 3), Limit("nodes", 1e5))
    policies = {game: Solver(game, "external", seed=1).run(50).average_policy() for game in comparison.games}
    with Directory(path, comparison) as opened:
        for run in opened.runs():
            run = dataclasses.replace(run, points=tuple(10.0**k for k in range(1, 6)))
            about = {"command": "mccfr-plus compare <x> & y", "versions": {"python": "3"}, "machine": {"cores": 2}}
            record = Record(run.record, run.header({**about, "started": "now"}))
            for k in range(1, 6):
                level = (1 + 3 * ALGORITHMS.index(run.algorithm)) * (1 + 0.2 * run.seed) / 2**k
                record.add(Point(10.0**k, 3 * 10**k, 10**k, 0.01 * 10**k, level, (0.1, -0.1)))
            record.end()
            if run.keeps_policy and run.algorithm == "external":
                save_policy(policies[run.game], run.policy)
    write_report(path)
    return path


def test_the_report_is_one_file_without_a_network(directory):
    content = (directory / "report.html").read_text(encoding="utf-8")
    assert len(content.encode()) < 5e6
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.?https?:", content)
    assert "&amp;lt;x&amp;gt; &amp;amp; y" in content or "\\u003cx" in content or "&lt;x&gt; &amp; y" in content


def test_what_the_report_draws(directory, tmp_path):
    picture = screenshot(directory / "report.html", tmp_path)
    for number in range(len(ALGORITHMS)):
        colour = [int(COLOURS[number][i : i + 2], 16) for i in (1, 3, 5)]
        drawn = (np.abs(picture - colour).max(axis=2) < 12).sum()
        assert drawn > 600, f"{ALGORITHMS[number]}: {drawn} pixels of its colour"
    assert (picture.max(axis=2) < 90).sum() > 5000  # text


def test_switches_of_the_report(directory, tmp_path):
    found = run_script(
        directory / "report.html",
        tmp_path,
        """
        const of = type => models.filter(model => model.type === type);
        const x = () => of("GlyphRenderer").map(drawn => [...drawn.data_source.data.x]);
        const before = x();
        const unit = models.find(model => model.name === "unit");
        unit.value = "seconds";
        await wait(300);
        const legend = of("Legend")[0];
        return {
            before, after: x(), figures: of("Figure").length, policy: legend.click_policy,
            labels: legend.items.map(item => item.label.value),
            axis: of("LogAxis").map(axis => axis.axis_label),
            loading: performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd,
        };
        """,
    )
    assert "error" not in found, found
    assert found["figures"] == 2
    assert found["policy"] == "hide"
    assert found["labels"] == list(ALGORITHMS)
    assert all(x == [10.0**k for k in range(1, 6)] for x in found["before"])
    assert all(x == pytest.approx([0.01 * 10**k for k in range(1, 6)]) for x in found["after"])
    assert any("seconds" in (label or "") for label in found["axis"])
    assert not any("histories" in (label or "") for label in found["axis"])


def test_a_strategy_can_be_searched(tmp_path):
    tree = compile_game("leduc_poker")
    strategy = Solver(tree, "external", seed=1).run(100).average_strategy()
    path = tmp_path / "leduc.html"
    page.write_page(path, page.page_of(strategy_view(tree, strategy), "Leduc"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["leduc.html"]
    found = run_script(
        path,
        tmp_path,
        """
        const named = name => models.find(model => model.name === name);
        const source = models.find(model => model.type === "ColumnDataSource");
        const filter = models.find(model => model.type === "IndexFilter");
        const all = filter.indices.length;
        named("search").value_input = "private: 3 round 2";
        await wait(100);
        const words = [...filter.indices];
        named("player").value = "1";
        await wait(100);
        const both = [...filter.indices], count = named("count").text;
        named("search").value_input = "";
        named("player").value = "all";
        await wait(100);
        source.selected.indices = [7];
        await wait(100);
        return {all, words, both, count, again: filter.indices.length, detail: named("detail").text,
                states: source.data.state, p: source.data.p[7]};
        """,
    )
    assert "error" not in found, found
    states = found["states"]
    assert states == list(tree.info_states)
    words = [i for i, text in enumerate(states) if all(w in text.lower() for w in ["private:", "3", "round", "2"])]
    of_second = [i for i in words if tree.arrays.infosets[i]["player"] == 1]
    assert found["all"] == found["again"] == tree.num_infosets
    assert found["words"] == words
    assert found["both"] == of_second
    assert 0 < len(of_second) < len(words) < tree.num_infosets
    assert found["count"] == f"{len(of_second)} of {tree.num_infosets} information states"
    values, slots = infoset_values(tree, strategy), tree.slots(7)
    assert found["p"] == [round(1000 * p) for p in strategy[slots]]
    assert states[7].replace("<", "&lt;") in found["detail"]
    for name in (tree.game.action_to_string(0, action) for action in tree.legal_actions(7)):
        assert f"<td>{name}</td>" in found["detail"]
    for number in (*values.action_values[slots], *values.regrets[slots], values.reach[7]):
        shown = [float(text) for text in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", found["detail"])]
        assert any(np.isclose(number, text, rtol=1e-3, atol=1e-9) for text in shown), (number, found["detail"])


def test_too_large_a_strategy_is_cut_to_what_is_reached_most():
    tree = compile_game("leduc_poker")
    strategy = tree.uniform_strategy()
    layout = strategy_view(tree, strategy, most_slots=100)
    (source,) = layout.select({"type": pytest.importorskip("bokeh.models").ColumnDataSource})
    shown = source.data["state"]
    reach = infoset_values(tree, strategy).reach
    kept = [tree.infoset(text) for text in shown]
    assert sum(tree.arrays.infosets["num_actions"][kept]) <= 100
    assert reach[kept].min() >= np.delete(reach, kept).max() - 1e-12
    assert "the most often reached of 936" in next(iter(layout.select({"name": "count"}))).text


def test_a_page_that_cannot_be_written(tmp_path):
    with pytest.raises(RecordError, match="cannot write"):
        page.write_page(tmp_path / "none" / "page.html", "x")


def test_without_bokeh(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bokeh", None)
    with pytest.raises(ConfigError, match=r"pip install 'mccfr_plus\[plot\]'"):
        display.require_library("bokeh")
