"""The report and the viewer's page, opened in a browser without a network: what is drawn, and what its switches do."""

import dataclasses
import re

import numpy as np
import pytest
from browser import run_script

from mccfr_plus import Solver, compile_game, save_policy
from mccfr_plus.evaluation.readable import items_of
from mccfr_plus.evaluation.strategy_page import page_of_strategies, table_of_tree, write_page
from mccfr_plus.experiments import Result
from mccfr_plus.experiments.comparison import Limit, comparison_of, directory_of
from mccfr_plus.experiments.report import write_report
from mccfr_plus.experiments.runs import Point, Record
from mccfr_plus.policies.table import infoset_values

pytestmark = pytest.mark.integration

pytest.importorskip("bokeh")

ALGORITHMS = ("external", "outcome", "openspiel:external")
RECORDED = ALGORITHMS[:2]  # with a policy


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("comparison") / "out"
    comparison = comparison_of(["kuhn_poker", "leduc_poker"], ALGORITHMS, 3, Limit("nodes", 1e5))
    policies = {game: Solver(game, "external", seed=1).run(50).average_policy() for game in comparison.games}
    with directory_of(comparison, path) as runs:
        for run in runs:
            run = dataclasses.replace(run, points=tuple(10.0**k for k in range(1, 6)))
            about = {"command": "mccfr-plus compare <x> & y", "versions": {"python": "3"}, "machine": {"cores": 2}}
            record = Record(run.record, run.header({**about, "started": "now"}))
            for k in range(1, 6):
                level = (1 + 3 * ALGORITHMS.index(run.algorithm)) * (1 + 0.2 * run.seed) / 2**k
                record.add(Point(10.0**k, 3 * 10**k, 10**k, 0.01 * 10**k, level, (0.1, -0.1)))
            record.end()
            if run.keeps_policy and run.algorithm in RECORDED:
                save_policy(policies[run.game], run.policy)
    write_report(Result.load(path))
    return path


def test_the_report_is_one_file_without_a_network(directory):
    content = (directory / "report.html").read_text(encoding="utf-8")
    assert len(content.encode()) < 5e6
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.?https?:", content)
    assert "&amp;lt;x&amp;gt; &amp;amp; y" in content or "\\u003cx" in content or "&lt;x&gt; &amp; y" in content


def test_switches_of_the_report(directory, tmp_path):
    found = run_script(
        directory / "report.html",
        tmp_path,
        """
        const of = type => models.filter(model => model.type === type);
        const x = () => of("GlyphRenderer").map(drawn => [...drawn.data_source.data.x]);
        const before = x(), state = () => document.querySelector("#rows .state").textContent;
        find("unit").value = "nodes";
        find("unit").dispatchEvent(new Event("change"));
        await wait(300);
        const legend = of("Legend")[0], policies = [...find("policy").options].map(option => option.textContent);
        const first = state();
        find("policy").value = 1;
        find("policy").dispatchEvent(new Event("change"));
        return {
            before, after: x(), figures: of("Figure").length, policy: legend.click_policy, first, policies,
            labels: legend.items.map(item => item.label.value), second: state(),
            markers: of("Scatter").map(scatter => scatter.marker.value),
            colours: of("Scatter").map(scatter => scatter.line_color.value),
            axis: of("LogAxis").map(axis => axis.axis_label),
            ticks: of("FixedTicker").flatMap(ticker => [...ticker.ticks]),
        };
        """,
    )
    assert "error" not in found, found
    assert found["figures"] == 2
    assert found["policy"] == "hide"
    assert found["labels"] == list(ALGORITHMS)
    assert len(set(found["markers"])) == len(set(found["colours"])) == len(ALGORITHMS)
    assert all(x == pytest.approx([0.01 * 10**k for k in range(1, 6)]) for x in found["before"])
    assert all(x == [10.0**k for k in range(1, 6)] for x in found["after"])
    assert any("histories" in (label or "") for label in found["axis"])
    assert not any("seconds" in (label or "") for label in found["axis"])
    assert {0.1, 0.2, 0.5, 1.0} <= set(found["ticks"])  # levels span less than two decades: the lower one has labels
    assert found["policies"] == [
        f"{game}: {name}, seed 1" for game in ("kuhn_poker", "leduc_poker") for name in RECORDED
    ]
    assert found["first"] == found["second"] != ""


