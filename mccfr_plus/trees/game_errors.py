"""Checks the answers of games: every error that a game causes names game, history and action."""

import math
from collections.abc import Sequence

import pyspiel

from mccfr_plus.errors import GameError, MccfrPlusError
from mccfr_plus.games.rules import CHANCE, TERMINAL

Outcomes = tuple[tuple[int, float], ...]

_TOLERANCE = 1e-6  # of the sum of a chance node's probabilities


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
    """Returns the legal actions of a decision node: between 1 and `most`."""
    if not 0 < len(actions) <= most:
        raise WrongAnswerError(
            f"a decision node with {len(actions)} legal actions, where num_distinct_actions() allows 1 to {most}"
        )
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
