"""The page of games: its names and parameters are those of the registries, and its sizes are found by enumeration."""

from pathlib import Path

import pytest

import mccfr_plus
from mccfr_plus.games import GAMES
from mccfr_plus.games.openspiel import GAMES as OPENSPIEL_GAMES

PAGE = (Path(__file__).parents[2] / "docs" / "background" / "games.md").read_text(encoding="utf-8")
FAST = 1_000_000  # histories
COUNTED = "nl_holdem_buckets(stack=36)"  # too large for a tree


def rows_after(head):
    """Returns the rows of the table whose first line begins with `head`, each a list of cells."""
    table = PAGE[PAGE.index(f"\n{head}") + 1 :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def sizes_by_game():
    """Returns {game: {what is counted: the cell that says how many were enumerated}}."""
    found, name = {}, ""
    for game, _, what, _, enumerated, _ in rows_after("| game | paper | |"):
        name = game.strip("`") or name  # an empty cell continues the game above
        found.setdefault(name, {})[what] = enumerated
    return found


def text_of(number):
    """Returns a count, or one per player, as the page writes it."""
    numbers = number if isinstance(number, list | tuple) else (number,)
    return " / ".join(f"{each:,.2f}" if isinstance(each, float) else f"{each:,}" for each in numbers)


def enumerated_games():
    for name, sizes in sizes_by_game().items():
        if name != COUNTED:
            histories = sizes.get("histories") or sizes["histories without chance"]
            is_fast = int(histories.replace(",", "")) < FAST
            yield pytest.param(name, sizes, id=name, marks=() if is_fast else pytest.mark.slow)


@pytest.mark.parametrize(("name", "sizes"), list(enumerated_games()))
def test_sizes(name, sizes):
    statistics = mccfr_plus.compile_game(name).statistics()
    counted = {
        "histories": statistics.histories,
        "histories without chance": statistics.histories - statistics.chance_nodes,
        "infosets": sum(statistics.infosets),
        "sequences": statistics.sequences,
        "l": statistics.max_moves + (2 if name.startswith(("one_card_poker", "princess_and_monster")) else 0),  # deals
        "M": statistics.m_values,
    }
    assert {what: text_of(counted[what]) for what in sizes} == sizes
    assert statistics.perfect_recall


def test_names_are_those_of_the_registries():
    overview = rows_after("| game | description |")
    assert [name.strip("[`").split("`")[0] for name, *_ in overview] == [game.short_name for game in GAMES]
    openspiel = [name.strip("`") for name, *_ in rows_after("| game | parameters with rules |")]
    assert sorted(openspiel) == sorted(OPENSPIEL_GAMES)
    assert {name.split("(")[0] for name in sizes_by_game()} == {game.short_name for game in GAMES}
