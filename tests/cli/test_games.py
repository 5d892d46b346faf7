"""`mccfr-plus games`."""

import json

from mccfr_plus.cli.games import number_text
from mccfr_plus.games import GAMES
from mccfr_plus.games.catalogue import CATALOGUE, Published
from mccfr_plus.games.openspiel import GAMES as OPENSPIEL_GAMES


def test_lists_every_game_with_its_parameters(command):
    outcome = command("games")
    lines = outcome.out.splitlines()
    begin = lines.index("Games and their parameters with defaults:") + 2
    text = " ".join(" ".join(lines[begin : lines.index("", begin)]).split())
    names = [
        line.split()[0] for line in lines[begin : lines.index("", begin)] if line.startswith("  ") and line[2] != " "
    ]
    assert names == [game.short_name for game in GAMES]
    for game in GAMES:
        assert f"{game.short_name} {game.long_name}: " in text
        assert all(f"{name}={default}" in text for name, default in game.defaults.items())
    assert max(map(len, lines[begin : lines.index("", begin)])) <= 104
    assert outcome.err == ""
    assert "Games of OpenSpiel with compiled rules (docs/background/games.md): kuhn_poker, " in outcome.out
    assert all(name in outcome.out for name in OPENSPIEL_GAMES)


def test_lists_the_papers_figures_beside_ours(command):
    lines = command("games").out.splitlines()
    begin = lines.index("Sizes in the papers and by enumeration:") + 2
    table = lines[begin + 1 :]
    assert lines[begin].split() == ["published", "ours", "verdict"]
    expected = [each for entry in CATALOGUE for each in (entry, *entry.sizes)]
    for line, each in zip(table, expected, strict=True):
        if isinstance(each, Published):
            assert line == f"{each.game}  ({each.paper})"
        else:
            assert line.startswith(f"  {each.what}  ")
            assert f"  {number_text(each.ours)}  {each.verdict}" in line
            assert f" {each.published} " in line
    assert max(map(len, table)) <= 136


def test_json(command):
    outcome = command("games", "--json")
    result = outcome.json
    assert result["games"] == [
        {"name": game.short_name, "title": game.long_name, "parameters": dict(game.defaults)} for game in GAMES
    ]
    bluff = [row for row in result["sizes"] if row["game"] == "bluff"]
    assert [row["ours"] for row in bluff] == [66_060_162, 3_538_944]
    assert bluff[0] == {
        "game": "bluff",
        "paper": "Gibson et al. 2012",
        "what": "histories without chance",
        "published": "66 million",
        "ours": 66_060_162,
        "verdict": "agrees as printed",
    }
    assert len(result["sizes"]) == sum(len(entry.sizes) for entry in CATALOGUE)
    assert json.loads(json.dumps(result)) == result
    assert outcome.out.splitlines()[:-1] == command("games").out.splitlines()


def test_takes_no_arguments(command):
    command("games", "bluff").assert_one_line_error("unexpected argument 'bluff'", "mccfr-plus games")


def test_numbers_are_readable():
    assert number_text(1234) == "1,234"
    assert number_text((2029, 52)) == "2,029 / 52"
    assert number_text((1.5, 4583.52)) == "1.50 / 4,583.52"
