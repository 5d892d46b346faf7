"""`mccfr-plus view`: a page as a file, or served to this machine alone."""

import json
import re
import signal
import socket
import urllib.error
import urllib.request

import pytest

import mccfr_plus
from mccfr_plus.cli.main import main


def test_the_policy_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "policy.npz"
    path.write_bytes(b"policy")
    assert main(["view", "kuhn_poker", str(path), f"--out={path}"]) == 2
    assert "is the policy itself" in capsys.readouterr().err
    assert path.read_bytes() == b"policy"


def test_files_of_another_kind_are_not_overwritten(command, tmp_path):
    path = tmp_path / "notes"
    path.write_text("notes", encoding="utf-8")
    for flag in ("view kuhn_poker uniform --out", "solve kuhn_poker --iterations=1 --policy_out"):
        command(*f"{flag}={path}".split()).assert_one_line_error("is of another kind and not overwritten: delete it")
    assert path.read_text(encoding="utf-8") == "notes"


def test_writes_a_page(command, tmp_path):
    policy, out = tmp_path / "kuhn.npz", tmp_path / "kuhn.html"
    mccfr_plus.save_policy(mccfr_plus.Solver("kuhn_poker", seed=1).run(100).average_policy(), policy)
    found = command("view", "kuhn_poker", str(policy), f"--out={out}")
    assert found.code == 0, found.err
    assert str(out) in found.out
    content = out.read_text(encoding="utf-8")
    assert "exploitability" in content
    assert len(content) < 50_000


def test_serves_a_page_to_this_machine_until_ctrl_c(start):
    process = start("view", "kuhn_poker", "uniform")
    line = process.stdout.readline()
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/  \(Ctrl-C ends it\)\n", line)
    assert found, line + process.stderr.read()
    with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/", timeout=30) as answer:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert b"kuhn_poker" in answer.read()
    elsewhere = urllib.request.Request(f"http://127.0.0.1:{found[1]}/", headers={"Host": "attacker.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(elsewhere, timeout=30)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/other", timeout=30)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (0, "", "")


def test_a_policy_of_a_game_without_a_tree(command, tmp_path):
    """The first information state is the empty board, at which the policy's probabilities are those of the file."""
    policy, out = tmp_path / "phantom.npz", tmp_path / "phantom.html"
    solver = mccfr_plus.Solver("phantom_ttt", "outcome", tree="rules", symmetry=True, seed=1).run(200)
    mccfr_plus.save_policy(solver.average_policy(), policy)
    found = command("view", "phantom_ttt", str(policy), f"--out={out}")
    assert found.code == 0, found.err
    data = re.search(r'<script type="application/json" id="policies">(.*?)</script>', out.read_text(encoding="utf-8"))
    (table,) = json.loads(data[1])
    assert "of the 10,000 most probable histories" in table["which"]
    player, _, reach, value, actions, probabilities, *_ = table["rows"][0]
    expected = solver.average_policy().action_probabilities(solver.tree.game.new_initial_state())
    assert (player, reach, value) == (0, 1, None)
    assert [table["names"][action] for action in actions] == [f"x({i},{j})" for i in range(3) for j in range(3)]
    assert probabilities == pytest.approx(list(expected.values()), abs=1e-4)


def test_what_is_refused(command, tmp_path):
    command("view", "kuhn_poker", "none.npz").assert_one_line_error("there is no file none.npz")
    command("view", "kuhn_pokr", "uniform").assert_one_line_error("kuhn_pokr")
    command("view", "kuhn_poker").assert_one_line_error("POLICY is missing")
    command("view", "kuhn_poker", "uniform", "--port=99999").assert_one_line_error("at most 65,535")
    command("view", "kuhn_poker", "uniform", f"--out={tmp_path}/none/x.html").assert_one_line_error("cannot write")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command("view", "kuhn_poker", "uniform", f"--port={port}").assert_one_line_error(f"cannot serve on port {port}")
