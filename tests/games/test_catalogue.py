"""Every figure of the catalogue by enumeration, and the page of the documentation that repeats it."""

import re
from pathlib import Path

import pytest
from holdem_counts import tree_counts

import mccfr_plus
from mccfr_plus.cli.games import number_text
from mccfr_plus.games import GAMES
from mccfr_plus.games.catalogue import CATALOGUE

PAGE = Path(__file__).parent.parent.parent / "docs" / "background" / "games.md"
FAST = 1_000_000  # histories
COUNTED = {"nl_holdem_buckets(stack=36)": 36}  # too large for a tree


def ours(entry):
    return {size.what: size.ours for size in entry.sizes}


def enumerated():
    for entry in CATALOGUE:
        if entry.game not in COUNTED:
            sizes = ours(entry)
            is_fast = sizes.get("histories", sizes.get("histories without chance")) < FAST
            yield pytest.param(entry, id=entry.game, marks=() if is_fast else pytest.mark.slow)


@pytest.mark.parametrize("entry", list(enumerated()))
def test_sizes(entry):
    statistics = mccfr_plus.compile_game(entry.game).statistics()
    found = {
        "histories": statistics.histories,
        "histories without chance": statistics.histories - statistics.chance_nodes,
        "infosets": sum(statistics.infosets),
        "sequences": tuple(statistics.sequences),
        "l": statistics.max_moves,
        "M": tuple(statistics.m_values),
    }
    for what, expected in ours(entry).items():
        if what == "M":
            # As many decimals as are written.
            shown = tuple(
                round(each, len(str(its).split(".")[1])) for each, its in zip(found["M"], expected, strict=True)
            )
            assert shown == expected
        else:
            assert found[what] == expected, what
    assert statistics.perfect_recall


@pytest.mark.parametrize("entry", [entry for entry in CATALOGUE if entry.game in COUNTED], ids=lambda entry: entry.game)
def test_sizes_of_games_that_are_too_large(entry):
    infosets, histories = tree_counts(COUNTED[entry.game])
    assert ours(entry) == {"infosets": infosets, "histories": histories}


def test_every_game_is_in_the_catalogue():
    assert {entry.game.split("(")[0] for entry in CATALOGUE} == {game.short_name for game in GAMES}


def rows_of(text):
    """Returns the rows of the page's first table, without its head, each a list of cells."""
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE).group()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_page_says_what_the_catalogue_says():
    rows = []
    for entry in CATALOGUE:
        for number, size in enumerate(entry.sizes):
            first = [f"`{entry.game}`", entry.paper] if not number else ["", ""]
            rows.append([*first, size.what, size.published, number_text(size.ours), size.verdict])
    assert rows_of(PAGE.read_text(encoding="utf-8")) == rows


def test_the_page_has_every_game_in_order_and_all_its_parameters():
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    by_game = [section for section in sections if section.startswith("`")]
    assert [section.split("`")[1] for section in by_game] == [game.short_name for game in GAMES]
    for section, game in zip(by_game, GAMES, strict=True):
        table = section[section.index("| parameter | default |") :].split("\n\n")[0]
        named = {}
        for line in table.splitlines()[2:]:
            names, defaults = (re.findall(r"`([^`]*)`", cell) for cell in line.strip("|").split("|")[:2])
            named |= dict(
                zip(names, defaults or [str(game.defaults[names[0]])], strict=True)
            )  # a graph is not repeated
        assert named == {name: str(default) for name, default in game.defaults.items()}
