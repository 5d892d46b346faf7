"""A game, compiled: read-only flat arrays, the texts that tie them to OpenSpiel, and their sizes."""

import hashlib
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError, GameError, shortened
from mccfr_plus.games import PyspielGame, RulesGame, compiled_rules
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.slots import Bindings
from mccfr_plus.trees.arrays import Shape, TreeArrays
from mccfr_plus.trees.by_rules import rules_tree
from mccfr_plus.trees.flattening import FlatTree, rows_of, with_leaves
from mccfr_plus.trees.loading import is_converted, load_game, record
from mccfr_plus.trees.memory import available_bytes
from mccfr_plus.trees.needs import HISTORIES, INFOSETS, NODES
from mccfr_plus.trees.scratch import TIED
from mccfr_plus.trees.size_estimate import as_text, probe_size
from mccfr_plus.trees.ties import Refinement, refine
from mccfr_plus.trees.tree import Tree

DEFAULT_MAX_NODES = 50_000_000
DEFAULT_MAX_NODES_OF_RULES = 1_000_000_000  # the memory is what limits these
_TRIAL_NODES = 20_000  # through pyspiel, which takes less time than to compile the rules

# Nodes after which an estimate is made, through pyspiel and with compiled rules; smaller games are compiled by then.
_PROBE_AFTER, _PROBE_RULES_AFTER = 100_000, 2_000_000
_PROBE_AFTER_SECONDS = 5.0  # games in Python may visit some hundred nodes in a second

_SHARE_OF_FREE = 0.5  # of the memory that is free; the solver's tables come on top
_ALWAYS_FREE = 64 << 20  # bytes


@dataclass(frozen=True)
class Statistics:
    """Counts for a tree; attributes that are lists have one entry per player.

    Attributes:
        histories: Number of nodes, including the root, chance nodes and terminal nodes.
        sequences: Number of sequences, including the empty one.
        max_actions: Maximum number of actions at one infoset.
        max_history_length: Length of the longest history, in actions of players and chance.
        max_moves: Length of the longest history, in actions of players only.
        m_values: M_i of Lanctot et al. 2009, section 4.
        tree_bytes: Bytes of nodes, chance and payoffs.
        infoset_bytes: Bytes of the arrays of infosets and slots, excluding strings.

    Examples:
        >>> import mccfr_plus
        >>> statistics = mccfr_plus.compile_game("kuhn_poker").statistics()
        >>> statistics.histories, statistics.sequences
        (58, [13, 13])
    """

    histories: int
    decision_nodes: list[int]
    chance_nodes: int
    terminal_nodes: int
    infosets: list[int]
    sequences: list[int]
    max_actions: list[int]
    max_history_length: int
    max_moves: int
    m_values: list[float]
    perfect_recall: bool
    tree_bytes: int
    infoset_bytes: int

    def as_dict(self) -> dict:
        """Returns the counts as plain Python values, ready for JSON."""
        return asdict(self)


