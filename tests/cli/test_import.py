"""``--import``: registered games and components work in every command; a module that fails is one line."""

import sys

import pytest

from mccfr_plus import user_modules
from mccfr_plus.solver.config import MINIMIZERS

MODULE = """
import pyspiel
from open_spiel.python.games import kuhn_poker
from mccfr_plus import RegretMatchingPlus
from mccfr_plus.solver.config import MINIMIZERS

MINIMIZERS["imported_rule"] = RegretMatchingPlus
kind = kuhn_poker._GAME_TYPE
NAME = "python_imported_FOLDER"


class Game(kuhn_poker.KuhnPokerGame):
    pass


if NAME not in pyspiel.registered_names():
    fields = {field: getattr(kind, field) for field in (
        "dynamics", "chance_mode", "information", "utility", "reward_model", "max_num_players", "min_num_players",
        "provides_information_state_string", "provides_information_state_tensor", "provides_observation_string",
        "provides_observation_tensor", "provides_factored_observation_string")}
    pyspiel.register_game(pyspiel.GameType(short_name=NAME, long_name=NAME, **fields), Game)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in a folder that Python does not know, and what it registers taken back at the end."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(user_modules, "_imported", [])
    (tmp_path / "imported_by_tests.py").write_text(MODULE.replace("FOLDER", tmp_path.name), encoding="utf-8")
    yield tmp_path / "imported_by_tests.py"
    MINIMIZERS.pop("imported_rule", None)
    sys.modules.pop("imported_by_tests", None)


def test_games_and_components_of_a_file(command, module, interpreted_loops):
    line = "solve python_kuhn_poker --minimizer=imported_rule --estimator=full --iterations=5 --json"
    command(*line.split()).assert_one_line_error("imported_rule")
    found = command(*line.split(), f"--import={module}")
    assert found.code == 0, found.err
    expected = command(*line.replace("imported_rule", "rm+").split())
    assert found.json["nash_conv"] == expected.json["nash_conv"]


def test_a_module_of_the_current_folder_by_name(command, module, monkeypatch):
    monkeypatch.chdir(module.parent)
    game = f"python_imported_{module.parent.name}"
    command("stats", game).assert_one_line_error(f"OpenSpiel has no game '{game}'")
    found = command("stats", game, "--import=imported_by_tests", "--json")
    assert found.json["histories"] == 58
    assert user_modules.imported_modules() == ("imported_by_tests",)


@pytest.mark.parametrize(
    ("content", "expected"),
    [("raise ValueError", "ValueError: no reason given"), ("(", "SyntaxError"), ("import sys; sys.exit(7)", "Exit: 7")],
)
def test_a_module_that_fails_is_one_line(command, module, content, expected):
    module.write_text(content, encoding="utf-8")
    found = command("stats", "kuhn_poker", f"--import={module}")
    found.assert_one_line_error(f"--import={module}: cannot import it", expected)
    assert "imported_by_tests" not in sys.modules
