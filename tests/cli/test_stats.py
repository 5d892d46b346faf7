"""`mccfr-plus stats`."""


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
    assert len(result["m_values"]) == 2
    assert result["bytes"] == result["tree_bytes"] + result["infoset_bytes"]


def test_table(command):
    outcome = command("stats", "kuhn_poker(players=3)")
    lines = {line.split("  ")[0]: line.split() for line in outcome.out.splitlines()}
    assert lines["histories"][-1] == "617"
    assert lines["information sets"][-4:] == ["48", "16", "16", "16"]
    assert outcome.err == ""


def test_says_what_is_missing(command):
    command("stats").assert_one_line_error("GAME is missing", "mccfr-plus stats GAME")


def test_budget(command):
    command("stats", "chess", "--max_nodes=1000").assert_one_line_error("10^")
