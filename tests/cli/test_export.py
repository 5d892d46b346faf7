"""`mccfr-plus export`: other programs can read the files, and nothing is overwritten."""

import csv
import io
import json

import numpy as np
import pyspiel
import pytest

import mccfr_plus
from mccfr_plus.cli import export


@pytest.fixture
def kuhn(tmp_path):
    tree, rng = mccfr_plus.compile_game("kuhn_poker"), np.random.default_rng(1)
    first = rng.random(tree.num_infosets)
    policy = mccfr_plus.TreePolicy(tree, np.stack([first, 1 - first], 1).ravel())
    mccfr_plus.save_policy(policy, tmp_path / "kuhn.npz")
    return policy, str(tmp_path / "kuhn.npz")


def rows_of(policy):
    columns = policy.to_table().columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*map(list, columns.values()), strict=True)]


def test_csv_and_json_on_standard_output(command, kuhn):
    policy, file = kuhn
    expected = rows_of(policy)
    found = command("export", "kuhn_poker", file)
    assert (found.code, found.err) == (0, "")
    texts = [{name: str(value) for name, value in row.items()} for row in expected]
    assert list(csv.DictReader(io.StringIO(found.out))) == texts
    assert json.loads(command("export", "kuhn_poker", file, "--format=json").out) == expected
    rows = list(csv.DictReader(io.StringIO(command("export", "tiny_hanabi", "uniform").out)))  # texts of several lines
    assert {row["information_state"] for row in rows} == set(mccfr_plus.compile_game("tiny_hanabi").info_states)


def test_files(command, kuhn, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    policy, file = kuhn
    files = {name: tmp_path / f"x.{name}" for name in ("csv", "json", "parquet")}
    for name, path in files.items():
        found = command("export", "kuhn_poker", file, f"--format={name}", f"--out={path}")
        assert found.out == f"wrote {path} (24 rows)\n"
    assert json.loads(files["json"].read_text(encoding="utf-8")) == rows_of(policy)
    for frame in (pandas.read_csv(files["csv"]), pandas.read_parquet(files["parquet"])):
        assert frame["probability"].tolist() == policy.strategy().tolist()
        assert frame["action_name"].tolist() == policy.to_table().action_name


def test_a_game_in_gambits_format(command, tmp_path):
    shown = command("export", "kuhn_poker", "--format=efg").out
    assert shown.startswith('EFG 2 R "kuhn_poker()" { "Player 0" "Player 1" }\n')
    assert mccfr_plus.compile_game(pyspiel.load_efg_game(shown)).num_nodes == 58
    found = command("export", "kuhn_poker", "--format=efg", f"--out={tmp_path}/kuhn.efg")
    assert "(58 histories)" in found.out
    assert (tmp_path / "kuhn.efg").read_text(encoding="utf-8") == shown


def test_bad_input(command, kuhn, tmp_path, monkeypatch):
    _, file = kuhn
    there = tmp_path / "there.csv"
    there.write_text("mine", encoding="utf-8")
    for flag, message in [
        (f"--out={there}", "already exists"),
        ("--format=parquet", "give --out=FILE"),
        ("--format=efg", "--format=efg takes no POLICY"),
    ]:
        command("export", "kuhn_poker", file, flag).assert_one_line_error(message)
    assert there.read_text(encoding="utf-8") == "mine"
    monkeypatch.setattr(export, "find_spec", lambda _: None)
    found = command("export", "kuhn_poker", file, "--format=parquet", f"--out={tmp_path}/x.parquet")
    found.assert_one_line_error("pip install 'mccfr_plus[export]'")
