"""Traversals a pyspiel game once, depth first: memory holds one path of states, not a level."""

from __future__ import annotations

import pyspiel
from tqdm import tqdm

from mccfr_plus.errors import GameError
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.budget import Budget
from mccfr_plus.tree.chance import checked_outcomes
from mccfr_plus.tree.costs import COMPILED_BYTES_PER_INFOSET, COMPILED_BYTES_PER_NODE
from mccfr_plus.tree.recording import Recording

_CHECK_EVERY = 1024  # nodes between looks at the clock and the budget


def record(game: pyspiel.Game, budget: Budget, progress: bool | None) -> Recording:
    """Returns the recording of a turn-based game.

    Args:
        game: A game that `load_game` has accepted.
        budget: The largest number of histories to accept, and the largest memory, by an estimate from what was seen.
        progress: Whether to show a progress bar once the traversal takes over a second; None: if standard error is a
            terminal.

    Raises:
        BudgetError: If the tree is larger than the budget, with an estimate of its size.
        GameError: If the game contradicts itself (legal actions that differ within an infoset, probabilities that
            do not sum to one).
    """
    return _Recorder(game, budget, progress).run()


class _Recorder:
    def __init__(self, game: pyspiel.Game, budget: Budget, progress: bool | None):
        self._game = game
        self._budget = budget
        self._recording = Recording(game.num_players())
        self._infosets: list[dict[str, int]] = [{} for _ in range(game.num_players())]
        self._key_bytes = 0
        disable = None if progress is None else not progress
        self._bar = tqdm(
            desc="compiling the tree", unit=" nodes", unit_scale=True, delay=1.0, disable=disable, leave=False
        )

    def run(self) -> Recording:
        with self._bar:
            self._walk()
        return self._recording

    def _walk(self) -> None:
        # The loop body runs once per node; what it needs is in local names for speed.
        recording = self._recording
        add_kind, add_payload = recording.kinds.append, recording.payloads.append
        infosets, infoset_actions = self._infosets, recording.infoset_actions
        distributions: dict[tuple[tuple[int, float], ...], int] = {}
        distribution_actions: list[list[int]] = []
        payoffs: dict[tuple[float, ...], int] = {}
        terminal = int(pyspiel.PlayerId.TERMINAL)
        chance = int(pyspiel.PlayerId.CHANCE)
        frames: list[tuple[pyspiel.State, list[int]]] = []  # one per inner node on the path
        position: list[int] = []  # per frame, the child to visit next
        state = self._game.new_initial_state()
        countdown = _CHECK_EVERY
        while True:
            countdown -= 1
            if not countdown:
                countdown = _CHECK_EVERY
                self._check(frames, position)
            player = state.current_player()
            if player >= 0:
                key = state.information_state_string()
                actions = state.legal_actions()
                infoset = infosets[player].get(key)
                if infoset is None:
                    infoset = self._new_infoset(player, key, actions)
                elif actions != infoset_actions[infoset]:
                    raise GameError(
                        f"{self._game.get_type().short_name} gives the information state {key!r} of player {player} "
                        f"two sets of legal actions, {infoset_actions[infoset]} and {actions}: its information states "
                        "do not tell apart what the player can tell apart."
                    )
                add_kind(player)
                add_payload(infoset)
            elif player == terminal:
                returns = tuple(state.returns())
                payoff = payoffs.get(returns)
                if payoff is None:
                    payoff = payoffs[returns] = len(payoffs)
                add_kind(TERMINAL)
                add_payload(payoff)
                while position and position[-1] == len(frames[-1][1]):
                    position.pop()
                    frames.pop()
                if not frames:
                    break
                state, actions = frames[-1]
                index = position[-1]
                position[-1] = index + 1
                action = actions[index]
                if index + 1 < len(actions):
                    state = state.child(action)
                else:
                    state.apply_action(action)  # nobody needs the parent any more
                continue
            elif player == chance:
                outcomes = tuple(state.chance_outcomes())
                distribution = distributions.get(outcomes)
                if distribution is None:
                    possible = checked_outcomes(self._game, outcomes)
                    distribution = distributions.get(possible)
                    if distribution is None:
                        distribution = distributions[possible] = len(distribution_actions)
                        distribution_actions.append([action for action, _ in possible])
                        recording.distributions.append(possible)
                    distributions[outcomes] = distribution
                actions = distribution_actions[distribution]
                add_kind(CHANCE)
                add_payload(distribution)
            else:
                raise GameError(
                    f"{self._game.get_type().short_name} has a node of a kind that is no decision, chance or terminal "
                    f"node (current player {player}): only turn-based games with explicit chance can be compiled."
                )
            frames.append((state, actions))
            position.append(1)
            if len(actions) > 1:
                state = state.child(actions[0])
            else:
                state.apply_action(actions[0])
        recording.payoffs = list(payoffs)
        self._look_at_budget()

    def _new_infoset(self, player: int, key: str, actions: list[int]) -> int:
        if not actions:
            raise GameError(
                f"{self._game.get_type().short_name} has a decision node of player {player} without legal actions, at "
                f"information state {key!r}."
            )
        recording = self._recording
        index = len(recording.infoset_key)
        self._infosets[player][key] = index
        self._key_bytes += len(key)
        recording.infoset_player.append(player)
        recording.infoset_key.append(key)
        recording.infoset_actions.append(actions)
        return index

    def _check(self, frames: list[tuple[pyspiel.State, list[int]]], position: list[int]) -> None:
        self._look_at_budget()
        if not self._bar.disable:
            nodes = len(self._recording.kinds)
            self._bar.total = round(nodes / max(_fraction_done(frames, position), 1e-9))
            self._bar.update(nodes - self._bar.n)

    def _look_at_budget(self) -> None:
        recording = self._recording
        nodes = len(recording.kinds)
        self._budget.check(
            nodes,
            nodes * COMPILED_BYTES_PER_NODE + len(recording.infoset_key) * COMPILED_BYTES_PER_INFOSET + self._key_bytes,
        )


def _fraction_done(frames: list[tuple[pyspiel.State, list[int]]], position: list[int]) -> float:
    """Returns the share of the tree before the current path if all children of a node were of one size."""
    fraction, width = 0.0, 1.0
    for (_, actions), visited in zip(frames, position, strict=True):
        width /= len(actions)
        fraction += (visited - 1) * width
    return fraction
