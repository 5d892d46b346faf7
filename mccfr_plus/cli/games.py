"""`mccfr-plus games`: the games of this package, with the papers' figures beside ours."""

import textwrap
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import Command, wrapped
from mccfr_plus.games import GAMES
from mccfr_plus.games.catalogue import CATALOGUE
from mccfr_plus.games.openspiel import GAMES as OPENSPIEL_GAMES


class GamesCommand(Command):
    """Lists the games that this package brings to OpenSpiel."""

    name = "games"
    summary = "List the papers' games that come with this package: parameters, published and enumerated sizes."
    notes = """
What is counted: as in `mccfr-plus stats GAME`; l is the longest history in moves of players.
Papers: Lanctot, Waugh, Zinkevich,
Bowling 2009; Gibson, Burch, Lanctot, Szafron 2012; Farina, Kroer, Sandholm 2020. Every game loads with
pyspiel.load_game(NAME) after `import mccfr_plus`; docs/background/games.md has the rules.
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        output.define_json(
            values, "games (name, title, parameters), sizes (game, paper, what, published, ours, verdict)"
        )

    def run(self, arguments: list[str], values: Any) -> None:
        print("Games and their parameters with defaults:")
        print()
        width = max(len(game.short_name) for game in GAMES)
        for game in GAMES:
            parameters = ", ".join(f"{name}={default}" for name, default in game.defaults.items())
            lines = textwrap.wrap(f"{game.long_name}: {parameters}", 100 - width, break_on_hyphens=False)
            for number, line in enumerate(lines):
                print(f"  {game.short_name if not number else '':<{width}}  {line}")
        print()
        print(
            wrapped(f"Games of OpenSpiel with compiled rules (docs/background/games.md): {', '.join(OPENSPIEL_GAMES)}")
        )
        print()
        print("Sizes in the papers and by enumeration:")
        print()
        rows = [["", "published", "ours", "verdict"]]
        for entry in CATALOGUE:
            rows.append([f"{entry.game}  ({entry.paper})"])
            rows += [[f"  {size.what}", size.published, number_text(size.ours), size.verdict] for size in entry.sizes]
        output.print_table(rows, texts=(0, 3))
        if values.json:
            games = [{"name": g.short_name, "title": g.long_name, "parameters": dict(g.defaults)} for g in GAMES]
            sizes = [{"game": e.game, "paper": e.paper, **size._asdict()} for e in CATALOGUE for size in e.sizes]
            output.print_json({"games": games, "sizes": sizes})


def number_text(number: float | tuple[float, ...]) -> str:
    """Returns a count, or one per player, as people write it."""
    numbers = number if isinstance(number, tuple) else (number,)
    return " / ".join(f"{each:,.2f}" if isinstance(each, float) else f"{each:,}" for each in numbers)
