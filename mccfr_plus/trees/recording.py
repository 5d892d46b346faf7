"""Records a game through pyspiel, and checks what it answers: every error names game, history and action."""

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import GameError, MccfrPlusError
from mccfr_plus.games.rules import CHANCE, TERMINAL

Outcomes = tuple[tuple[int, float], ...]

_TOLERANCE = 1e-6  # of the sum of a chance node's probabilities
_CHECK_EVERY = 1024  # nodes between two checks of the budget

# Bytes of a compiled tree; recording a game counts with them, too.
COMPILED_BYTES_PER_NODE = 21  # 16 in the tree, 5 in the recording
COMPILED_BYTES_PER_INFOSET = 250  # key object, dictionary entries, list entries, array rows; its text comes on top


class WrongAnswerError(Exception):
    """Something that no game may return, such as a payoff that is not a number. `game_error` adds where it occurred."""


def game_error(game: pyspiel.Game | str, history: Sequence[int], problem: Exception) -> MccfrPlusError:
    """Returns the error to raise for a problem with a game: a `GameError` that says where it occurred.

    Args:
        game: The game, or its string.
        history: The actions that lead to the node at which the problem occurred.
        problem: What the game has raised, or a `WrongAnswerError`; errors of this package are returned as they are.
    """
    if isinstance(problem, MccfrPlusError):
        return problem
    where = f"at history {list(history[:-1])}, action {history[-1]}" if history else "at history []"
    if isinstance(problem, WrongAnswerError):
        return GameError(f"{game}, {where}: {problem}.")
    error = GameError(f"{game} raised {type(problem).__name__} {where}: {problem}")
    error.__cause__ = problem
    return error


def checked_outcomes(outcomes: Sequence[tuple[int, float]]) -> Outcomes:
    """Returns the outcomes of a chance node without those of probability 0, which no play reaches."""
    possible = tuple((action, probability) for action, probability in outcomes if probability != 0)
    probabilities = [probability for _, probability in possible]
    if not all(0 <= probability < math.inf for probability in probabilities):
        raise WrongAnswerError(f"probabilities of chance must be finite and not negative, and not {probabilities}")
    total = math.fsum(probabilities)
    if abs(total - 1.0) > _TOLERANCE:
        raise WrongAnswerError(f"the probabilities of chance sum to {total:.9g} instead of 1")
    return possible


def checked_returns(returns: Sequence[float], num_players: int) -> tuple[float, ...]:
    """Returns the payoffs of all players: one finite number each."""
    payoffs = tuple(returns)
    if len(payoffs) != num_players or not all(map(math.isfinite, payoffs)):
        raise WrongAnswerError(f"returns() must be {num_players} finite numbers, and not {list(payoffs)}")
    return payoffs


def checked_actions(actions: list[int], most: int) -> list[int]:
    """Returns the legal actions of a decision node: between 1 and `most`, all of them different."""
    if not 0 < len(actions) <= most:
        raise WrongAnswerError(
            f"a decision node with {len(actions)} legal actions, where num_distinct_actions() allows 1 to {most}"
        )
    if len(set(actions)) < len(actions):
        raise WrongAnswerError(f"the legal actions {actions} of a decision node are not all different")
    return actions


def read_node(game: pyspiel.Game, state: pyspiel.State) -> tuple[int, list[int], list[float]]:
    """Returns who moves at a state, the actions of a player or of chance, and their probabilities in random play.

    At the end of the game there are no actions, and the payoffs are checked.
    """
    player = int(state.current_player())
    if player >= 0:
        actions = checked_actions(state.legal_actions(), game.num_distinct_actions())
        return player, actions, [1 / len(actions)] * len(actions)
    if player == CHANCE:
        outcomes = checked_outcomes(state.chance_outcomes())
        return player, [action for action, _ in outcomes], [probability for _, probability in outcomes]
    if player != TERMINAL:
        raise unknown_mover(player)
    checked_returns(state.returns(), game.num_players())
    return player, [], []


def require_end(game: pyspiel.Game, num_moves: int) -> None:
    """Raises WrongAnswerError if a history has no end in sight: it is much longer than the game says."""
    length, chances = game.max_game_length(), max(game.max_chance_nodes_in_history(), 0)
    if num_moves > 10 * (length + chances) + 1000:
        raise WrongAnswerError(
            f"no end after {num_moves:,} moves, where max_game_length() is {length:,} and "
            f"max_chance_nodes_in_history() {chances:,}: do moves change the state"
        )


def unknown_mover(player: int) -> WrongAnswerError:
    """Returns the error for a current player that is no player, chance or the end of the game."""
    return WrongAnswerError(f"a node of a kind that is no decision, chance or terminal node (current player {player})")


def different_actions(info_state: str, player: int, known: Sequence[int], found: Sequence[int]) -> WrongAnswerError:
    """Returns the error for an information state with two sets of legal actions."""
    return WrongAnswerError(
        f"information state {info_state!r} of player {player} has two sets of legal actions, {list(known)} and "
        f"{list(found)}: it does not tell apart what the player can tell apart"
    )


# --- recording ---