def test_information_states_come_by_reach_and_can_be_searched(tmp_path):
    tree, path = compile_game("leduc_poker"), tmp_path / "leduc.html"
    strategy = Solver(tree, "external", seed=1).run(100).average_strategy()
    write_page(path, page_of_strategies("Leduc", "", [table_of_tree("external", tree, strategy)]))
    assert list(tmp_path.iterdir()) == [path]
    found = run_script(
        path,
        tmp_path,
        """
        const all = selector => [...document.querySelectorAll(selector)];
        const texts = selector => all(selector).map(each => each.textContent);
        const before = texts("#rows .state"), open = texts("details[open] .state"), detail = texts("details[open] td");
        const bar = all("details[open] .bar span").map(part => [part.title, part.style.background]);
        find("more").click();
        const after = texts("#rows .state"), reach = texts("#rows .row .number:nth-child(3)");
        const set = (id, value) => { find(id).value = value; find(id).dispatchEvent(new Event("input")); };
        const states = () => {
            while (!find("more").className) find("more").click();
            return texts("#rows .state");
        };
        set("search", '"card: k" POT: 6');
        const words = states();
        set("player", "1");
        const both = states(), count = find("count").textContent;
        set("search", "no such words");
        const none = states();
        set("search", ""); set("player", "all");
        return {before, open, detail, bar, after, reach, words, both, count, none, all: states().length,
                total: find("count").textContent, legend: texts("#legend > span"),
                colours: all("#legend i").map(sample => sample.style.background)};
        """,
    )
    assert "error" not in found, found
    values = infoset_values(tree, strategy)
    order = np.argsort(-values.reach.round(12), kind="stable")
    assert (len(found["before"]), len(found["after"])) == (100, 200)
    shown_as = [
        "; ".join(f"{label}: {' '.join(words)}" for label, words in items_of(tree.game, text))
        for text in tree.info_states
    ]
    assert found["after"] == [shown_as[i] for i in order[:200]]
    assert [float(text) for text in found["reach"]] == pytest.approx(values.reach[order[:200]], rel=1e-3)
    assert found["open"] == [shown_as[order[0]]]
    slots = tree.slots(int(order[0]))
    names = [tree.game.action_to_string(0, action) for action in tree.legal_actions(int(order[0]))]
    shown = np.array(found["detail"]).reshape(len(names), 5)  # name, bar, probability, value, regret
    assert shown[:, 0].tolist() == names
    columns = (strategy[slots], values.action_values[slots], values.regrets[slots])
    for column, expected in zip(shown.T[2:], columns, strict=True):
        assert [float(text) for text in column] == pytest.approx(expected, rel=1e-3, abs=6e-4)
    colours = dict(zip(found["legend"], found["colours"], strict=True))
    assert set(colours) == {"Fold", "Call", "Raise"}
    assert len(set(colours.values())) == 3
    assert [colours[title.rpartition(" ")[0]] for title, _ in found["bar"]] == [colour for _, colour in found["bar"]]
    terms = (r"\bcard: k", r"\bpot:", r"\b6(?!\d)")  # a phrase and two words; 6 does not find 16
    words = [i for i in order if all(re.search(term, shown_as[i], re.IGNORECASE) for term in terms)]
    both = [i for i in words if tree.arrays.infosets[i]["player"] == 1]
    assert found["words"] == [shown_as[i] for i in words]
    assert found["both"] == [shown_as[i] for i in both]
    assert found["none"] == []
    assert found["all"] == tree.num_infosets > len(words) > len(both) > 0
    assert found["count"] == f"{len(both)} of {tree.num_infosets} information states"
    assert found["total"] == f"{tree.num_infosets} information states"
