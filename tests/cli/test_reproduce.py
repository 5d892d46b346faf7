"""`mccfr-plus reproduce`: both of Lanctot's items on small settings, what is written, what is refused."""

import pytest

from mccfr_plus.cli.main import INTERRUPTED
from mccfr_plus.experiments.papers import PAPERS, item
from mccfr_plus.experiments.papers.lanctot2009 import figure1, table1
from mccfr_plus.experiments.run_all import DONE


def test_table_1(command, tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "PRINTED_SECONDS", {"one_card_poker": (28.0, 99e-6, 46e-6)})
    monkeypatch.setattr(table1, "_SECONDS", {"small": 0.01})
    out = tmp_path / "lanctot"
    found = command("reproduce", "lanctot2009", "--item=table1", f"--out={out}", "--json", "--quiet")
    assert found.code == 0, found.err
    rows = {row["what"]: row for row in found.json["items"]["table1"]}
    assert rows["one_card_poker: histories"]["here"] == "2,246,001"
    assert rows["one_card_poker: histories"]["verdict"] == "a tenth of the printed figure"
    assert rows["one_card_poker: M"]["here"] == "44.72 / 31.62"
    assert len(rows) == 4 + 3
    assert "times as fast" in rows["one_card_poker: vanilla CFR, seconds per iteration"]["verdict"]
    page = (out / "table1.md").read_text(encoding="utf-8")
    assert "| one_card_poker: infosets | 2 K | 2,000 | agrees as printed |" in page


GAME = "bid_goofspiel(num_cards=3)"


@pytest.fixture
def small_figure(monkeypatch):
    """Returns a function that makes figure 1 one of a small game, with as many histories as given by algorithm."""

    def use(lengths, points=None, seeds=(1,)):
        runs = enumerate(lengths.items())
        parts = [figure1.Runs(str(i), (name,), (GAME,), nodes, points, seeds) for i, (name, nodes) in runs]
        monkeypatch.setattr(figure1, "FIGURE", {"small": parts})
        monkeypatch.setattr(figure1, "GAMES", (GAME,))
        monkeypatch.setattr(figure1, "NAMES", {GAME: "Goofspiel 3"})

    return use


def test_figure_1(command, serial_runs, blank_pictures, tmp_path, small_figure):
    pytest.importorskip("matplotlib")
    algorithms = figure1.ALGORITHMS
    small_figure({name: 1e5 if name.startswith("full") else 2e4 for name in algorithms}, seeds=(1, 2))
    arguments = ["reproduce", "lanctot2009", "--item=figure1", f"--out={tmp_path}/out", "--json", "--processes=1"]
    found = command(*arguments)
    assert found.code == 0, found.err
    rows = found.json["items"]["figure1"]
    assert len(rows) == 2 * len(algorithms)
    below = rows[len(algorithms) :]
    assert all(float(row["here"].replace(",", "")) < 1e5 for row in below)  # all are below 0.5 in so small a game
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "figure1.jsonl", "figure1.md", "figure1.png", "figure1.svg", "figure1-runs",
    }  # fmt: skip
    assert "figure1.png" in (tmp_path / "out" / "figure1.md").read_text(encoding="utf-8")
    again = command(*arguments, "--quiet")  # nothing is run again
    assert again.json["items"]["figure1"] == rows


def test_claims_need_the_figures(command, tmp_path):
    found = command("reproduce", "farina2020", "--item=claims", f"--out={tmp_path}/out", "--quiet")
    found.assert_one_line_error("cannot read", "figure3.jsonl")


def test_a_figure_that_is_interrupted_goes_on(
    command, serial_runs, blank_pictures, tmp_path, monkeypatch, small_figure
):
    pytest.importorskip("matplotlib")
    small_figure(dict.fromkeys(figure1.ALGORITHMS, 2e4), 3)
    arguments = ["reproduce", "lanctot2009", "--item=figure1", f"--out={tmp_path}/out", "--processes=1"]
    run_all, ended = item.run_all, []

    def interrupted(*given):
        for event in run_all(*given):
            yield event
            ended.append(event.outcome)
            if ended.count(DONE) == 2:
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(item, "run_all", interrupted)
        found = command(*arguments)
    assert found.code == INTERRUPTED
    assert "what was recorded is kept" in found.err
    assert not (tmp_path / "out" / "figure1.md").exists()
    ended_ones = (path for path in (tmp_path / "out").rglob("*.jsonl") if '{"end"' in path.read_text(encoding="utf-8"))
    records = {path: path.read_bytes() for path in ended_ones}
    assert len(records) >= 2
    assert command(*arguments, "--quiet").code == 0
    assert (tmp_path / "out" / "figure1.md").exists()
    assert {path: path.read_bytes() for path in records} == records  # nothing is run again


def test_help_lists_all_papers_and_items(command):
    found = command("reproduce", "--help")
    for paper in PAPERS.values():
        assert paper.name in found.out
        for listed in paper.items:
            assert f"    {listed.name} " in found.out


def test_what_is_refused(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command("reproduce", "lanctot2008").assert_one_line_error("is no paper that can be reproduced", "lanctot2009")
    command("reproduce", "lanctot2009", "--item=table9").assert_one_line_error("no item 'table9'", "table1, figure1")
    command("reproduce", "lanctot2009", "--scale=large").assert_one_line_error("scale")
    command("reproduce").assert_one_line_error("PAPER is missing")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    command("reproduce", "lanctot2009", "--out=file").assert_one_line_error("cannot write file")