@dataclass
class Recording:
    """What a depth-first traversal saw, in this order: the numbers of children tell where each node is."""

    num_players: int
    max_depth: int = 0  # longest history, in actions of players and chance
    kinds: array = field(default_factory=lambda: array("b"))  # per node: its player, CHANCE or TERMINAL
    payloads: array = field(default_factory=lambda: array("i"))  # per node: infoset, distribution or payoff index
    infoset_player: list[int] = field(default_factory=list)
    infoset_key: list[str] = field(default_factory=list)
    infoset_actions: list[list[int]] = field(default_factory=list)
    distributions: list[Outcomes] = field(default_factory=list)
    payoffs: list[tuple[float, ...]] = field(default_factory=list)


def compiling_bar(progress: bool | None) -> tqdm:
    """Returns a progress bar for work over a second; None shows it if standard error is a terminal."""
    disable = None if progress is None else not progress
    return tqdm(desc="compiling the tree", unit=" nodes", unit_scale=True, delay=1.0, disable=disable, leave=False)


def show_fraction(bar: tqdm, num_nodes: int, num_actions: Sequence[int], num_taken: Sequence[int]) -> None:
    """Updates the bar of a traversal, given the actions of each node on the path and how many of them were taken."""
    if bar.disable:
        return
    # The fraction of the tree before the current path, if all children of a node had subtrees of one size.
    fraction, width = 0.0, 1.0
    for actions, taken in zip(num_actions, num_taken, strict=True):
        width /= actions
        fraction += (taken - 1) * width
    bar.total = round(num_nodes / max(fraction, 1e-9))
    bar.update(num_nodes - bar.n)


def record(game: pyspiel.Game, check_budget: Callable[[int, int], None], progress: bool | None) -> Recording:
    """Returns the recording of a turn-based game.

    Now and then `check_budget` is called with the numbers of nodes and bytes so far; see `memory.Budget.check`. Errors
    of the game, and contradictions in it, are GameErrors that name history and action.
    """
    path: list[list[Any]] = []
    with compiling_bar(progress) as bar:
        try:
            return _traverse(game, path, check_budget, bar)
        except Exception as error:
            named = game_error(game, [actions[taken - 1] for _, actions, taken in path], error)
            try:
                raise named from named.__cause__
            finally:
                del named  # or this frame and the error would keep one another, with all that was recorded


def _traverse(
    game: pyspiel.Game, path: list[list[Any]], check_budget: Callable[[int, int], None], bar: tqdm
) -> Recording:
    """Returns the recording. `path` lists state, actions and number of actions taken of the inner nodes above."""
    # The loop body runs once per node; what it needs is in local names for speed.
    recording = Recording(game.num_players())
    add_kind, add_payload = recording.kinds.append, recording.payloads.append
    infosets: list[dict[str, int]] = [{} for _ in range(recording.num_players)]
    infoset_actions, key_bytes = recording.infoset_actions, 0
    distributions: dict[Outcomes, int] = {}
    payoffs: dict[tuple[float, ...], int] = {}
    state, countdown = game.new_initial_state(), _CHECK_EVERY

    def check() -> None:
        nodes = len(recording.kinds)
        num_bytes = nodes * COMPILED_BYTES_PER_NODE + len(infoset_actions) * COMPILED_BYTES_PER_INFOSET + key_bytes
        check_budget(nodes, num_bytes)
        show_fraction(bar, nodes, [len(actions) for _, actions, _ in path], [taken for *_, taken in path])
        require_end(game, len(path))

    while True:
        countdown -= 1
        if not countdown:
            countdown = _CHECK_EVERY
            check()
        player, actions = state.current_player(), []
        if player >= 0:
            key, actions = state.information_state_string(), state.legal_actions()
            payload = infosets[player].get(key)
            if payload is None:
                payload = infosets[player][key] = len(infoset_actions)
                key_bytes += len(key)
                infoset_actions.append(checked_actions(actions, game.num_distinct_actions()))
                recording.infoset_player.append(player)
                recording.infoset_key.append(key)
            elif actions != infoset_actions[payload]:
                raise different_actions(key, player, infoset_actions[payload], actions)
            add_kind(player)
        elif player == TERMINAL:
            returns = tuple(state.returns())
            payload = payoffs.get(returns)
            if payload is None:
                payload = payoffs[checked_returns(returns, recording.num_players)] = len(payoffs)
            add_kind(TERMINAL)
        elif player == CHANCE:
            outcomes = tuple(state.chance_outcomes())
            payload = distributions.get(outcomes)
            if payload is None:
                possible = checked_outcomes(outcomes)
                payload = distributions.setdefault(possible, len(recording.distributions))
                if payload == len(recording.distributions):
                    recording.distributions.append(possible)
                distributions[outcomes] = payload
            actions = [action for action, _ in recording.distributions[payload]]
            add_kind(CHANCE)
        else:
            raise unknown_mover(player)
        add_payload(payload)
        if actions:
            path.append([state, actions, 0])
            recording.max_depth = max(recording.max_depth, len(path))
        while path and path[-1][2] == len(path[-1][1]):
            path.pop()
        if not path:
            break
        state, actions, taken = path[-1]
        path[-1][2] = taken + 1
        if taken + 1 < len(actions):
            state = state.child(actions[taken])
        else:
            state.apply_action(actions[taken])  # the parent's state has served
    recording.payoffs = list(payoffs)
    check()
    return recording
