"""The committed pages of the papers say what the committed records say."""

import json
import subprocess
import sys
from pathlib import Path

import common
import farina2020
import gibson2012_claims
import lanctot2009_claims
import lecture15
import numpy as np
import pytest
import rudolph2025
from common import PAGES, VERDICTS

import mccfr_plus
from mccfr_plus.experiments import Result

# Of each paper: the figures that its page of claims needs, and what computes the findings from their curves.
TABLE1 = common.load_rows(PAGES / "lanctot2009" / "table1.json")[1]
PAPERS = {
    "lanctot2009": (["figure1", "epsilon"], lambda figures: lanctot2009_claims.claim_findings(figures, TABLE1)),
    "gibson2012": (
        [f"figure{name}" for name in ("1a", "1b", "2a", "2b", "3a", "3b")],
        gibson2012_claims.claim_findings,
    ),
    "farina2020": (["figure3", "figure4", "footnote2", "larger_steps"], farina2020.claim_findings),
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


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_are_as_recorded(paper):
    names, findings_of = PAPERS[paper]
    findings = findings_of({name: Result.load(PAGES / paper / f"{name}.jsonl").curves for name in names})
    assert table(paper, "claims") == [f"| {' | '.join(finding)} |" for finding in findings]
    verdicts = [finding.verdict for finding in findings]
    assert set(verdicts) <= set(VERDICTS)
    counts = " | ".join(str(verdicts.count(each)) for each in VERDICTS)
    assert f"{paper}/index.md#claim-by-claim) | {counts} |" in (PAGES / "index.md").read_text(encoding="utf-8")


def test_references_to_the_papers_exist():
    tool = Path(__file__).parents[2] / "tools" / "paper_references.py"
    done = subprocess.run([sys.executable, tool], capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if "<-" in line)
    assert "mccfr_plus/bounds/regret.py:" in done.stdout


def exact_records():
    return json.loads((PAGES / "rudolph2025" / "exact.json").read_text(encoding="utf-8"))


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


def test_lecture_is_as_recorded():
    rows = {form: lecture15.load(PAGES / "lecture15", form)[1] for form in lecture15.FORMS}
    assert table("lecture15", "claims") == [f"| {' | '.join(finding)} |" for finding in lecture15.claim_findings(rows)]


def test_not_all_entries_are_read_and_few_actions_are_played(interpreted_loops):
    game = mccfr_plus.load_game("silent_duel(moments=40)")
    matrix = np.array([[lecture15.entry(i, j, 40) for j in range(40)] for i in range(40)])
    assert np.array_equal(matrix, -matrix.T)
    assert mccfr_plus.compile_game(game).statistics().histories == 1 + 40 + 1600
    row = lecture15.measure("sparse", 40, 0.5, 1)
    assert row["support"] <= row["iterations"] == row["entries"] / 80
    assert row["nodes"] == row["iterations"] * (3 * 40 + 3)
