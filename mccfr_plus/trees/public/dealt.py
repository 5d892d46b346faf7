"""Public trees of poker games, made from the hands, the boards and the betting sequences, not from pairs of hands."""

import itertools
import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.deal import Deal, mapped_hands, masses
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel.betting_tree import ALL_FOLDED
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.info_states import key_places
from mccfr_plus.trees.public.arrays import HAND, LEAVE, PUBLIC_NODE
from mccfr_plus.trees.public.builder import Found
from mccfr_plus.trees.public.histories import ACTIONS, ENDS, INFOSETS, LEAVES, NODES, NUM_COUNTS, OUTCOMES, SLOTS
from mccfr_plus.trees.public.showdowns import joined
from mccfr_plus.trees.public.suits import NONE, Group, representatives, suit_symmetries

_PRODUCTS_PER_HAND = 10  # which take as long as an end of poker takes for a hand


_Place = tuple[int, Group]  # a board, and the symmetries that are left there


class Prediction(NamedTuple):
    """About how large a public tree is, before it is made; nodes and ends take a few percent of its memory."""

    slots: float
    infosets: float
    products: float  # as many as an iteration takes time for
    leaves: float  # histories that end the game; those of poker with the cards of a hand in one order


class _Last(NamedTuple):
    """A player's last action."""

    slot: int  # of the first hand; -1: the player has not moved
    stride: int
    place: _Place


class _Board:
    """The hands of both players that fit a board, given that the other player has one, too; one for equivalent ones."""

    def __init__(self, deal: Deal, board: int, symmetries: np.ndarray):
        fits = (board >> deal.cards & 1 == 0).all(1)
        weights = np.where(fits, deal.weights, 0.0)
        self.total = float(weights[0] @ masses(deal.cards, weights[1]))
        counts = [masses(deal.cards, (weights[1 - player] > 0) * 1.0) for player in range(2)]
        self.pairs = int(((weights[0] > 0) * counts[0]).sum())
        self.hands = [np.flatnonzero((weights[player] > 0) & (counts[player] > 0)) for player in range(2)]
        self._is_last, self.strengths = board.bit_count() == deal.boards[-1], np.zeros(len(fits), np.int64)
        if self._is_last:
            self.strengths = deal.strengths(board)
            self.hands = [hands[np.argsort(self.strengths[hands], kind="stable")] for hands in self.hands]
        self._deal, self._first = deal, np.min([mapped_hands(each) for each in symmetries], axis=0)
        self.hands = [hands[self._first[hands] == hands] for hands in self.hands]

    @cached_property
    def places(self) -> list[np.ndarray]:
        """By player, the place of each hand of the deck, or of what stands for it, among the player's hands."""
        places = [np.full(len(self.strengths), -1, np.int32) for _ in self.hands]
        for own, hands in zip(places, self.hands, strict=True):
            own[hands] = np.arange(len(hands))
        return [own[self._first] for own in places]

    def table(self, player: int) -> np.ndarray:
        """Returns the player's hands as the kernel reads them."""
        hands, same = self.hands[player], self.places[1 - player][self.hands[player]]
        table = np.zeros(len(hands), HAND)
        table["low"], table["high"] = self._deal.cards[hands].T
        table["group"] = np.searchsorted(np.unique(self.strengths), self.strengths[hands])
        table["same"] = np.where(same < 0, len(self.hands[1 - player]), same)
        table["chance"] = self._deal.weights[player, hands]
        return table


