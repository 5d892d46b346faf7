"""Exact evaluations on a cluster: the sums over a game's leaves, divided by the responding player's sequences.

A best response needs a sum over leaves for each of the player's sequences, which is nearly all of the work. Workers
have pieces of the leaf tables and make these sums; the driver chooses actions bottom-up. Every sum is made as in one
process, so that the results are bitwise identical.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.cluster.cluster import WORK_SECONDS, Closing, Cluster
from mccfr_plus.estimators.base import check_whole
from mccfr_plus.estimators.full import exact_gradient
from mccfr_plus.evaluation.exact import AnyGame, Evaluation
from mccfr_plus.evaluation.kernels import own_reach, respond
from mccfr_plus.evaluation.strategies import AnyPolicy, strategy_of
from mccfr_plus.trees.arrays import BLOCK, TreeArrays, read_only
from mccfr_plus.trees.game_tree import GameTree, compile_game


class Piece(NamedTuple):
    """Some rows of one player's leaf table."""

    player: int
    arrays: TreeArrays  # the piece's leaf table; nothing else of the tree
    rows: np.ndarray  # [rows of the piece] int32: the slots that it sums for


class DistributedEvaluator(Closing):
    """Values, best responses, NashConv and exploitability by workers of a cluster, bitwise identical to `evaluate`.

    The leaf tables are sent once, in pieces, and stay in the cluster's shared memory until it is closed.

    Args:
        game: A game, a game string, or its tree. Of perfect recall. The driver compiles it.
        cluster: A connected cluster.
        pieces: Into how many pieces the tables are cut, of about equal size; at least one per player.

    Raises:
        GameError: If the game cannot be compiled or has imperfect recall.
        ConfigError: If the number of pieces makes no sense.
        ClusterError: If a node has no room for a piece.
    """

    def __init__(self, game: AnyGame, cluster: Cluster, *, pieces: int = 8):
        self.tree: GameTree = compile_game(game)
        self.tree.require_perfect_recall("a best response")
        check_whole("pieces", pieces)
        self._cluster, self._ray = cluster, cluster.ray
        found = cut(self.tree.arrays_with_leaves, int(pieces))
        reach = 8 * (self.tree.num_slots + self.tree.num_players)
        largest = max(sum(array.nbytes for array in piece.arrays) for piece in found)
        cluster.check_room(largest + reach, "a piece of the leaf tables")
        self._rows = [piece.rows for piece in found]
        self._pieces: list[Any] = [self._ray.put(piece) for piece in found]

    def evaluate(self, policy: AnyPolicy | Sequence[AnyPolicy] | np.ndarray) -> Evaluation:
        """Returns expected values and best-response values of all players.

        Args:
            policy: See `mccfr_plus.nash_conv`; or a strategy, ``[num_slots]``.

        Raises:
            PolicyError: If the policy does not fit the game.
            ClusterError: If the cluster is lost.
        """
        strategy = policy if isinstance(policy, np.ndarray) else strategy_of(self.tree, policy)
        tree, players = self.tree.arrays, range(self.tree.num_players)
        reach = np.empty(self.tree.num_slots + self.tree.num_players)
        own_reach(tree, strategy, reach)
        shared = self._ray.put(reach)
        task = self._ray.remote(_sums_of_piece).options(num_cpus=1, max_retries=-1)
        waiting = [task.remote(piece, shared) for piece in self._pieces]
        gradient = np.zeros(len(reach) + 1)
        result = Evaluation(np.empty(len(players)), np.empty(len(players)))
        best = np.empty(self.tree.num_infosets, np.int32)
        with self._cluster.worker_errors("a piece of an evaluation"):
            for rows, reference in zip(self._rows, waiting, strict=True):
                gradient[rows] = self._ray.get(reference, timeout=WORK_SECONDS)
        for player in players:
            result.best_response_values[player], result.values[player] = respond(tree, reach, player, gradient, best)
        return result

    def close(self) -> None:
        """Frees the pieces."""
        self._pieces = []


def cut(arrays: TreeArrays, pieces: int) -> list[Piece]:
    """Returns the leaf tables in about so many pieces of about equal size, none of two players.

    Args:
        arrays: Of a tree, with leaves.
        pieces: How many; more, if that is less than there are players.
    """
    start, num_players = arrays.leaf_start, len(arrays.slot_range) - 1
    size = max(int(start[-1]) // pieces, 1)
    found = []
    for player in range(num_players):
        first, last = int(arrays.leaf_range[player]), int(arrays.leaf_range[player + 1])
        while first < last:
            end = int(np.searchsorted(start[first + 1 : last + 1], start[first] + size)) + first + 1
            end = min(end, last)
            found.append(_piece(arrays, player, first, end))
            first = end
    return found


def _piece(arrays: TreeArrays, player: int, first: int, end: int) -> Piece:
    num_others = len(arrays.slot_range) - 2
    begin, stop = int(arrays.leaf_start[first]), int(arrays.leaf_start[end])
    leaf_range = np.zeros(len(arrays.slot_range), np.int64)
    leaf_range[player + 1 :] = end - first
    slots = arrays.leaf_row[first * BLOCK : end * BLOCK]
    piece = arrays._replace(
        nodes=arrays.nodes[:0],
        payoffs=arrays.payoffs[:0],
        chance=arrays.chance[:0],
        infosets=arrays.infosets[:0],
        leaf_range=leaf_range,
        leaf_start=arrays.leaf_start[first : end + 1] - begin,
        leaf_row=np.arange(len(slots), dtype=np.int32),
        leaf_others=arrays.leaf_others[begin * num_others : stop * num_others],
        leaf_value=arrays.leaf_value[begin:stop],
    )
    return Piece(player, TreeArrays(*map(read_only, piece)), slots.copy())


def _sums_of_piece(piece: Piece, reach: np.ndarray) -> np.ndarray:
    sums = np.zeros(len(piece.arrays.leaf_row))
    exact_gradient(TreeArrays(*map(read_only, piece.arrays)), read_only(reach), sums, piece.player)
    return sums
