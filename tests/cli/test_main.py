"""Finding the verb, its help and flags, bad input, exit codes, notes on standard error."""

import logging
import shlex
import subprocess
import sys

import pytest

import mccfr_plus
from mccfr_plus.cli import stats
from mccfr_plus.cli.command import VERBS, main, show_notes


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_overview_lists_the_verbs(command, arguments):
    outcome = command(*arguments)
    assert outcome.code == 0
    assert all(f"  {verb} " in outcome.out for verb in VERBS)
    assert command("--version").out.startswith("mccfr-plus 0.")


def test_help_of_verbs_and_at_most_71_flags(command):
    """Flags are counted in the help, where each has a line of its own."""
    flags = []
    for verb in VERBS:
        outcome = command(verb, "-h")
        assert (outcome.code, f"usage: mccfr-plus {verb} " in outcome.out) == (0, True)
        assert outcome.out == command(verb, "x", "--help").out
        flags += [line.strip() for line in outcome.out.splitlines() if line.startswith("  --")]
    assert len(flags) <= 71, flags
    assert sum(line.startswith("--import ") for line in flags) == len(VERBS)


BAD_INPUT = [
    ("sovle kuhn_poker", "unknown command 'sovle'. Did you mean 'solve'?"),
    ("solve kuhn_poker --iteration=1", "unknown flag --iteration: did you mean --iterations?"),
    ("solve kuhn_poker --iterations=--", "argument --iterations: '--' is not a value"),
    ("solve", "the following arguments are required: GAME"),
    ("solve kuhn_poker --iterations=abc", "--iterations: 'abc' must be an integer, at least 1"),
    ("solve kuhn_poker --checkpoint=", "it is a directory"),
    ("solve kuhn_poker --resume", "--resume needs a checkpoint: give --checkpoint=FILE"),
    ("solve kuhn_poker --workers=2", "--workers needs a cluster: give --cluster=ray"),
    ("stats kuhn_poker --seed=1", "--seed needs an estimate: give --estimate"),
    ("play kuhn_poker uniform --seconds=2", "--seconds limits solving, and a POLICY is given: leave out one of them"),
    ("play kuhn_poker uniform --port=100", "--port needs --browser"),
    ("play kuhn_poker uniform --search_start=1", "--search_start needs --search"),
    ("play kuhn_poker uniform --seat=2", "--seat=2: kuhn_poker() has seats 0 to 1"),
]


@pytest.mark.parametrize(("line", "message"), BAD_INPUT, ids=[line for line, _ in BAD_INPUT])
def test_bad_input_is_one_line(command, line, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    command(*shlex.split(line)).assert_one_line_error(message)
    assert list(tmp_path.iterdir()) == []


def test_a_bug_is_not_hidden(monkeypatch):
    def fail(_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(stats, "run", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["stats", "kuhn_poker"])


def test_notes_and_warnings(monkeypatch, command):
    def run(arguments):
        logger = logging.getLogger("mccfr_plus")
        logger.info("a note")
        logger.info("a note")
        if arguments.game == "bad":
            raise mccfr_plus.GameError("an error")
        show_notes()
        logger.warning("careful")

    monkeypatch.setattr("mccfr_plus.cli.solve.run", run)
    assert command("solve", "good").err == "a note\ncareful\n"
    assert command("solve", "good", "--quiet").err == "careful\n"
    assert command("solve", "bad").err == "mccfr-plus: error: an error\n"


def test_a_log_of_the_application_is_left_alone(command, caplog):
    command("solve", "matrix_rps", "--iterations=10", "--quiet")
    with caplog.at_level("INFO", logger="mccfr_plus"):
        mccfr_plus.compile_game("matrix_rps")  # logs an INFO line
    assert "simultaneous" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("stats kuhn_poker --json | grep -q '\"histories\": 58'", 0, ""),
        ("stats kuhn_poker >/dev/full", 74, "cannot write standard output: No space left on device.\n"),
        ("solve --help | true; exit ${PIPESTATUS[0]}", 141, ""),
        ("stats kuhn_poker >&-", 0, ""),
        ("play kuhn_poker uniform --seed=1 <&-", 0, ""),
    ],
)
def test_closed_and_full_streams(arguments, code, said):
    line = f"PYTHONUNBUFFERED=1 {shlex.quote(sys.executable)} -m mccfr_plus {arguments}"
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr.removeprefix("mccfr-plus: error: ")) == (code, said)
