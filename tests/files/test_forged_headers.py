"""Headers of checkpoints that say anything: an error of one line, or a run that goes on; never another error."""

import sys
from pathlib import Path

import pytest

from mccfr_plus import CheckpointError, GameError, Solver
from mccfr_plus.cli.main import main

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))
import forging

SOLVE = ("solve", "kuhn_poker", "--quiet", "--seed=1", "--estimator=outcome", "--minimizer=rm", "--iterations=20")
NEURAL = (
    "solve", "kuhn_poker", "--quiet", "--seed=1", "--algorithm=deep_cfr", "--iterations=1",
    "--set", "traversals=5", "--set", "train_steps=2", "--set", "hidden_layers=(8,)",
)  # fmt: skip
RUNS = {
    "compiled": (*SOLVE, "--tree=compiled"),
    "lazy": (*SOLVE, "--tree=lazy", "--memory=4GB", "--bound_seconds=0"),
    "rules": (*SOLVE, "--tree=rules", "--memory=4GB", "--bound_seconds=0"),
    "neural": NEURAL,
}


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", RUNS)
def test_every_entry_may_be_anything(kind, stride, tmp_path, interpreted_loops, capsys):
    good, bad = tmp_path / "good", tmp_path / "bad"
    assert main([*RUNS[kind], f"--checkpoint={good}"]) == 0
    header, refused = forging.header_of(good), 0
    places = [place for place in forging.entries_of(header) if place[0] != "arrays" or len(place) == 1]
    forged = [(place, value) for place in places for value in forging.VALUES]
    forged = forged[::stride]  # no divisor of the number of values: each entry gets some of them
    capsys.readouterr()
    for place, value in forged:
        forging.with_header(good, bad, forging.with_entry(header, place, value))
        code, output = main([*RUNS[kind], "--resume", f"--checkpoint={bad}"]), capsys.readouterr()
        assert code in (0, 2), (place, value)
        if code == 2:
            refused += 1
            assert output.out == ""
            assert output.err.count("\n") == 1, (place, value)
            assert output.err.startswith("mccfr-plus: error: ")
    assert refused > len(forged) / 2


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("iterations", -1),
        ("iterations", None),
        ("nodes_touched", 10**30),
        ("seconds", float("nan")),
        ("seed", "text"),
        ("sizes", {"nodes": 1}),
        ("estimator", "outcome"),
        ("minimizer", {"spec": 1, "text": None}),
        ("batch", 1.5),
        ("keys", {}),
    ],
)
def test_the_error_says_which_entry(entry, value, tmp_path, interpreted_loops):
    path = tmp_path / "run"
    Solver("kuhn_poker", "outcome", "rm", seed=1).run(20).save_checkpoint(path)
    forging.with_header(path, path, forging.with_entry(forging.header_of(path), (entry,), value))
    with pytest.raises(CheckpointError, match=rf"run is damaged: {entry} in its header is"):
        Solver.from_checkpoint(path)


@pytest.mark.parametrize("header", [None, [], "text", 7, {}])
def test_a_header_may_be_no_object(header, tmp_path, interpreted_loops):
    path = tmp_path / "run"
    Solver("kuhn_poker", "outcome", "rm", seed=1).run(20).save_checkpoint(path)
    forging.with_header(path, path, header)
    with pytest.raises((CheckpointError, GameError), match="damaged"):
        Solver.from_checkpoint(path)


def test_compressed_members_are_refused(tmp_path, interpreted_loops):
    """They could unpack to more than the memory holds; the package writes none."""
    path = tmp_path / "run"
    Solver("kuhn_poker", "outcome", "rm", seed=1).run(20).save_checkpoint(path)
    forging.rewrite(path, path, {}, forging.zipfile.ZIP_DEFLATED)
    with pytest.raises(CheckpointError, match="damaged"):
        Solver.from_checkpoint(path)


def test_names_that_no_file_can_have(tmp_path, capsys):
    long = "x" * 300
    for line in (
        ["evaluate", "kuhn_poker", long],
        ["view", "kuhn_poker", long, "--out=page.html"],
        ["export", "kuhn_poker", long],
        ["play", "kuhn_poker", long],
        ["solve", "kuhn_poker", f"--checkpoint={long}", "--resume"],
        ["solve", "kuhn_poker", f"--policy_out={long}"],
        ["compare", "kuhn_poker", f"--out={long}", "--iterations=10"],
        ["reproduce", "lanctot2009", f"--out={long}"],
        ["stats", "kuhn_poker", f"--import={long}.py"],
        ["solve", "kuhn_poker", "--policy_out=a\0b"],
        ["evaluate", "kuhn_poker", "a\0b"],
    ):
        assert main(line) == 2, line
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.count("\n") == 1, output.err


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no process file system")
def test_paths_of_the_process_file_system(tmp_path, capsys):
    with open(tmp_path / "open", "wb") as file:
        for name in (f"/proc/self/fd/{file.fileno()}", f"/dev/fd/{file.fileno()}"):
            assert main(["solve", "kuhn_poker", "--iterations=10", f"--policy_out={name}"]) == 2
            assert "/proc/ holds no files" in capsys.readouterr().err
    assert (tmp_path / "open").read_bytes() == b""
