"""The table of minimizers: ranks by hand, and its forms on a small setting."""

import json
from pathlib import Path

import pytest
from mccfr_plus.experiments.papers import minimizers

from mccfr_plus.solver import registry


def test_ranks_and_ratios_by_hand():
    # a: ranks 1, 2.5 and 1; ratios 1, 4 and 1. b: 2, 1, 2.5; 10, 1, 1. c: 3, 2.5, 2.5 ...; below the floor is alike.
    ends = {
        "first": {"a": 1.0, "b": 10.0, "c": 100.0},
        "second": {"a": 0.4, "b": 0.1, "c": 0.4},
        "third": {"a": 1e-15, "b": 0.0, "c": 1e-9},
    }
    rows = minimizers.summary_of(ends)
    assert [(row.what, row.here, row.verdict) for row in rows] == [
        ("b", "mean rank 1.5, 2.15 times the best", "best on 2 of 3 games"),
        ("a", "mean rank 1.7, 1.59 times the best", "best on 2 of 3 games"),
        ("c", "mean rank 2.8, 73.7 times the best", "best on 0 of 3 games"),
    ]
    lines = minimizers.lines_of(ends)
    assert lines[2:] == [
        "| first | **1** | 10 | 1e+02 |",
        "| second | 0.4 | **0.1** | 0.4 |",
        "| third | **1e-15** | **0** | 1e-09 |",
    ]


def test_every_minimizer_is_in_the_table():
    names = set()
    for form in minimizers.FORMS.values():
        names |= {name.partition("/")[0] for name in minimizers.algorithms_of(form, 10).values()}
    assert names == set(registry.MINIMIZERS) - {"omd", "dcfr_pruning"}  # ftrl's iterates; for runs with pruning
    assert len(minimizers.GAMES) == len({game for game, _ in minimizers.GAMES.values()}) == 18


@pytest.mark.parametrize("name", ["last", "external"])
def test_a_form(setting, monkeypatch, name):
    form = minimizers.FORMS[name]._replace(iterations={"small": 30}, seeds={"small": 2})
    monkeypatch.setattr(minimizers, "GAMES", {"Kuhn": ("kuhn_poker", 1.0)})
    monkeypatch.setattr(minimizers, "FORMS", {name: form})
    monkeypatch.setattr(minimizers, "_MATCHERS", ("rm",))
    monkeypatch.setattr(minimizers, "_OTHERS", ())
    monkeypatch.setattr(minimizers, "_FULL_ONLY", ("mmd",))
    result = minimizers.table(setting, name)
    expected = {"rm", "hs_dcfr", "mmd"} if name == "last" else {"rm", "hs_dcfr", "prm+/schedule"}
    assert {row.what for row in result.rows} == expected
    assert [path.name for path in result.pictures] == [f"{name}-kuhn-iterations.png", f"{name}-kuhn-cpu_seconds.png"]
    assert all(path.exists() for path in result.pictures)
    lines = [json.loads(line) for line in (setting.folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(line["game"], line["minimizer"]) for line in lines} == {("Kuhn", minimizer) for minimizer in expected}
    assert all(line["points"][-1][0] == 30 and line["points"][-1][1] > 0 for line in lines)
    assert result.details[-1].count("|") == len(expected) + 2


# --- the committed table ---

DOCS = Path(__file__).parents[3] / "docs" / "benchmarks"
PAGE = (DOCS / "which-algorithm.md").read_text(encoding="utf-8")
ENDS = {name: minimizers.read_ends(DOCS / "minimizers" / f"{name}.jsonl") for name in minimizers.FORMS}


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_summary_is_as_recorded():
    rows = {name: {row.what: row.here for row in minimizers.summary_of(ends)} for name, ends in ENDS.items()}
    names = {name for found in rows.values() for name in found}
    for line in PAGE.partition("times the best |\n| `")[2].partition("\n\n")[0].splitlines():
        name, *written = cells_of(line)
        name = name.strip("`")
        names.remove(name)
        for found, rank, ratio in zip(rows.values(), written[::2], written[1::2], strict=True):
            assert found.get(name, "") == (f"mean rank {rank}, {ratio} times the best" if rank else "")
    assert not names


@pytest.mark.parametrize("name", minimizers.FORMS)
def test_exploitabilities_are_as_recorded(name):
    assert set(ENDS[name]) == set(minimizers.GAMES)
    header, *lines = (cells_of(line) for line in minimizers.lines_of(ENDS[name]) if "---" not in line)
    titles = {"average": "Exact gradients, average", "last": "Exact gradients, last", "external": "External sampling"}
    text = PAGE.partition(f"**{titles[name]}")[2].split("\n\n")[1]
    chosen, _, *written = (cells_of(line) for line in text.splitlines())
    columns = [header.index(minimizer) for minimizer in chosen]
    assert written == [[line[column] for column in columns] for line in lines]


def test_records_are_small():
    assert sum(path.stat().st_size for path in (DOCS / "minimizers").glob("*.jsonl")) < 200_000
