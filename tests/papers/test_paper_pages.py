"""The committed pages of the papers say what the committed records say."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from mccfr_plus.experiments.papers import farina2020, gibson2012, lanctot2009, rudolph2025
from mccfr_plus.experiments.papers.judging import VERDICTS
from mccfr_plus.experiments.papers.records import read_curves

import mccfr_plus

PAPERS = Path(__file__).parents[3] / "docs" / "papers"

# What makes the rows of a figure from its curves.
FIGURES = {
    ("lanctot2009", "figure1"): lanctot2009.figure1.rows,
    ("lanctot2009", "epsilon"): lanctot2009.epsilon.rows,
    ("gibson2012", "figure1a"): lambda curves: gibson2012.parameters.rows(curves, "epsilon"),
    ("gibson2012", "figure1b"): lambda curves: gibson2012.parameters.rows(curves, "tau"),
    ("gibson2012", "figure2a"): gibson2012.curves.rows,
    ("gibson2012", "figure2b"): gibson2012.stacks.rows,
    ("gibson2012", "figure3a"): gibson2012.curves.rows,
    ("gibson2012", "figure3b"): gibson2012.curves.rows,
    ("farina2020", "figure3"): farina2020.rows,
    ("farina2020", "figure4"): farina2020.rows,
}
CLAIMS = {
    "lanctot2009": lanctot2009.claims.rows,
    "gibson2012": gibson2012.claims.rows,
    "farina2020": farina2020.claim_rows,
}

NAMES = {
    str(mccfr_plus.load_game(game)): benchmark.name
    for game, benchmark in rudolph2025.GAMES.items()
    if benchmark.name in ("PTTT", "DH3", "LD2D5F")
}


def table(paper, page):
    text = (PAPERS / paper / f"{page}.md").read_text(encoding="utf-8")
    rows = text.partition("| | paper | here | verdict |\n|---|---|---|---|\n")[2].partition("\n\n")[0]
    return rows.splitlines()


def written(rows):
    return [f"| {row.what} | {row.paper} | {row.here} | {row.verdict} |" for row in rows]


@pytest.mark.parametrize(("paper", "figure"), FIGURES)
def test_a_figure_is_as_recorded(paper, figure):
    record = PAPERS / paper / f"{figure}.jsonl"
    assert table(paper, figure) == written(FIGURES[paper, figure](read_curves(record)))
    assert record.stat().st_size < 500_000


@pytest.mark.parametrize("paper", CLAIMS)
def test_claims_are_as_recorded(paper):
    figures = {name: read_curves(PAPERS / paper / f"{name}.jsonl") for of, name in FIGURES if of == paper}
    rows = CLAIMS[paper](figures)
    assert table(paper, "claims") == written(rows)
    assert {row.verdict for row in rows} <= set(VERDICTS)


def exact_records():
    return json.loads((PAPERS / "rudolph2025" / "exact.json").read_text(encoding="utf-8"))


def test_exact_exploitabilities_follow_from_recorded_best_responses():
    for record in exact_records():
        gains = np.subtract(record["best_response_values"], record["values"])
        assert record["exploitability"] == pytest.approx(gains.sum() / 2, abs=1e-12)
        assert (gains > -1e-12).all()
        assert sum(record["values"]) == pytest.approx(0.0, abs=1e-12)
    assert {record["game"] for record in exact_records()} == set(NAMES)


def test_exploitabilities_beside_those_of_neural_solvers_are_as_recorded():
    text, rows = (PAPERS.parent / "how-to" / "neural.md").read_text(encoding="utf-8"), {}
    for record in exact_records():
        is_here = record["algorithm"] in ("DREAM", "ESCHER", "NFSP", "external")
        if is_here and 1e7 <= record["histories"] < 1.1e7:
            cells = NAMES[record["game"]], record["algorithm"], ", ".join(record["settings"]) or "defaults"
            rows.setdefault(cells, []).append(record)
    assert {name for name, *_ in rows} == set(NAMES.values())
    for algorithm in ("DREAM", "ESCHER", "NFSP"):
        assert all(len(rows[name, algorithm, "defaults"]) == 3 for name in NAMES.values())
    for cells, found in rows.items():
        found_there = ", ".join(f"{each['exploitability']:.3f}" for each in found)
        counts = f"{found[0]['iterations']:,} | {found[0]['cpu_seconds']:.3g} | {found_there}"
        assert f"| {' | '.join(cells)} | {counts} |" in text


@pytest.mark.parametrize(
    ("algorithms", "marks"),
    [
        (("external", "outcome", "average_strategy"), (1e6, 1e7, 1e8, 1e9)),
        (("CFR", "CFR+", "PCFR+"), (1e10, 3e10, 1e11, 3e11, 1e12)),
    ],
)
def test_exploitabilities_of_tabular_solvers_are_as_recorded(algorithms, marks):
    text = (PAPERS.parent / "how-to" / "large-games.md").read_text(encoding="utf-8")
    for game, name in NAMES.items():
        for algorithm in algorithms:
            cells = dict.fromkeys(marks, "-")
            for record in exact_records():
                is_of_row = (record["game"], record["algorithm"], record["seed"]) == (game, algorithm, 1)
                if is_of_row and record["histories"] >= marks[0]:
                    mark = max(mark for mark in marks if mark <= record["histories"])
                    cells[mark] = f"{record['exploitability']:.2g} ({record['cpu_seconds']:.3g})"
            is_run = (name, algorithms[0]) != ("DH3", "CFR")  # needs too much memory
            assert any(cell != "-" for cell in cells.values()) == is_run
            assert (f"| {name} | {algorithm} | {' | '.join(cells.values())} |" in text) == is_run


def test_the_overview_counts_the_verdicts():
    overview = (PAPERS / "index.md").read_text(encoding="utf-8")
    for paper in CLAIMS:
        rows = table(paper, "claims")
        counts = [sum(row.endswith(f"| {verdict} |") for row in rows) for verdict in VERDICTS]
        (line,) = re.findall(rf"\| \[.*\]\({paper}/index.md#claim-by-claim\) \| (.*) \|", overview)
        assert line.split(" | ") == [str(count) for count in counts]