class _Builder:
    """Goes through the public tree, depth first, and lists what it finds."""

    def __init__(self, game: RulesGame, symmetry: bool):
        self.deal: Deal = game.deal
        self.symmetries = suit_symmetries(self.deal)[: None if symmetry else 1]
        places, self.words = key_places(game.sizes)
        used = places.word >= 0
        self._shifts = np.zeros((len(places.word), self.words), np.int64)
        self._shifts[np.flatnonzero(used), places.word[used]] = 1 << places.shift[used]
        self._hand_keys = (self.deal.cards + 1) @ self._shifts[:2]
        self._boards: dict[_Place, _Board] = {}
        self.nodes: list[tuple[int, ...]] = []
        self.actions: list[int] = []
        self.outcomes: list[float] = []
        self.outcome_node: list[int] = []
        most = int(predicted_sizes(self.deal).infosets)  # zeros take no memory
        self.parents, self.keys = np.zeros((most, 2), np.int32), np.zeros((most, 2, self.words), np.int64)
        self.num_infosets, self.num_slots, self.num_leaves = [0, 0], [0, 0], 0
        self.ends: list[list[tuple[int, ...]]] = []
        self.scales: list[tuple[float, float]] = []
        self._later: list[int] = []  # cards dealt to the board on the path
        self.tables: dict[int, int] = {}  # of boards, by their number
        self._orders: dict[tuple[int, _Place, int], int] = {}
        self.orders: list[np.ndarray] = []
        self._next_order = 0

    def board(self, board: int, group: Group = NONE) -> _Board:
        if (board, group) not in self._boards:
            self._boards[board, group] = _Board(self.deal, board, self.symmetries[list(group)])
        return self._boards[board, group]

    def visit(self, number: int, place: _Place, factor: float, last: tuple[_Last, _Last]) -> None:
        """Enters a betting sequence; `factor` is the probability by chance of each pair of hands over its weight."""
        node = self.deal.nodes[number]
        missing = 0 if node.player == ALL_FOLDED else self.deal.boards[node.round] - place[0].bit_count()
        if missing > 0:
            self._deal_cards(number, place, missing, factor, last)
        elif node.player >= 0:
            self._decide(number, place, factor, last)
        else:
            self._end(number, place[0], factor, last)

    def _enter(self, *record: int) -> int:
        self.nodes.append(record)
        return len(self.nodes) - 1

    def _deal_cards(self, number: int, place: _Place, missing: int, factor: float, last: tuple[_Last, _Last]) -> None:
        """Deals cards, in every way that leaves both players a hand; equivalent ones once, with their total chance."""
        board, group = place
        cards = [card for card in range(self.deal.deck) if board >> card & 1 == 0]
        found = representatives(self.symmetries, group, list(itertools.combinations(cards, missing)))
        dealt = [(each, (board | sum(1 << card for card in each), left)) for each, left in found]
        dealt = [(each, after) for each, after in dealt if self.board(*after).total > 0.0]
        times = [len(group) // len(left) for _, (_, left) in dealt]
        totals = np.array([self.board(*after).total for _, after in dealt]) * times
        first = len(self.outcomes)
        self.outcomes += (totals / totals.sum()).tolist()
        self.outcome_node += [0] * len(dealt)
        this = self._enter(CHANCE, len(dealt), 0, first, 0)
        for outcome, (each, after) in enumerate(dealt, first):
            self.outcome_node[outcome] = len(self.nodes)
            self._later += each
            weight = factor * times[outcome - first] / math.comb(len(cards) - 4, missing)
            self.visit(number, after, weight, last)
            del self._later[-missing:]
            self._enter(LEAVE, 0, 0, this, 0)
        self.nodes[this] = (*self.nodes[this][:4], len(self.nodes))

    def _decide(self, number: int, place: _Place, factor: float, last: tuple[_Last, _Last]) -> None:
        node = self.deal.nodes[number]
        player, width, hands = node.player, len(node.children), self.board(*place).hands[node.player]
        first = self.num_slots[player]
        this = self._enter(player, width, len(hands), self.num_infosets[player], 0)
        rows = slice(self.num_infosets[player], self.num_infosets[player] + len(hands))
        before = last[player]
        self.parents[rows, player] = before.slot + before.stride * self._order(player, before, place)
        cards = [card for card in range(self.deal.deck) if place[0] >> card & 1]
        if self.deal.is_ordered:
            cards = [card for card in cards if card not in self._later] + self._later
        view = np.zeros(len(self._shifts) - 2, np.int64)
        view[: len(cards)], view[-1] = np.array(cards) + 1, number
        self.keys[rows, player] = self._hand_keys[hands] + view @ self._shifts[2:]
        self.keys[rows, player, 0] += player
        self.actions += [self.deal.nodes[child].action for child in node.children]
        self.num_infosets[player] += len(hands)
        self.num_slots[player] += len(hands) * width
        for index, child in enumerate(node.children):
            own = _Last(first + index, width, place)
            self.visit(child, place, factor, (own, last[1]) if player == 0 else (last[0], own))
        self.nodes[this] = (*self.nodes[this][:4], len(self.nodes))

    def _end(self, number: int, board: int, factor: float, last: tuple[_Last, _Last]) -> None:
        node = self.deal.nodes[number]
        is_fold, table = node.player == ALL_FOLDED, self.tables.setdefault(board, len(self.tables))
        self._enter(TERMINAL, 0, 0, len(self.ends), 0)
        rows, scales = list[tuple[int, ...]](), list[float]()
        for player in range(2):
            key = (player, last[player].place, board)
            if key not in self._orders:
                self._orders[key] = self._next_order
                self.orders.append(self._order(player, last[player], (board, NONE)))
                self._next_order += len(self.orders[-1])
            rows.append((last[player].slot, last[player].stride, ~table if is_fold else table, self._orders[key]))
            loses = is_fold and player in node.folded
            stake = min(node.spent) if not is_fold else node.spent[min(node.folded)]
            scales.append((-stake if loses else stake) * factor)
        self.ends.append(rows)
        self.scales.append((scales[0], scales[1]))
        self.num_leaves += self.board(board).pairs

    def _order(self, player: int, last: _Last, place: _Place) -> np.ndarray:
        """Returns the place at the player's last node of each hand at another one."""
        return self.board(*last.place).places[player][self.board(*place).hands[player]]


def predicted_sizes(deal: Deal) -> Prediction:
    """Returns the sizes of a public tree without merged suits, as if all hands fit the boards without their cards."""
    start = _Board(deal, deal.given, np.arange(deal.deck)[None])
    hands, leaves, slots, infosets, products = [len(own) for own in start.hands], 0, 0, 0, 0
    left, boards, boards_of_pair = deal.deck - deal.given.bit_count() - 2, 1, 1  # boards that fit a hand; two hands
    for which, count in enumerate(deal.boards):
        nodes, dealt = [node for node in deal.nodes if node.round == which], left - (deal.deck - 2 - count)
        if nodes and dealt > 0:
            boards, boards_of_pair = boards * math.comb(left, dealt), boards_of_pair * math.comb(left - 2, dealt)
            left -= dealt
        for player, own in enumerate(hands):
            widths = [len(node.children) for node in nodes if node.player == player]
            slots, infosets = slots + boards * own * sum(widths), infosets + boards * own * len(widths)
        num_ends = sum(node.player < 0 for node in nodes)
        leaves += boards_of_pair * start.pairs * num_ends
        products += boards * sum(hands) * _PRODUCTS_PER_HAND * num_ends
    return Prediction(slots, infosets, products, leaves)


def build_dealt(game: RulesGame, symmetry: bool) -> tuple[Found, list[int], int, dict[str, np.ndarray]]:
    """Returns what `histories.traverse` finds, `Room.counts`, the longest history, and what stands for matrices."""
    builder = _Builder(game, symmetry)
    place = builder.deal.given, tuple(range(len(builder.symmetries)))
    none = _Last(-1, 0, place)
    builder.visit(0, place, 1.0 / builder.board(*place).total, (none, none))
    counts = [0] * NUM_COUNTS
    counts[NODES], counts[OUTCOMES] = len(builder.nodes), len(builder.outcomes)
    counts[ACTIONS], counts[ENDS], counts[LEAVES] = len(builder.actions), len(builder.ends), builder.num_leaves
    counts[INFOSETS : INFOSETS + 2], counts[SLOTS : SLOTS + 2] = builder.num_infosets, builder.num_slots
    found = Found(
        nodes=np.array(builder.nodes, PUBLIC_NODE),
        outcomes=np.array(builder.outcomes),
        outcome_node=np.array(builder.outcome_node, np.int32),
        actions=np.array(builder.actions, np.int32),
        parents=builder.parents,
        keys=builder.keys,
        ends=np.array(builder.ends, np.int32),
        scales=np.array(builder.scales),
        matrices=np.zeros(0),
        known=np.zeros((0, 2), np.int64),
    )
    tables = [builder.board(board).table(player) for board in builder.tables for player in range(2)]
    arrays = {"order": np.concatenate(builder.orders), **joined(tables)}
    return found, counts, game.sizes.max_game_length + game.sizes.max_chance_nodes, arrays
