"""The game argument and the budget flags, shared by the commands that compile a game."""

from __future__ import annotations

import logging
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.flag_kinds import Count
from mccfr_plus.tree.game_tree import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_NODES,
    DEFAULT_MAX_NODES_OF_RULES,
    GameTree,
    compile_game,
)

GAME_NOTE = """
GAME is a game of OpenSpiel with its parameters, in quotes because of the parentheses:
  leduc_poker    "kuhn_poker(players=3)"    "goofspiel(num_cards=5,imp_info=True,points_order=descending)"
or one of the papers' games that come with this package (mccfr-plus games):
  bid_goofspiel    "bluff(dice1=1,dice2=1)"    "leduc_ranks(ranks=5)"
"""

_MAX_NODES = (
    f"Largest number of histories to accept. Default: {DEFAULT_MAX_NODES:,}, or {DEFAULT_MAX_NODES_OF_RULES:,} for "
    "games with compiled rules (mccfr-plus games)."
)


def define_budget(values: flags.FlagValues) -> None:
    """Defines ``--max_nodes`` and ``--max_bytes``."""
    flags.DEFINE(Count(), "max_nodes", None, _MAX_NODES, values)
    flags.DEFINE(Count(), "max_bytes", DEFAULT_MAX_BYTES, "Largest memory of the tree to accept, in bytes.", values)


def compile_within_budget(game: str, values: Any, *, quiet: bool = False) -> GameTree:
    """Returns the tree of the game of the command line, with a progress bar if standard error is a terminal.

    Args:
        game: The game string.
        values: Parsed flags with those of `define_budget`.
        quiet: No progress bar and no notes, only warnings.
    """
    progress = False if quiet else None
    if quiet:
        logging.getLogger("mccfr_plus").setLevel(logging.WARNING)
    max_bytes = DEFAULT_MAX_BYTES if values.max_bytes is None else values.max_bytes
    tree = compile_game(game, max_nodes=values.max_nodes, max_bytes=max_bytes, progress=progress)
    output.show_notes()
    return tree
