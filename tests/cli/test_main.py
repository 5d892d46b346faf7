"""Finding the command, its help, its exit codes."""

import logging
import re
import shlex
import subprocess
import sys

import pytest
from absl import flags

import mccfr_plus
from mccfr_plus.cli import output
from mccfr_plus.cli.command import names, whole
from mccfr_plus.cli.main import COMMANDS, main


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_overview_lists_the_commands(command, arguments):
    outcome = command(*arguments)
    assert outcome.code == 0
    assert all(name in outcome.out for name in ("solve", "stats", "evaluate", "games", "benchmark"))


def test_version(command):
    assert command("--version").out.startswith("mccfr-plus 0.")


@pytest.mark.parametrize("name", sorted(COMMANDS))
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_a_command(command, name, flag):
    outcome = command(name, flag)
    assert outcome.code == 0
    assert f"usage: mccfr-plus {name}" in outcome.out
    pages = [outcome.out, *(command(name, f"--help_{topic}").out for topic in COMMANDS[name].topics)]
    for defined in COMMANDS[name].flags():
        entry = re.compile(rf"^  --(\[no\])?{defined}([= ]|$)", re.MULTILINE)
        assert sum(bool(entry.search(page)) for page in pages) == (defined != "h"), defined


def test_help_of_solve_fits_a_screen(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert len(command("solve", "--help").out.splitlines()) <= 60


def test_help_of_a_topic(command):
    assert "settings of --algorithm=deep_cfr" in command("solve", "--help_neural", "--algorithm=deep_cfr").out
    assert "batched_deep_cfr" in command("solve", "--help_neural").out
    assert "external sampling" in command("solve", "--help_components").out
    assert "Ray cluster" in command("solve", "--help_cluster").out
    assert "repeat this option" not in command("solve", "--help_neural").out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["sovle", "kuhn_poker"], ["Did you mean 'solve'"]),
        (["frobnicate"], ["'frobnicate' is no command"]),
        (["--json"], ["no command given"]),
        (["solve", "kuhn_poker", "--foo=1"], ["'foo'"]),
        (["solve", "kuhn_poker", "--iteration=1"], ["Did you mean: iterations"]),
        (["solve", "kuhn_poker", "another"], ["unexpected argument 'another'"]),
        (["solve", "kuhn_poker", "--flagfile=/no/such/file"], ["/no/such/file"]),
        (["benchmark", "--algorithms=cfr,fast"], ["'fast'"]),
        (["benchmark", "--games=nope_game"], ["nope_game"]),
        (["benchmark", "--games=liars_dice_ir"], ["imperfect recall"]),
    ],
)
def test_bad_input_is_one_line(command, arguments, expected):
    command(*arguments).assert_one_line_error(*expected)


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "kuhn_poker", "--iterations", "7", "--json"],
        ["solve", "--iterations=7", "--json", "kuhn_poker"],
        ["--iterations=7", "solve", "kuhn_poker", "--json"],
    ],
)
def test_flags_may_stand_anywhere(command, arguments):
    assert command(*arguments).json["iterations"] == 7


def test_defines_no_global_flags(command):
    before = set(flags.FLAGS)
    command("solve", "kuhn_poker", "--iterations=1")
    assert set(flags.FLAGS) == before


def test_a_bug_is_not_hidden(monkeypatch):
    def fail(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(COMMANDS["stats"], "run", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["stats", "kuhn_poker"])


def test_errors_of_several_lines_become_one(monkeypatch, command):
    def fail(*_):
        raise mccfr_plus.GameError("first\nsecond")

    monkeypatch.setattr(COMMANDS["stats"], "run", fail)
    command("stats", "kuhn_poker").assert_one_line_error("first second")


def test_a_note_is_shown_once_and_only_with_a_result(monkeypatch, command):
    def run(arguments, _):
        logger = logging.getLogger("mccfr_plus")
        logger.info("a note")
        logger.info("a note")
        if arguments == ["bad"]:
            raise mccfr_plus.GameError("an error")
        output.show_notes()

    monkeypatch.setattr(COMMANDS["stats"], "run", run)
    assert command("stats", "good").err == "a note\n"
    assert command("stats", "bad").err == "mccfr-plus: error: an error\n"


def test_warnings_are_shown_at_once(monkeypatch, command):
    monkeypatch.setattr(COMMANDS["stats"], "run", lambda *_: logging.getLogger("mccfr_plus").warning("careful"))
    assert command("stats", "kuhn_poker").err == "careful\n"


def test_quiet_leaves_warnings_alone(monkeypatch, command):
    def run(*_):
        logger = logging.getLogger("mccfr_plus")
        logger.info("a note")
        logger.warning("compiling a kernel, once: about 3 s")  # to be shown at once
        logger.warning("careful")
        output.show_notes()

    monkeypatch.setattr(COMMANDS["solve"], "run", run)
    assert command("solve", "kuhn_poker").err == "a note\ncompiling a kernel, once: about 3 s\ncareful\n"
    assert command("solve", "kuhn_poker", "--quiet").err == "careful\n"


def test_runs_as_a_module():
    arguments = [sys.executable, "-m", "mccfr_plus", "stats", "kuhn_poker", "--json"]
    found = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert '"histories": 58' in found.stdout.splitlines()[-1]
    assert found.stderr == ""


def test_a_closed_pipe_is_no_traceback(start):
    process = start("solve", "--help")
    process.stdout.close()  # before the command has imported anything, let alone printed
    _, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode == 141


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [("stats kuhn_poker >&-", 74, "cannot write standard output"), ("play kuhn_poker uniform --seed=1 <&-", 0, "")],
)
def test_closed_streams_are_no_traceback(arguments, code, said):
    line = f"{shlex.quote(sys.executable)} -m mccfr_plus {arguments}"
    found = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert found.returncode == code
    assert said in found.stderr
    assert "Traceback" not in found.stderr


