"""The committed pages of the papers say what the committed records say."""

import json
import os
import re
import subprocess
import sys

import farina2020
import gibson2012
import lanctot2009
import minimizers
import numpy as np
import pytest
import rudolph2025
from common import PAGES, VERDICTS

import mccfr_plus
from mccfr_plus.experiments import Result

FIGURES = {
    ("lanctot2009", "figure1"): lanctot2009.figure1_findings,
    ("lanctot2009", "epsilon"): lanctot2009.epsilon_findings,
    ("gibson2012", "figure1a"): lambda curves: gibson2012.parameter_findings(curves, "epsilon"),
    ("gibson2012", "figure1b"): lambda curves: gibson2012.parameter_findings(curves, "tau"),
    ("gibson2012", "figure2a"): gibson2012.curve_findings,
    ("gibson2012", "figure2b"): gibson2012.stack_findings,
    ("gibson2012", "figure3a"): gibson2012.curve_findings,
    ("gibson2012", "figure3b"): gibson2012.curve_findings,
    ("farina2020", "figure3"): farina2020.figure_findings,
    ("farina2020", "figure4"): farina2020.figure_findings,
}
CLAIMS = {
    "lanctot2009": lanctot2009.claim_findings,
    "gibson2012": gibson2012.claim_findings,
    "farina2020": farina2020.claim_findings,
}

NAMES = {
    str(mccfr_plus.load_game(game)): benchmark.name
    for game, benchmark in rudolph2025.GAMES.items()
    if benchmark.name in ("PTTT", "DH3", "LD2D5F")
}


def table(paper, page):
    text = (PAGES / paper / f"{page}.md").read_text(encoding="utf-8")
    rows = text.partition("| | paper | here | verdict |\n|---|---|---|---|\n")[2].partition("\n\n")[0]
    return rows.splitlines()


def written(findings):
    return [f"| {' | '.join(finding)} |" for finding in findings]


@pytest.mark.parametrize(("paper", "figure"), FIGURES)
def test_a_figure_is_as_recorded(paper, figure):
    result = Result.load(PAGES / paper / f"{figure}.jsonl")
    assert table(paper, figure) == written(FIGURES[paper, figure](result.curves))


@pytest.mark.parametrize("paper", CLAIMS)
def test_claims_are_as_recorded(paper):
    figures = {name: Result.load(PAGES / paper / f"{name}.jsonl").curves for of, name in FIGURES if of == paper}
    findings = CLAIMS[paper](figures)
    assert table(paper, "claims") == written(findings)
    assert {finding.verdict for finding in findings} <= set(VERDICTS)


def test_the_overview_counts_the_verdicts():
    overview = (PAGES / "index.md").read_text(encoding="utf-8")
    for paper in CLAIMS:
        rows = table(paper, "claims")
        counts = [sum(row.endswith(f"| {verdict} |") for row in rows) for verdict in VERDICTS]
        (line,) = re.findall(rf"\| \[.*\]\({paper}/index.md#claim-by-claim\) \| (.*) \|", overview)
        assert line.split(" | ") == [str(count) for count in counts]


def test_a_script_writes_its_committed_page_again(tmp_path):
    pytest.importorskip("matplotlib")
    page, script = PAGES / "gibson2012" / "figure3a.md", PAGES.parents[1] / "papers" / "gibson2012.py"
    (tmp_path / "figure3a.jsonl").write_bytes(page.with_suffix(".jsonl").read_bytes())
    command = [sys.executable, str(script), f"--out={tmp_path}", "figure3a"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}  # which hides common.py
    subprocess.run(command, check=True, capture_output=True, timeout=300, env=environment)
    assert (tmp_path / "figure3a.md").read_text() == page.read_text()
    assert (tmp_path / "figure3a.png").stat().st_size > 20_000
    failed = subprocess.run([*command, "claims"], capture_output=True, text=True, timeout=300, env=environment)
    assert failed.returncode == 1
    assert "gibson2012: error: cannot read" in failed.stderr


# --- exact exploitabilities (benchmarks/exact.py) ---


def exact_records():
    return json.loads((PAGES / "rudolph2025" / "exact.json").read_text(encoding="utf-8"))


def test_exact_exploitabilities_follow_from_recorded_best_responses():
    for record in exact_records():
        gains = np.subtract(record["best_response_values"], record["values"])
        assert record["exploitability"] == pytest.approx(gains.sum() / 2, abs=1e-12)
        assert (gains > -1e-12).all()
        assert sum(record["values"]) == pytest.approx(0.0, abs=1e-12)
    assert {record["game"] for record in exact_records()} == set(NAMES)


def test_exploitabilities_of_neural_solvers_are_as_recorded():
    text, rows = (PAGES.parent / "how-to" / "neural.md").read_text(encoding="utf-8"), {}
    for record in exact_records():
        is_here = record["algorithm"] in ("DREAM", "ESCHER", "NFSP", "external")
        if is_here and 1e7 <= record["histories"] < 1.1e7:
            cells = NAMES[record["game"]], record["algorithm"], ", ".join(record["settings"]) or "defaults"
            rows.setdefault(cells, []).append(record)
    assert {name for name, *_ in rows} == set(NAMES.values())
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
    text = (PAGES.parent / "how-to" / "large-games.md").read_text(encoding="utf-8")
    for game, name in NAMES.items():
        for algorithm in algorithms:
            cells = dict.fromkeys(marks, "-")
            for record in exact_records():
                is_of_row = (record["game"], record["algorithm"], record["seed"]) == (game, algorithm, 1)
                if is_of_row and record["histories"] >= marks[0]:
                    mark = max(mark for mark in marks if mark <= record["histories"])
                    cells[mark] = f"{record['exploitability']:.2g} ({record['cpu_seconds']:.3g})"
            is_run = (name, algorithms[0]) != ("DH3", "CFR")  # needs too much memory
            assert (f"| {name} | {algorithm} | {' | '.join(cells.values())} |" in text) == is_run


# --- the table of minimizers ---

TABLES = (PAGES.parent / "benchmarks" / "which-algorithm.md").read_text(encoding="utf-8")
ENDS = {name: minimizers.ends_of(Result.load(minimizers.FOLDER / f"{name}.jsonl").curves) for name in minimizers.FORMS}


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_summary_of_minimizers_is_as_recorded():
    rows = {name: {row.what: row.here for row in minimizers.summary_of(ends)} for name, ends in ENDS.items()}
    names = {name for found in rows.values() for name in found}
    for line in TABLES.partition("times the best |\n| `")[2].partition("\n\n")[0].splitlines():
        name, *shown = cells_of(line)
        name = name.strip("`")
        names.remove(name)
        for found, rank, ratio in zip(rows.values(), shown[::2], shown[1::2], strict=True):
            assert found.get(name, "") == (f"mean rank {rank}, {ratio} times the best" if rank else "")
    assert not names


@pytest.mark.parametrize("name", minimizers.FORMS)
def test_exploitabilities_of_minimizers_are_as_recorded(name):
    assert set(ENDS[name]) == set(minimizers.GAMES)
    header, *lines = (cells_of(line) for line in minimizers.lines_of(ENDS[name]) if "---" not in line)
    titles = {"average": "Exact gradients, average", "last": "Exact gradients, last", "external": "External sampling"}
    text = TABLES.partition(f"**{titles[name]}")[2].split("\n\n")[1]
    chosen, _, *shown = (cells_of(line) for line in text.splitlines())
    columns = [header.index(minimizer) for minimizer in chosen]
    assert shown == [[line[column] for column in columns] for line in lines]
