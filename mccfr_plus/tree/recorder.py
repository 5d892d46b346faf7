"""Records a pyspiel game in one depth-first traversal, which keeps one path of states in memory, within a budget.

The recording needs no child pointers: the order of visit and the number of children determine them.
"""

import math
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import BudgetError
from mccfr_plus.games import PyspielGame
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game import (
    checked_actions,
    checked_outcomes,
    checked_returns,
    different_actions,
    game_error,
    unknown_mover,
)
from mccfr_plus.tree.sizes.size import COMPILED_BYTES_PER_INFOSET, COMPILED_BYTES_PER_NODE, as_text
from mccfr_plus.tree.sizes.size_estimate import probe_size

_CHECK_EVERY = 1024  # nodes between two checks of the budget
# Nodes after which an estimate is made, through pyspiel and by compiled rules; smaller games are compiled by then.
_PROBE_AFTER, _PROBE_RULES_AFTER = 100_000, 2_000_000
_PROBE_AFTER_SECONDS = 5.0  # games in Python may visit some hundred nodes in a second
ESTIMATE_MARGIN = 20.0  # estimates from a small sample may be far too large


@dataclass
class Recording:
    """What a depth-first traversal saw, in this order."""

    num_players: int
    max_depth: int = 0  # longest history, in actions of players and chance
    kinds: array = field(default_factory=lambda: array("b"))  # per node: its player, CHANCE or TERMINAL
    payloads: array = field(default_factory=lambda: array("i"))  # per node: infoset, distribution or payoff index
    infoset_player: list[int] = field(default_factory=list)
    infoset_key: list[str] = field(default_factory=list)
    infoset_actions: list[list[int]] = field(default_factory=list)
    distributions: list[tuple[tuple[int, float], ...]] = field(default_factory=list)
    payoffs: list[tuple[float, ...]] = field(default_factory=list)


def compiling_bar(progress: bool | None) -> tqdm:
    """Returns a progress bar for work over a second; None shows it if standard error is a terminal."""
    disable = None if progress is None else not progress
    return tqdm(desc="compiling the tree", unit=" nodes", unit_scale=True, delay=1.0, disable=disable, leave=False)


def show_fraction(bar: tqdm, num_nodes: int, num_actions: Sequence[int], num_taken: Sequence[int]) -> None:
    """Updates the bar of a traversal.

    Args:
        bar: From `compiling_bar`.
        num_nodes: How many nodes were visited.
        num_actions: How many actions the nodes on the path have.
        num_taken: How many of them were taken.
    """
    if bar.disable:
        return
    # The fraction of the tree before the current path, if all children of a node had subtrees of one size.
    fraction, width = 0.0, 1.0
    for actions, taken in zip(num_actions, num_taken, strict=True):
        width /= actions
        fraction += (taken - 1) * width
    bar.total = round(num_nodes / max(fraction, 1e-9))
    bar.update(num_nodes - bar.n)


class Budget:
    """The largest number of nodes and bytes that compiling a tree may take.

    Args:
        estimate_margin: An estimate this many times over the budget ends the traversal at once.
    """

    def __init__(self, game: pyspiel.Game, max_nodes: int, max_bytes: int, estimate_margin: float = ESTIMATE_MARGIN):
        self._game = game
        self._estimate_margin = estimate_margin
        self.max_nodes = max_nodes
        self.max_bytes = max_bytes
        self._estimate: float | None = None  # log10 of the number of nodes
        self._probe_at = time.monotonic() + _PROBE_AFTER_SECONDS
        self._probe_after = _PROBE_RULES_AFTER if isinstance(game, PyspielGame) else _PROBE_AFTER

    def check(self, num_nodes: int, num_bytes: int) -> None:
        """Compares what was used so far with the budget.

        Raises:
            BudgetError: If it is more than the budget, or if an estimate from a sample is far beyond it.
        """
        if num_nodes > self._probe_after or time.monotonic() > self._probe_at:
            self.check_estimate(num_nodes)
        if num_nodes > self.max_nodes:
            self._refuse(f"more than the budget of {self.max_nodes:,} nodes", num_nodes)
        if num_bytes > self.max_bytes:
            self._refuse(f"more than the memory limit of {self.max_bytes:,} bytes after {num_nodes:,} nodes", num_nodes)

    def check_estimate(self, num_nodes: int) -> None:
        """Raises BudgetError if the estimate from a sample is far beyond the budget; once only."""
        if self._estimate is None:
            self._estimate = _log10_nodes(self._game)
            if self._estimate > math.log10(self.max_nodes * self._estimate_margin):
                self._refuse(f"the budget is {self.max_nodes:,} nodes", num_nodes)

    def _refuse(self, reason: str, num_nodes: int) -> None:
        if self._estimate is None:
            self._estimate = _log10_nodes(self._game)
        estimate = as_text(max(self._estimate, math.log10(max(num_nodes, 1))))
        raise BudgetError(
            f"the tree of {self._game} has about {estimate} nodes (estimated from a sample); {reason}. Choose smaller "
            "parameters of the game, or raise max_nodes or max_bytes (on the command line --max_nodes, --max_bytes; "
            "about 20 bytes a node, 250 bytes and its text an information state). What the game would take: "
            "mccfr_plus.estimate_size, or mccfr-plus stats GAME --estimate."
        )


