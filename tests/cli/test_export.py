"""`mccfr-plus export`: what is written can be read, and nothing is overwritten."""

import csv
import io
import json

import numpy as np
import pyspiel
import pytest

import mccfr_plus


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


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_files(command, kuhn, tmp_path, monkeypatch, library):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pytest.importorskip(library)
    policy, file = kuhn
    files = {name: tmp_path / f"x.{name}" for name in ("csv", "json", "parquet")}
    with monkeypatch.context() as patch:
        if library == "polars":
            patch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
        for name, path in files.items():
            found = command("export", "kuhn_poker", file, f"--format={name}", f"--out={path}")
            assert found.out == f"wrote {path} (24 rows)\n"
    assert json.loads(files["json"].read_text(encoding="utf-8")) == rows_of(policy)
    for frame in (pandas.read_csv(files["csv"]), pandas.read_parquet(files["parquet"])):
        assert frame["probability"].tolist() == policy.strategy().tolist()
        assert frame["action_name"].tolist() == policy.to_table().action_name


def test_policies_without_a_tree_and_uniform(command, tmp_path, interpreted_loops):
    solver = mccfr_plus.Solver("leduc_poker", "external", tree="lazy", keys="text", seed=1)
    policy, file = solver.run(3).average_policy(), tmp_path / "leduc.npz"
    mccfr_plus.save_policy(policy, file)
    assert json.loads(command("export", "leduc_poker", str(file), "--format=json").out) == rows_of(policy)
    uniform = json.loads(command("export", "leduc_poker", "uniform", "--format=json").out)
    assert len(uniform) == mccfr_plus.compile_game("leduc_poker").num_slots
    assert {row["probability"] for row in uniform} == {1 / 2, 1 / 3}


def test_texts_of_several_lines_are_kept(command):
    rows = list(csv.DictReader(io.StringIO(command("export", "tiny_hanabi", "uniform").out)))
    assert {row["information_state"] for row in rows} == set(mccfr_plus.compile_game("tiny_hanabi").info_states)


def test_what_is_refused(command, kuhn, tmp_path, monkeypatch):
    _, file = kuhn
    there = tmp_path / "there.csv"
    there.write_text("mine", encoding="utf-8")
    found = command("export", "kuhn_poker", file, f"--out={there}")
    found.assert_one_line_error("there.csv exists already: delete it, or give another name; it is not overwritten")
    assert there.read_text(encoding="utf-8") == "mine"
    command("export", "kuhn_poker", file, f"--out={tmp_path}/no/x.csv").assert_one_line_error("there is no directory")
    command("export", "kuhn_poker", file, f"--out={tmp_path}").assert_one_line_error("it is a directory")
    command("export", "leduc_poker", file).assert_one_line_error("policy of kuhn_poker()")
    command("export", "kuhn_poker", "none.npz").assert_one_line_error("there is no file none.npz")
    command("export", "kuhn_poker", file, "--format=xml").assert_one_line_error("csv, json, parquet")
    command("export", "kuhn_poker", file, "--format=parquet").assert_one_line_error("give a file by --out=FILE")
    command("export", "phantom_ttt", "uniform", "--max_nodes=1000").assert_one_line_error("1,000 nodes")
    for library in ("pyarrow.parquet", "pyarrow", "polars"):
        monkeypatch.setitem(__import__("sys").modules, library, None)
    found = command("export", "kuhn_poker", file, "--format=parquet", f"--out={tmp_path}/x.parquet")
    found.assert_one_line_error("pip install 'mccfr_plus[export]'")
    assert not (tmp_path / "x.parquet").exists()


def test_a_game_in_gambits_format(command, tmp_path):
    shown = command("export", "kuhn_poker", "--format=efg").out
    assert shown.startswith('EFG 2 R "kuhn_poker()" { "Player 0" "Player 1" }\n')
    assert mccfr_plus.compile_game(pyspiel.load_efg_game(shown)).num_nodes == 58
    found = command("export", "kuhn_poker", "--format=efg", f"--out={tmp_path}/kuhn.efg")
    assert "(58 histories)" in found.out
    assert (tmp_path / "kuhn.efg").read_text(encoding="utf-8") == shown
    command("export", "kuhn_poker", "--format=efg", f"--out={tmp_path}/kuhn.efg").assert_one_line_error(
        "exists already"
    )
    command("export", "kuhn_poker", "uniform", "--format=efg").assert_one_line_error("writes the game, and no policy")
    command("export", "kuhn_poker").assert_one_line_error("POLICY is missing")
