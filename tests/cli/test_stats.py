"""`mccfr-plus stats`: counted sizes, and estimated ones."""

import math

import mccfr_plus
from mccfr_plus.trees.size_estimate import as_text


def test_counts(command):
    result = command("stats", "kuhn_poker", "--json").json
    assert (result["histories"], result["chance_nodes"], result["terminal_nodes"]) == (58, 4, 30)
    assert (result["decision_nodes"], result["infosets"], result["sequences"]) == ([12, 12], [6, 6], [13, 13])
    assert (result["max_history_length"], result["max_moves"], len(result["m_values"])) == (5, 3, 2)
    assert result["bytes"] == result["tree_bytes"] + result["infoset_bytes"]
    outcome = command("stats", "kuhn_poker(players=3)")
    lines = {line.split("  ")[0]: line.split() for line in outcome.out.splitlines()}
    assert (lines["histories"][-1], lines["information sets"][-4:]) == ("617", ["48", "16", "16", "16"])


def test_a_large_game_has_limits(command):
    outcome = command("stats", "phantom_ttt", "--estimate", "--sample_size=10000", "--seed=1", "--json")
    lines = {line.split("  ")[0]: line.split("  ") for line in outcome.out.splitlines()}
    assert sum("billion" in cell for cell in lines["histories"]) == 3
    assert "recommended: traverse the game by its rules" in outcome.out
    small = command("stats", "kuhn_poker", "--estimate", "--json")
    assert "recommended: compile the tree, --estimator=full --minimizer=pdcfr+" in small.out
    assert (small.json["is_exact"], small.json["recommendation"]["estimator"]) == (True, "full")
    histories = outcome.json["histories"]
    assert histories["low"] < histories["log10"] < histories["high"]
    library = mccfr_plus.estimate_size("phantom_ttt", sample_size=10_000, seed=1)
    assert histories["log10"] == library.histories.log10


def test_symmetries_divide_the_histories(command):
    given = ("stats", "phantom_ttt", "--estimate", "--sample_size=2000", "--seed=1")
    outcome = command(*given, "--symmetry", "--json")
    about = as_text(outcome.json["histories"]["log10"] - math.log10(8))
    assert f"With one representative per class of 8 symmetries: about {about} histories." in outcome.out
    assert "per class" not in command(*given).out
    refused = command("stats", "kuhn_poker", "--estimate", "--symmetry")
    refused.assert_one_line_error("--symmetry: kuhn_poker has no compiled rules that define symmetries")
    command("stats", "phantom_ttt", "--symmetry").assert_one_line_error("needs an estimate: give --estimate")