def _log10_nodes(game: pyspiel.Game) -> float:
    return probe_size(game).histories.log10


def record(game: pyspiel.Game, budget: Budget, progress: bool | None) -> Recording:
    """Returns the recording of a turn-based game.

    Args:
        budget: The largest number of histories and the largest memory to accept.
        progress: Whether to show a progress bar once the traversal takes over a second; None: if standard error is a
            terminal.

    Raises:
        BudgetError: If the tree is larger than the budget, with an estimate of its size.
        GameError: If the game raises an error or contradicts itself; the text names history and action.
    """
    return _Recorder(game, budget, progress).run()


class _Recorder:
    def __init__(self, game: pyspiel.Game, budget: Budget, progress: bool | None):
        self._game = game
        self._budget = budget
        self._recording = Recording(game.num_players())
        self._infosets: list[dict[str, int]] = [{} for _ in range(game.num_players())]
        self._key_bytes = 0
        self._actions: list[list[int]] = []  # of the inner nodes on the path,
        self._position: list[int] = []  # and how many of these were taken
        self._bar = compiling_bar(progress)

    def run(self) -> Recording:
        with self._bar:
            try:
                self._traverse()
            except Exception as error:
                taken = zip(self._actions, self._position, strict=True)
                named = game_error(self._game, [actions[index - 1] for actions, index in taken], error)
                try:
                    raise named from named.__cause__
                finally:
                    del named  # or this frame and the error would keep one another, with all that was recorded
            self._check_budget()
        return self._recording

    def _traverse(self) -> None:
        # The loop body runs once per node; what it needs is in local names for speed.
        recording = self._recording
        add_kind, add_payload = recording.kinds.append, recording.payloads.append
        infosets, infoset_actions = self._infosets, recording.infoset_actions
        distributions: dict[tuple[tuple[int, float], ...], int] = {}
        payoffs: dict[tuple[float, ...], int] = {}
        terminal = int(pyspiel.PlayerId.TERMINAL)
        chance = int(pyspiel.PlayerId.CHANCE)
        path_actions, position = self._actions, self._position
        path: list[pyspiel.State] = []
        state = self._game.new_initial_state()
        countdown, max_depth = _CHECK_EVERY, 0
        while True:
            countdown -= 1
            if not countdown:
                countdown = _CHECK_EVERY
                self._check_budget()
                show_fraction(self._bar, len(recording.kinds), list(map(len, path_actions)), position)
            player = state.current_player()
            if player >= 0:
                key = state.information_state_string()
                actions = state.legal_actions()
                infoset = infosets[player].get(key)
                if infoset is None:
                    infoset = self._new_infoset(player, key, actions)
                elif actions != infoset_actions[infoset]:
                    raise different_actions(key, player, infoset_actions[infoset], actions)
                add_kind(player)
                add_payload(infoset)
            elif player == terminal:
                returns = tuple(state.returns())
                payoff = payoffs.get(returns)
                if payoff is None:
                    payoff = payoffs[checked_returns(returns, recording.num_players)] = len(payoffs)
                add_kind(TERMINAL)
                add_payload(payoff)
                if len(path) > max_depth:
                    max_depth = len(path)
                while position and position[-1] == len(path_actions[-1]):
                    position.pop()
                    path_actions.pop()
                    path.pop()
                if not path:
                    break
                state, actions, index = path[-1], path_actions[-1], position[-1]
                position[-1] = index + 1
                if index + 1 < len(actions):
                    state = state.child(actions[index])
                else:
                    state.apply_action(actions[index])  # the parent's state has served
                continue
            elif player == chance:
                outcomes = tuple(state.chance_outcomes())
                distribution = distributions.get(outcomes)
                if distribution is None:
                    possible = checked_outcomes(outcomes)
                    distribution = distributions.get(possible)
                    if distribution is None:
                        distribution = distributions[possible] = len(recording.distributions)
                        recording.distributions.append(possible)
                    distributions[outcomes] = distribution
                actions = [action for action, _ in recording.distributions[distribution]]
                add_kind(CHANCE)
                add_payload(distribution)
            else:
                raise unknown_mover(player)
            path.append(state)
            path_actions.append(actions)
            position.append(1)
            if len(actions) > 1:
                state = state.child(actions[0])
            else:
                state.apply_action(actions[0])
        recording.payoffs, recording.max_depth = list(payoffs), max_depth

    def _new_infoset(self, player: int, key: str, actions: list[int]) -> int:
        recording = self._recording
        index = len(recording.infoset_key)
        self._infosets[player][key] = index
        self._key_bytes += len(key)
        recording.infoset_player.append(player)
        recording.infoset_key.append(key)
        recording.infoset_actions.append(checked_actions(actions, self._game.num_distinct_actions()))
        return index

    def _check_budget(self) -> None:
        nodes, infosets = len(self._recording.kinds), len(self._recording.infoset_key)
        self._budget.check(
            nodes, nodes * COMPILED_BYTES_PER_NODE + infosets * COMPILED_BYTES_PER_INFOSET + self._key_bytes
        )
