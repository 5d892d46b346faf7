"""`mccfr-plus completion`: the scripts are valid, and complete what there is."""

import shutil
import subprocess

import pytest

from mccfr_plus.cli.main import COMMANDS


def shell(name):
    found = shutil.which(name)
    return found or pytest.skip(f"no {name}")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_scripts_are_valid_and_name_everything(command, name, tmp_path):
    found = command("completion", name)
    assert (found.code, found.err) == (0, "")
    for each, of_name in COMMANDS.items():
        assert each in found.out
        for flag in of_name.flags():
            assert flag in found.out
    file = tmp_path / "script"
    file.write_text(found.out, encoding="utf-8")
    subprocess.run([shell(name), "-n", str(file)], check=True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["pl"], ["play"]),
        (["solve", "--sec"], ["--seconds="]),
        (["solve", "leduc"], ["leduc_poker", "leduc_ranks"]),
        (["solve", "x", "--tree", "=", "co"], ["compiled"]),
        (["export", "x", "--format", "="], ["csv", "json", "parquet", "efg"]),
        (["solve", "x", "--policy_out", "=", "a"], []),
        (["completion", "z"], ["zsh"]),
    ],
)
def test_bash_completes(command, tmp_path, line, expected):
    file = tmp_path / "script"
    file.write_text(command("completion", "bash").out, encoding="utf-8")
    script = 'source "$0"; COMP_WORDS=(mccfr-plus "$@"); COMP_CWORD=$#; _mccfr_plus 2>/dev/null; echo ${COMPREPLY[@]}'
    found = subprocess.run([shell("bash"), "-c", script, file, *line], capture_output=True, text=True, check=True)
    assert found.stdout.split() == expected


def test_another_shell(command):
    command("completion", "tcsh").assert_one_line_error("SHELL='tcsh': give one of bash, zsh, fish")
