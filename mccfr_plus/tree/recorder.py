"""Records a pyspiel game in one depth-first traversal, which keeps one path of states in memory."""

from __future__ import annotations

import pyspiel
from tqdm import tqdm

from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.budget import Budget
from mccfr_plus.tree.game_error import (
    WrongAnswerError,
    checked_outcomes,
    checked_returns,
    different_actions,
    game_error,
    unknown_mover,
    wrong_number_of_actions,
)
from mccfr_plus.tree.recording import Recording
from mccfr_plus.tree.size import COMPILED_BYTES_PER_INFOSET, COMPILED_BYTES_PER_NODE

_CHECK_EVERY = 1024  # nodes between two checks of the budget


def record(game: pyspiel.Game, budget: Budget, progress: bool | None) -> Recording:
    """Returns the recording of a turn-based game.

    Args:
        game: A game that `load_game` has accepted.
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
        self._states: list[pyspiel.State] = []  # of the inner nodes on the path,
        self._actions: list[list[int]] = []  # their actions,
        self._position: list[int] = []  # and how many of these were taken
        disable = None if progress is None else not progress
        self._bar = tqdm(
            desc="compiling the tree", unit=" nodes", unit_scale=True, delay=1.0, disable=disable, leave=False
        )

    def run(self) -> Recording:
        with self._bar:
            try:
                self._traverse()
            except Exception as error:
                taken = zip(self._actions, self._position, strict=True)
                named = game_error(self._game, [actions[index - 1] for actions, index in taken], error)
                raise named from named.__cause__
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
        path, path_actions, position = self._states, self._actions, self._position
        state = self._game.new_initial_state()
        countdown = _CHECK_EVERY
        while True:
            countdown -= 1
            if not countdown:
                countdown = _CHECK_EVERY
                self._check_budget()
                self._show_progress()
            player = state.current_player()
            if player >= 0:
                key = state.information_state_string()
                actions = state.legal_actions()
                infoset = infosets[player].get(key)
                if infoset is None:
                    infoset = self._new_infoset(player, key, actions)
                elif actions != infoset_actions[infoset]:
                    raise WrongAnswerError(different_actions(key, player, infoset_actions[infoset], actions))
                add_kind(player)
                add_payload(infoset)
            elif player == terminal:
                returns = tuple(state.returns())
                payoff = payoffs.get(returns)
                if payoff is None:
                    payoff = payoffs[checked_returns(returns, recording.num_players)] = len(payoffs)
                add_kind(TERMINAL)
                add_payload(payoff)
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
        recording.payoffs = list(payoffs)

    def _new_infoset(self, player: int, key: str, actions: list[int]) -> int:
        most = self._game.num_distinct_actions()
        if not 0 < len(actions) <= most:
            raise wrong_number_of_actions(len(actions), most)
        recording = self._recording
        index = len(recording.infoset_key)
        self._infosets[player][key] = index
        self._key_bytes += len(key)
        recording.infoset_player.append(player)
        recording.infoset_key.append(key)
        recording.infoset_actions.append(actions)
        return index

    def _check_budget(self) -> None:
        nodes, infosets = len(self._recording.kinds), len(self._recording.infoset_key)
        self._budget.check(
            nodes, nodes * COMPILED_BYTES_PER_NODE + infosets * COMPILED_BYTES_PER_INFOSET + self._key_bytes
        )

    def _show_progress(self) -> None:
        if self._bar.disable:
            return
        # The fraction of the tree before the current path, if all children of a node had subtrees of one size.
        fraction, width = 0.0, 1.0
        for actions, visited in zip(self._actions, self._position, strict=True):
            width /= len(actions)
            fraction += (visited - 1) * width
        nodes = len(self._recording.kinds)
        self._bar.total = round(nodes / max(fraction, 1e-9))
        self._bar.update(nodes - self._bar.n)