@dataclass(eq=False)
class GameTree(Tree):
    """A compiled game: its histories and information sets as flat arrays, which are read-only.

    Attributes:
        game: The turn-based pyspiel game.
        arrays: The arrays that the kernels read; see `mccfr_plus.trees.arrays`.
        shape: The depth, the stack size, and whether the game has perfect recall.
        info_states: The information state string of each infoset. The infosets of a player are contiguous.
        slot_action: ``[num_slots]`` int64, OpenSpiel's action for each slot.
        outcome_action: int64, OpenSpiel's action for each row of ``arrays.chance``.
        is_converted: Whether `game` is OpenSpiel's turn-based conversion of a game with simultaneous moves.
        num_players: Number of players, excluding chance.
        num_nodes: Number of histories, including the root, chance nodes and terminal nodes.
        num_infosets: Number of information sets of all players together.
        num_slots: Number of (infoset, action) pairs of all players together.
        perfect_recall: Whether every infoset determines everything that its player saw and did before.

    Examples:
        >>> import mccfr_plus
        >>> tree = mccfr_plus.compile_game("kuhn_poker")
        >>> tree.num_nodes, tree.num_infosets, tree.num_slots
        (58, 12, 24)
    """

    game: pyspiel.Game
    arrays: TreeArrays = field(repr=False)
    shape: Shape
    info_states: Sequence[str] = field(repr=False)
    slot_action: np.ndarray = field(repr=False)
    outcome_action: np.ndarray = field(repr=False)
    is_converted: bool = False

    kind: ClassVar[str] = "compiled"
    provides: ClassVar[frozenset[str]] = frozenset({HISTORIES, NODES, INFOSETS})

    def __post_init__(self) -> None:
        for array in (*self.arrays, self.slot_action, self.outcome_action):
            array.flags.writeable = False
        self.num_players = len(self.arrays.slot_range) - 1
        self.num_nodes = self.node_capacity = len(self.arrays.nodes)
        self.num_infosets, self.found_infosets = len(self.arrays.infosets), self.arrays.infosets
        self.num_slots = self.slot_capacity = len(self.slot_action)
        self.perfect_recall = self.shape.perfect_recall
        self.bindings: Bindings = {} if self.perfect_recall else {TIED: True}

    def __reduce__(self) -> tuple:
        return GameTree, tuple(getattr(self, each.name) for each in fields(self))  # the rest can be derived

    @cached_property
    def _lookup(self) -> list[dict[str, int]]:
        ranges = itertools.starmap(range, itertools.pairwise(self.arrays.infoset_range.tolist()))
        return [dict(zip(self.info_states[own.start : own.stop], own, strict=True)) for own in ranges]

    def _find(self, info_state: str, player: int) -> int | None:
        return self._lookup[player].get(info_state)

    @cached_property
    def parents(self) -> np.ndarray:
        """The node before each node, ``[num_nodes]`` int32; 0 for the root."""
        nodes, parents = self.arrays.nodes, np.zeros(self.num_nodes, np.int32)
        numbers = np.arange(self.num_nodes, dtype=np.int32)
        parents[rows_of(nodes["first_child"], nodes["num_children"])] = np.repeat(numbers, nodes["num_children"])
        return parents

    def history_of(self, node: int) -> list[int]:
        """Returns the actions of players and chance that lead to a node."""
        nodes, actions = self.arrays.nodes, list[int]()
        while node:
            parent = int(self.parents[node])
            kind, _, first_child, payload = nodes[parent].item()
            row, node = payload + node - first_child, parent
            actions.append(int((self.outcome_action if kind == CHANCE else self.slot_action)[row]))
        return actions[::-1]

    def uniform_strategy(self) -> np.ndarray:
        """Returns the strategy that plays all actions with equal probability, ``[num_slots]`` float64."""
        counts = self.found_infosets["num_actions"]
        return np.repeat(1.0 / counts, counts)

    def attach(self, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        """Returns `uniform_strategy`, since a tree that several solvers can share stores no strategy of its own."""
        return self.uniform_strategy()

    def arrays_to_run_on(self, with_leaves: bool, folded: bool = False) -> tuple[TreeArrays, np.ndarray]:
        """Returns the arrays for a solver's kernels, with leaf tables if needed, and their writable `expansion`."""
        arrays = self.arrays
        if with_leaves and self.perfect_recall:
            arrays = self.folded_arrays if folded else self.arrays_with_leaves
            arrays = arrays._replace(infosets=arrays.listed, infoset_range=arrays.listed_range)
        expansion = np.zeros_like(arrays.expansion)  # of its own, as it may be interrupted
        view = expansion.view()
        view.flags.writeable = False
        return arrays._replace(expansion=view), expansion

    @cached_property
    def arrays_with_leaves(self) -> TreeArrays:
        """The arrays with the leaf tables of the sequence form, built when first used; they need perfect recall."""
        if not self.perfect_recall:
            self.require_perfect_recall("a full traversal and a best response")
        return with_leaves(self.arrays, self.shape.max_stack)

    @cached_property
    def folded_arrays(self) -> TreeArrays:
        """The arrays with folded leaf tables, for regrets and values of strategies; see `flattening`."""
        if not self.perfect_recall:
            self.require_perfect_recall("a full traversal and a best response")
        return with_leaves(self.arrays, self.shape.max_stack, folded=True)

    @cached_property
    def refined(self) -> Refinement:
        """The game with perfect recall; GameError if a history enters an information set twice."""
        return refine(self)

    @property  # type: ignore[misc]
    def entries(self) -> tuple[int, int]:
        """What `scratch.new_scratch` needs to know of tied information sets."""
        return (0, 0) if self.perfect_recall else self.refined.entries

    def statistics(self) -> Statistics:
        """Returns the sizes of the tree: histories, infosets, sequences, M-values, bytes."""
        return self._statistics

    @cached_property
    def _statistics(self) -> Statistics:
        arrays, kinds, players = self.arrays, self.arrays.nodes["kind"], range(self.num_players)
        owns = [arrays.infosets[slice(*arrays.infoset_range[player : player + 2])] for player in players]
        blocks = [np.bincount(action_sequences(self, player)) for player in players]
        return Statistics(
            histories=len(kinds),
            decision_nodes=[int(np.count_nonzero(kinds == player)) for player in players],
            chance_nodes=int(np.count_nonzero(kinds == CHANCE)),
            terminal_nodes=int(np.count_nonzero(kinds == TERMINAL)),
            infosets=[len(own) for own in owns],
            sequences=[int(count) + 1 for count in np.diff(arrays.slot_range)],
            max_actions=[int(own["num_actions"].max(initial=0)) for own in owns],
            max_history_length=self.shape.max_depth,
            max_moves=self.shape.max_moves,
            m_values=[float(np.sqrt(sizes).sum()) for sizes in blocks],
            perfect_recall=self.shape.perfect_recall,
            tree_bytes=arrays.nodes.nbytes + arrays.chance.nbytes + arrays.payoffs.nbytes,
            infoset_bytes=arrays.infosets.nbytes + self.slot_action.nbytes,
        )

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 over all information states and their legal actions: the same for the same decisions."""
        digest = hashlib.sha256(self.arrays.infoset_range.astype("<i8").tobytes())
        for text in self.info_states:
            data = text.encode()
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
        digest.update(self.arrays.infosets["num_actions"].astype("<i4").tobytes())
        digest.update(self.slot_action.astype("<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def is_constant_sum(self) -> bool:
        """Whether the payoffs of all players add up to the same number at every end of the game."""
        return bool(np.ptp(self.arrays.payoffs.sum(axis=1)) < 1e-9)

    @cached_property
    def payoff_range(self) -> np.ndarray:
        """Largest minus smallest payoff of each player, ``[num_players]`` float64."""
        return np.ptp(self.arrays.payoffs, axis=0)


class Budget:
    """The largest number of nodes and bytes that compiling a tree may take; see `compile_game`."""

    def __init__(self, game: pyspiel.Game, max_nodes: int, max_bytes: int | None = None):
        self._game, self.max_nodes, self._max_bytes = game, max_nodes, max_bytes
        self._probe_at = time.monotonic() + _PROBE_AFTER_SECONDS
        self._probe_after = _PROBE_RULES_AFTER if isinstance(game, PyspielGame) else _PROBE_AFTER

    def check(self, num_nodes: int, num_bytes: int) -> None:
        """Raises BudgetError if what was used so far, or surely will be, is more than the budget."""
        if num_nodes > self._probe_after or time.monotonic() > self._probe_at:
            self.check_estimate(num_nodes)
        if num_nodes > self.max_nodes:
            self._refuse(f"more than the budget of {self.max_nodes:,} nodes", num_nodes)
        if self._max_bytes is None and num_bytes > _ALWAYS_FREE:
            self._max_bytes = int(_SHARE_OF_FREE * (available_bytes() + num_bytes))
        if self._max_bytes is not None and num_bytes > self._max_bytes:
            why = f"more than the memory limit of {self._max_bytes:,} bytes after {num_nodes:,} nodes"
            self._refuse(why, num_nodes)

    def check_estimate(self, num_nodes: int) -> None:
        """Raises BudgetError if the lower limit of an estimate is beyond the budget."""
        if probe_size(self._game).histories.low > math.log10(self.max_nodes):
            self._refuse(f"the budget is {self.max_nodes:,} nodes", num_nodes)

    def _refuse(self, reason: str, num_nodes: int) -> None:
        estimate = as_text(max(probe_size(self._game).histories.log10, math.log10(max(num_nodes, 1))))
        raise BudgetError(
            f"the tree of {shortened(self._game)} has about {estimate} nodes (estimated from a sample); {reason}. "
            "Choose smaller parameters for the game, or raise max_nodes or max_bytes: a node takes about 20 bytes, and "
            "an information state 250 bytes plus its text. See mccfr_plus.estimate_size, or mccfr-plus stats GAME "
            "--estimate."
        )


def compile_game(
    game: pyspiel.Game | str | GameTree,
    *,
    max_nodes: int | None = None,
    max_bytes: int | None = None,
    progress: bool | None = None,
    rules: bool = True,
) -> GameTree:
    """Returns the flat-array tree of a game, built in one traversal, using compiled rules if the game has any.

    Games may have any number of players, any payoffs, explicit chance, and simultaneous moves; see `load_game`.

    Args:
        game: A `pyspiel.Game`, a game string, or a tree, which is returned unchanged.
        max_nodes: Maximum number of histories. Default: 50 million, or a billion for this package's games
            (`mccfr_plus.games`).
        max_bytes: Maximum memory in bytes, estimated during the traversal. Default: half of the free memory.
        progress: Whether to show a progress bar after a second. Default: only if standard error is a terminal.
        rules: Whether to use compiled rules instead of pyspiel. The tree is the same in both cases.

    Raises:
        GameError: If the game is unknown or of a kind that cannot be compiled.
        BudgetError: If the tree exceeds `max_nodes` or `max_bytes`, or as soon as the lower limit of a 95% confidence
            interval for the number of histories, computed from a sample, exceeds `max_nodes`. The message gives an
            estimate of the tree's size.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.compile_game("kuhn_poker").statistics().histories
        58
    """
    if (tree := given_tree(game)) is not None:
        return tree
    given, game = game, load_game(game)
    own = game.rules_game if rules and isinstance(game, PyspielGame) else None
    if max_nodes is None:
        max_nodes = DEFAULT_MAX_NODES if own is None else DEFAULT_MAX_NODES_OF_RULES
    if max_nodes < 1 or (max_bytes is not None and max_bytes < 1):
        raise GameError(f"max_nodes={max_nodes}, max_bytes={max_bytes}: both must be at least 1.")
    # Node numbers are int32, which is what keeps a node at 16 bytes.
    budget = Budget(game, min(max_nodes, np.iinfo(np.int32).max - 1), max_bytes)
    turns = is_converted(given, game)
    if own is not None:
        return build_tree(game, rules_tree.build(own, budget.check, budget.max_nodes, progress), turns)
    found: list[RulesGame | None] = []

    def check(num_nodes: int, num_bytes: int) -> None:
        budget.check(num_nodes, num_bytes)
        if rules and not found and num_nodes > _TRIAL_NODES:
            found.append(compiled_rules(game))
            if found[0] is not None:
                raise BudgetError

    try:
        return build_tree(game, record(game, check, progress), turns)
    except BudgetError:
        if not found or found[0] is None:
            raise
    budget.check_estimate(_TRIAL_NODES)  # before the rules are compiled
    return build_tree(game, rules_tree.build(found[0], budget.check, budget.max_nodes, progress), turns)


def given_tree(given: object) -> GameTree | None:
    """Returns the compiled tree that was given in place of a game, None if it was a game."""
    return given if isinstance(given, GameTree) else None


def build_tree(game: pyspiel.Game, found: tuple[FlatTree, Sequence[str]], is_converted: bool = False) -> GameTree:
    """Returns the tree of what `record`, or the traversal with compiled rules, has found."""
    flat, info_states = found
    return GameTree(game, flat.arrays, flat.shape, info_states, flat.slot_action, flat.outcome_action, is_converted)


def action_sequences(tree: GameTree, player: int) -> np.ndarray:
    """Returns the number of each own infoset's action sequence, 0, 1, ... without gaps, ``[infosets of the player]``.

    An action sequence is a list of actions, whatever the infosets they were taken at, so that infosets that differ in
    what others did share one (Lanctot et al. 2009, section 4). M_i is the sum over them of sqrt(number of infosets).
    """
    infosets = tree.arrays.infosets[slice(*tree.arrays.infoset_range[player : player + 2])]
    begin, end = tree.arrays.slot_range[player : player + 2]
    actions = np.unique(tree.slot_action[begin:end], return_inverse=True)[1]
    owner, parent = np.repeat(np.arange(len(infosets)), infosets["num_actions"]), infosets["parent_slot"] - begin
    # The number of each infoset's action sequence, 0 for the empty one, from the root down.
    sequence, used = np.zeros(len(infosets), np.int64), 1
    is_numbered = parent >= end - begin
    waiting = np.flatnonzero(~is_numbered)
    while len(waiting):
        is_next = is_numbered[owner[parent[waiting]]]
        level, waiting = waiting[is_next], waiting[~is_next]
        pairs = sequence[owner[parent[level]]] * len(actions) + actions[parent[level]]
        found, numbers = np.unique(pairs, return_inverse=True)
        sequence[level] = used + numbers
        is_numbered[level] = True
        used += len(found)
    return sequence
