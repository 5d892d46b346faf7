"""Matches between bots."""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.evaluation.strategies import chance_row
from mccfr_plus.parameters import Seed, check_whole, new_state
from mccfr_plus.trees.loading import game_as_given


class MatchResult(NamedTuple):
    """The payoff of each player in each game, ``[num_games, num_players]`` float64.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> bots = [pyspiel.make_uniform_random_bot(player, player) for player in (0, 1)]
        >>> result = mccfr_plus.play_games("kuhn_poker", bots, 100, seed=1)
        >>> result.payoffs.shape, bool(abs(result.mean.sum()) < 1e-12)
        ((100, 2), True)
    """

    payoffs: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Each player's average payoff, ``[num_players]`` float64."""
        return self.payoffs.mean(axis=0)

    @property
    def standard_error(self) -> np.ndarray:
        """Standard error of `mean` for independent games, ``[num_players]``; nan for a single game."""
        count = len(self.payoffs)
        return self.payoffs.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full_like(self.mean, np.nan)


def play_games(
    game: pyspiel.Game | str, bots: Sequence[pyspiel.Bot], num_games: int, seed: Seed = None, progress: bool = False
) -> MatchResult:
    """Plays games between bots and returns the payoffs.

    As in OpenSpiel, bots are informed of chance outcomes and of other bots' moves. If a bot has a method
    ``end_game(payoff)``, this method is called at the end of each game.

    Args:
        game: A game, turn-based or with simultaneous moves, or its game string.
        bots: One bot per player, in the order of the players, from Python or C++.
        num_games: Number of games, at least 1.
        seed: Seed for the chance outcomes; bots have their own seeds.
        progress: Whether to show a progress bar.

    Raises:
        GameError: If the game is unknown, inconsistent or a mean-field game, or if a bot's action is illegal.
        ConfigError: If there is not exactly one bot per player, or if the number of games or the seed is out of range.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> bots = [mccfr_plus.OnlineOutcomeSampling(0, horizon=1000, seed=1), pyspiel.make_uniform_random_bot(1, 1)]
        >>> bool(mccfr_plus.play_games("kuhn_poker", bots, 1000, seed=1).mean[0] > 0)
        True
    """
    game = game_as_given(game)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise GameError(f"{game} is a mean-field game: its single player is a population, so bots cannot play it.")
    if len(bots) != game.num_players() or not all(isinstance(bot, pyspiel.Bot) for bot in bots):
        given = ", ".join(type(bot).__name__ for bot in bots) or "none"
        raise ConfigError(f"bots={given}: give one pyspiel.Bot for each of the {game.num_players()} players.")
    check_whole("num_games", num_games)
    rng = random.Random(int(new_state(seed)[0]))
    listeners = [(p, bot.end_game) for p, bot in enumerate(bots) if callable(getattr(bot, "end_game", None))]
    payoffs = np.empty((num_games, game.num_players()))
    for number in tqdm(range(num_games), unit="game") if progress else range(num_games):
        payoffs[number] = returns = _play(game.new_initial_state(), bots, rng)
        for player, end_game in listeners:
            end_game(returns[player])
    return MatchResult(payoffs)


def _play(state: pyspiel.State, bots: Sequence[pyspiel.Bot], rng: random.Random) -> list[float]:
    for bot in bots:
        bot.restart_at(state)
    while not state.is_terminal():
        if state.is_simultaneous_node():
            joint = [_step(bot, player, state) for player, bot in enumerate(bots)]
            for bot in bots:
                bot.inform_actions(state, joint)
            state.apply_actions(joint)
            continue
        player = state.current_player()
        if player == pyspiel.PlayerId.CHANCE:
            row = chance_row(state)
            action = rng.choices(row.actions, row.probabilities)[0]
        else:
            action = _step(bots[player], player, state)
        for other, bot in enumerate(bots):
            if other != player:
                bot.inform_action(state, player, action)
        state.apply_action(action)
    return state.returns()


def _step(bot: pyspiel.Bot, player: int, state: pyspiel.State) -> int:
    legal = state.legal_actions(player)
    if not legal:
        return pyspiel.INVALID_ACTION
    action = bot.step(state)
    if action not in legal:
        raise GameError(
            f"the bot of player {player}, a {type(bot).__name__}, chose action {action} at history {state.history()}, "
            f"where {legal} are legal: check that it is a bot for this player."
        )
    return action
