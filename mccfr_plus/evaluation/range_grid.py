"""Ranges of poker hands as grids of ranks: how a strategy plays each cell at the public nodes reached most often."""

import heapq
import itertools
import json
import math
from typing import Any

import numpy as np

from mccfr_plus.display import COLOURS
from mccfr_plus.evaluation.strategy_page import part
from mccfr_plus.games.deal import Deal, card_text, masses
from mccfr_plus.games.openspiel.betting_tree import CALL, FOLD, Node
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.public.public_tree import PublicTree

MOST_NODES = 2_000  # on a page, which then has some MB


def ranges_of(tree: PublicTree, deal: Deal, strategy: np.ndarray, most: int = MOST_NODES) -> list[dict[str, Any]]:
    """Returns the public nodes that a strategy, ``[num_slots]``, reaches most often, parents first.

    Each has its "reach" and "next": [name, frequency in %, number of the node or None] of actions, or of cards that are
    dealt. A decision also has "player", "board", "bets" and "cells", row by row: [mean weight of the cell's hands that
    reach the node, in % of the largest cell's, and the share of each action in %], or 0 where hardly any hand does.
    """
    records, starts, rows = tree.arrays.nodes, tree.arrays.infosets["first_slot"], list[dict[str, Any]]()
    ranks = deal.deck // deal.suits
    low, high = ranks - 1 - deal.cards.T // deal.suits
    cell = np.where(np.diff(deal.cards % deal.suits)[:, 0] == 0, high * ranks + low, low * ranks + high)
    hand_of = np.zeros((deal.deck, deal.deck), np.int64)
    hand_of[tuple(deal.cards.T)] = np.arange(len(cell))
    number, heap = itertools.count(), list[tuple]()

    def found(link: list | None, node: int, board: int, factor: float, weights: np.ndarray) -> float:
        """Puts a node on the heap with both players' weights, and returns its reach."""
        weights = np.where((board >> deal.cards & 1 == 0).all(1), weights, 0.0)
        reach = factor * float(weights[0] @ masses(deal.cards, weights[1]))
        if records["kind"][node] != TERMINAL and reach > 0.0:
            heapq.heappush(heap, (-reach, next(number), link, node, board, factor, weights))
        return reach

    total = found(None, 0, deal.given, 1.0, deal.weights)
    while heap and len(rows) < most:
        minus_reach, _, link, node, board, factor, weights = heapq.heappop(heap)
        kind, width, hands, first, _ = records[node].tolist()
        links = list[list]()
        if link is not None:
            link[2] = len(rows)
        rows.append({"reach": -minus_reach / total, "next": links})
        if kind == CHANCE:
            for child in tree.arrays.outcome_node[first : first + width].tolist():
                if records["kind"][child] == TERMINAL:  # all-in
                    continue
                after = _board_of(tree, child)
                chance = factor / math.comb(deal.deck - board.bit_count() - 4, (after ^ board).bit_count())
                links.append([_cards_text(after ^ board, deal), 0.0, None])
                links[-1][1] = round(100 * found(links[-1], child, after, chance, weights) / -minus_reach, 1)
            continue
        views = tree.info_states.views(range(first, first + hands))  # type: ignore[attr-defined]
        own, sequence = hand_of[views[:, 0] - 1, views[:, 1] - 1], deal.nodes[views[0, -1]]
        played = np.zeros((width, len(cell)))
        played[:, own] = strategy[starts[first] : starts[first] + hands * width].reshape(hands, width).T
        played *= weights[kind]
        by_cell = np.array([np.bincount(cell, row, ranks**2) for row in (weights[kind], *played)])
        shares = by_cell / by_cell[0].clip(1e-300)
        shares[0] = by_cell[0] / np.bincount(cell, (board >> deal.cards & 1 == 0).all(1), ranks**2).clip(1)
        shares[0] /= shares[0].max()
        rows[-1] |= {"player": kind, "board": _cards_text(board, deal), "bets": sequence.text}
        rows[-1]["cells"] = [row if row[0] else 0 for row in (100 * shares).T.round(1).tolist()]
        child = node + 1
        for after, row in zip((deal.nodes[each] for each in sequence.children), played, strict=True):
            links.append([_name_of(sequence, after), round(100 * row.sum() / weights[kind].sum(), 1), None])
            found(links[-1], child, board, factor, np.where(np.arange(2)[:, None] == kind, row, weights))
            child = int(records["last"][child]) if records["kind"][child] != TERMINAL else child + 1
    return rows


def _board_of(tree: PublicTree, node: int) -> int:
    view = tree.info_states.views([int(tree.arrays.nodes["first"][node])])[0]  # type: ignore[attr-defined]
    return sum(1 << int(card) - 1 for card in view[2:-1] if card)


def _cards_text(cards: int, deal: Deal) -> str:
    return "".join(card_text(card, deal.suits) for card in reversed(range(deal.deck)) if cards >> card & 1)


def _name_of(node: Node, after: Node) -> str:
    names = {FOLD: "fold", CALL: "check" if after.spent == node.spent else "call"}
    return names.get(after.action, f"raise to {after.spent[node.player]}")


def section_of_ranges(tree: PublicTree, deal: Deal, strategy: np.ndarray) -> tuple[str, str, str]:
    """Returns HTML of the grids of a strategy for `page_of_strategies`: a section, its script, and its style."""
    found = ranges_of(tree, deal, strategy)
    data = {"ranks": deal.deck // deal.suits, "suits": deal.suits, "colours": COLOURS, "nodes": found}
    text = json.dumps(data, separators=(",", ":"))
    return part("ranges.html").replace("DATA", text), part("ranges.js"), f"<style>{part('ranges.css')}</style>"
