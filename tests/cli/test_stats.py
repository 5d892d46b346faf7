"""`mccfr-plus stats`."""

import pytest
from absl import flags

import mccfr_plus
from mccfr_plus.cli.budget import define_budget


def test_counts_of_kuhn_poker(command):
    result = command("stats", "kuhn_poker", "--json").json
    assert result["game"] == "kuhn_poker"
    assert result["histories"] == 58
    assert result["chance_nodes"] == 4
    assert result["terminal_nodes"] == 30
    assert result["decision_nodes"] == [12, 12]
    assert result["infosets"] == [6, 6]
    assert result["sequences"] == [13, 13]
    assert result["max_history_length"] == 5
    assert result["max_moves"] == 3
    assert len(result["m_values"]) == 2
    assert result["bytes"] == result["tree_bytes"] + result["infoset_bytes"]


def test_table(command):
    outcome = command("stats", "kuhn_poker(players=3)")
    lines = {line.split("  ")[0]: line.split() for line in outcome.out.splitlines()}
    assert lines["histories"][-1] == "617"
    assert lines["information sets"][-4:] == ["48", "16", "16", "16"]
    assert lines["longest history"][-1] == "8"
    assert lines["without chance"][-1] == "5"
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("game", "row"),
    [
        ("kuhn_poker", "0.058 0.012 3 3 2"),
        ("leduc_poker", "9.46 0.936 8 76 54 150.2 KiB 31.7 KiB"),
        ("liars_dice", "295 24.6 13 1,602 1,271 4.5 MiB"),
    ],
)
def test_row_as_in_table_1_of_lanctot_2009(command, game, row):
    *_, names, figures = command("stats", game).out.splitlines()
    assert names.split()[:5] == ["|H|", "(10^3)", "|I|", "(10^3)", "l"]
    assert " ".join(figures.split()).startswith(row)
    assert len(names) == len(figures)


@pytest.mark.parametrize("game", ["kuhn_poker(players=3)", "leduc_poker", "one_card_poker(deck_size=9)"])
def test_memory_of_a_solver_is_what_one_allocates(command, game):
    solver = mccfr_plus.Solver(game, "external", "rm")
    engine = solver._engine
    own = (engine.strategy, engine.tables, engine.average, engine.baselines, engine.sampling)
    scratch = engine.scratches[0]._asdict()
    del scratch["rng"]  # a word
    allocated = sum(array.nbytes for array in (*own, *scratch.values()))
    assert command("stats", game, "--json").json["solver_bytes"] == allocated


def test_games_with_compiled_rules_may_be_larger(command):
    flag_values = flags.FlagValues()
    define_budget(flag_values)
    assert flag_values["max_nodes"].value is None
    assert "50,000,000, or 1,000,000,000" in command("stats", "--help").out.replace("\n" + 24 * " ", " ")


def test_says_what_is_missing(command):
    command("stats").assert_one_line_error("GAME is missing", "mccfr-plus stats GAME")


def test_budget(command):
    command("stats", "chess", "--max_nodes=1000").assert_one_line_error("10^")


def test_information_sets_by_the_rules(command):
    outcome = command("stats", "leduc_poker", "--estimate", "--sample_size=500", "--seed=1", "--json")
    found = outcome.json["infosets_by_rules"]
    assert found["infosets"] == pytest.approx(936, rel=10 * found["relative_error"])
    assert "information sets, by the rules" in outcome.out
    outcome = command("stats", "liars_dice_ir", "--estimate", "--sample_size=500", "--seed=1", "--json")
    assert outcome.json["infosets_by_rules"] is None