def test_counts_read_as_people_write_them():
    assert [whole().parse(text) for text in ("12", "1e6", "1_000")] == [12, 1_000_000, 1000]


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["compare", "kuhn_poker", "--out=X", "--seeds=1e12"], "10,000"),
        (["compare", "kuhn_poker", "--out=X", "--num_evaluations=1e12"], "10,000"),
        (["solve", "kuhn_poker", "--batch=1e19"], "9,223,372,036,854,775,807"),
        (["solve", "kuhn_poker", f"--iterations={'9' * 400}"], "9,223,372,036,854,775,807"),
        (["solve", "kuhn_poker", "--iterations=inf"], "9,223,372,036,854,775,807"),
        (["stats", "leduc_poker", "--estimate", "--sample_size=1e12"], "1,000,000,000"),
    ],
)
def test_counts_have_an_upper_limit(arguments, most, command):
    result = command(*arguments)
    assert result.code == 2
    assert f"at most {most}" in result.err
    assert len(result.err) < 500


_BOUNDS, _ESTIMATE, _SOLVING = "bounds: give --bounds, too", "an estimate: give --estimate, too", "leave out POLICY"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["solve", "kuhn_poker", "--confidence=.9"], _BOUNDS),
        (["solve", "kuhn_poker", "--confidence=.9", "--cluster=local"], _BOUNDS),
        *((["stats", "kuhn_poker", f"--{flag}"], _ESTIMATE) for flag in ("sample_size=10", "seconds=1", "seed=1")),
        (["stats", "kuhn_poker", "--confidence=.9"], _ESTIMATE),
        *((["play", "kuhn_poker", "uniform", f"--{flag}"], _SOLVING) for flag in ("seconds=2", "max_nodes=3")),
        (["play", "kuhn_poker", "uniform", "--max_bytes=1e6"], _SOLVING),
        (["play", "kuhn_poker", "uniform", "--port=100"], "the page in the browser: give --browser, too"),
        (["play", "kuhn_poker", "uniform", "--browser", "--games=1"], "games in the terminal: leave it out, or"),
        (["view", "kuhn_poker", "uniform", "--port=80", "--out=page.html"], "a page that is served: leave it out, or"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_flags_without_effect_are_errors(arguments, said, command, monkeypatch):
    for name in ("play.load_game", "stats.compile_within_budget", "view.policy_and_tree"):
        monkeypatch.setattr(f"mccfr_plus.cli.{name}", None)  # found before the game is
    flags = [flag.partition("=")[0] for flag in arguments if flag.startswith("--")]
    found = command(*arguments)
    found.assert_one_line_error(said)
    assert any(f"error: {flag} is about " in found.err for flag in flags)


def test_long_words_are_shortened_in_errors(command):
    result = command("solve", "x" * 5000)
    assert result.code == 2
    assert "[... 4,8" in result.err
    assert len(result.err) < 700


def test_commas_between_parentheses_belong_to_the_name():
    found = names("GAME,...").parse("kuhn_poker, goofspiel(num_cards=4,imp_info=True),leduc_poker")
    assert found == ["kuhn_poker", "goofspiel(num_cards=4,imp_info=True)", "leduc_poker"]


def test_short_numbers_have_three_digits():
    numbers = (7, 999, 1000, 23_456, 999_999, 1.23e9, 4.5e13)
    assert [output.short(n) for n in numbers] == ["7", "999", "1k", "23.5k", "1M", "1.23G", "45T"]


def test_numbers_of_tables():
    assert [output.number(value) for value in (1 / 3, -1 / 18, 0.0, 1234567.0)] == [
        "0.333333",
        "-0.0555556",
        "0",
        "1.23457e+06",
    ]
    assert [output.number(1 / 3, 4), output.number(None)] == ["0.3333", "n/a"]
    assert [output.count(value) for value in (7, 999.6, 1234567)] == ["7", "1,000", "1,234,567"]
    assert [output.rate(value) for value in (0.12345, 99.44, 100.4, 1234567.8)] == ["0.123", "99.4", "100", "1,234,568"]


def test_sizes_have_units():
    assert [output.size(n) for n in (100, 2048, 3 << 20, 5 << 30)] == ["100 bytes", "2.0 KiB", "3.0 MiB", "5.0 GiB"]
