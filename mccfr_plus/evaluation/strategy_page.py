"""Pages of strategies: self-contained HTML files that list information states, the most often reached first."""

import heapq
import itertools
import json
import math
import os
from collections import defaultdict
from html import escape
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.display import COLOURS
from mccfr_plus.errors import RecordError
from mccfr_plus.evaluation.readable import items_of
from mccfr_plus.evaluation.strategies import Behavior, row_at
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.policies.table import infoset_values
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.order import action_names

MOST_SLOTS = 100_000  # information states with their actions; about 4 MB of page
MOST_HISTORIES = 10_000  # of a game without a tree
_DIGITS = 12  # of a reach: rounding does not change the order of information states


class Row(NamedTuple):
    """An information state; numbers that are not known are None."""

    player: int
    state: str
    reach: float | None
    value: float | None
    actions: list[int]  # numbers in the list of names
    probabilities: list[float]
    values: list[float | None]
    regrets: list[float | None]
    words: str  # the state for people; empty where its game is not known


class StrategyTable(NamedTuple):
    """What the page shows of a strategy."""

    label: str
    which: str  # which information states the rows are
    players: int
    names: list[str]  # of actions
    rows: list[Row]


def table_of_tree(label: str, tree: GameTree, strategy: np.ndarray, most_slots: int = MOST_SLOTS) -> StrategyTable:
    """Returns the information states of a strategy, ``[num_slots]``, that are reached most often, in this order."""
    found, players = infoset_values(tree, strategy), tree.arrays.infosets["player"].tolist()
    order = np.argsort(-found.reach.round(_DIGITS), kind="stable")
    order = order[np.cumsum(tree.arrays.infosets["num_actions"][order]) <= most_slots]
    names: dict[str, int] = {}
    rows = []
    for infoset, texts in zip(order.tolist(), action_names(tree, order), strict=True):
        slots, reach, value = tree.slots(infoset), _rounded(found.reach[infoset]), _rounded(found.values[infoset])
        numbers = [names.setdefault(name, len(names)) for name in texts]
        probabilities = [round(p, 4) for p in strategy[slots].tolist()]
        values = [_rounded(x) for x in found.action_values[slots].tolist()]
        regrets = [_rounded(0.0 if abs(x) < 1e-9 else x) for x in found.regrets[slots].tolist()]  # rounding
        state = tree.info_states[infoset]
        words = _words_of(tree.game, state)
        rows.append(Row(players[infoset], state, reach, value, numbers, probabilities, values, regrets, words))
    cut = "" if len(rows) == tree.num_infosets else f", the most often reached of {tree.num_infosets:,}"
    return StrategyTable(label, f"{len(rows):,} information states{cut}", tree.num_players, list(names), rows)


def table_of_histories(label: str, game: pyspiel.Game, policy: Any, most: int = MOST_HISTORIES) -> StrategyTable:
    """Returns the information states of the most probable histories, without values; reach is summed over these."""
    behavior = Behavior(game, policy)
    names: dict[str, int] = {}
    rows: dict[tuple[int, str], Row] = {}
    reach: defaultdict[tuple[int, str], float] = defaultdict(float)
    number = itertools.count()  # histories of one probability are visited in the order in which they are found
    heap, visited = [(-1.0, next(number), game.new_initial_state())], 0
    while heap and visited < most:
        visited += 1
        minus_reach, _, state = heapq.heappop(heap)
        found = row_at(state, behavior.row)
        choices = dict(zip(found.actions, found.probabilities, strict=True))
        if not state.is_chance_node():
            player, legal = state.current_player(), state.legal_actions()
            infoset = player, state.information_state_string(player)
            if infoset not in rows:
                numbers = [names.setdefault(state.action_to_string(player, action), len(names)) for action in legal]
                unknown: list[float | None] = [None] * len(legal)
                shown = [round(choices.get(action, 0.0), 4) for action in legal]
                words = _words_of(game, infoset[1])
                rows[infoset] = Row(*infoset, None, None, numbers, shown, unknown, unknown, words)
            reach[infoset] -= minus_reach
        for action, probability in choices.items():
            child = state.child(action)
            if not child.is_terminal():
                heapq.heappush(heap, (minus_reach * probability, next(number), child))
    order = sorted(rows, key=lambda infoset: -round(reach[infoset], _DIGITS))
    which = f"{len(rows):,} information states, those of the {visited:,} most probable histories"
    ordered = [rows[infoset]._replace(reach=_rounded(reach[infoset])) for infoset in order]
    return StrategyTable(label, which, game.num_players(), list(names), ordered)


def _words_of(game: pyspiel.Game, state: str) -> str:
    items = items_of(game, state)
    return "; ".join(f"{label}: {' '.join(shown)}" for label, shown in items)


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.4g}")


def part(name: str, package: str = "mccfr_plus.evaluation") -> str:
    """Returns the text of a file in the folder ``pages`` of a package."""
    return (resources.files(package) / "pages" / name).read_text(encoding="utf-8")


def page_of_strategies(title: str, above: str, tables: list[StrategyTable], script: str = "", head: str = "") -> str:
    """Returns a page with HTML `above` tables of strategies, one of which is shown at a time.

    `head` is more HTML of the page's head; `script` may use the functions ``find(id)`` and ``make(tag, class, text)``.
    """
    body = above
    if tables:
        data = json.dumps([table._asdict() for table in tables], ensure_ascii=False, separators=(",", ":"))
        hidden = "hidden" if len(tables) == 1 else ""
        body += part("strategies.html").replace("CLASS", hidden).replace("DATA", data.replace("<", "\\u003c"))
        script = f"const COLOURS = {json.dumps(COLOURS)};\n{part('strategies.js')}{script}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{part('page.css')}{part('strategies.css')}</style>{head}</head>"
        f"<body><main>{body}</main><script>{part('page.js')}{script}</script></body></html>\n"
    )


def write_page(path: str | os.PathLike, content: str) -> None:
    """Writes the whole page or nothing. RecordError if the file cannot be written."""
    with atomic_write(path, RecordError) as file:
        file.write(content.encode())
