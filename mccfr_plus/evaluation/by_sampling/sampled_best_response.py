"""A best response in a sampled game: an upper and a lower bound of what a best response wins."""

from __future__ import annotations

import random
import time
from typing import NamedTuple

import numpy as np
import pyspiel
from tqdm import tqdm

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.by_sampling.behavior import Behavior, JointPolicy, Row, new_row
from mccfr_plus.evaluation.by_sampling.controlled_play import ControlledPlay
from mccfr_plus.evaluation.by_sampling.estimate import MIN_SAMPLES, Estimate, Running, mean_estimate, require_integer
from mccfr_plus.evaluation.by_sampling.play_until import Stop, play_until, require_player
from mccfr_plus.evaluation.by_sampling.response import Response
from mccfr_plus.evaluation.by_sampling.sampled_game import Budget, SampledGame
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.tree.game import load_game


class SampledBestResponse(NamedTuple):
    """Two bounds of a best response's value, and the strategy that reaches the lower one."""

    upper: Estimate | None  # of the best response's value; None if own decisions were limited in depth
    lower: Estimate  # of the best response's value: what `policy` wins in fresh games
    policy: Response  # the evaluated policy, with the player's part replaced
    nodes: int  # histories that were traversed


def sampled_best_response(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    player: int,
    *,
    num_samples: int = 1000,
    repetitions: int = 8,
    num_games: int = 1000,
    depth: int | None = None,
    max_nodes: int = 5_000_000,
    seconds: float | None = None,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> SampledBestResponse:
    """Returns bounds of what a best response to a policy wins, from best responses in sampled games.

    A sampled game consists of `num_samples` independent draws of all that the player does not decide: chance's choice
    at each history, each opponent's action at each of his information states. Any fixed strategy of the player wins on
    average over sampled games what it wins in the game; the best strategy of each sampled game therefore wins at least
    as much on average as the best strategy of the game: E max >= max E. That is the upper bound, its interval is
    over `repetitions` independent sampled games. Played in fresh games, a response can win no more than the best one,
    which is the lower bound. It takes at each information state the action that was best over all repetitions, and
    does what `policy` does where none has been. Both close in on the value as `num_samples` is_lazy.

    Args:
        game: A game or a game string, of perfect recall; simultaneous moves are made turn-based. All own actions are
            traversed, so that own decisions in a row have to be few, or `depth` small; all else may be of any size.
        policy: The policy to respond to: any of OpenSpiel's, from Python or C++; a mapping from information states to
            {action: probability}, uniform where it has no entry; a function from states to that; or a list of one of
            these per player.
        player: Who responds, 0 .. num_players - 1.
        num_samples: Samples per sampled game, at least 1.
        repetitions: Sampled games, at least 4.
        num_games: Fresh games for the lower bound, at least 4.
        depth: How many own decisions of a play are free, at least 1; later ones follow `policy`. None for all. With a
            limit there is no upper bound, as better strategies may differ from `policy` later on.
        max_nodes: Histories that all repetitions together may traversal, of some 10 microseconds each.
        seconds: Wall-clock time that all repetitions together may take, or None for no limit.
        confidence: Of the intervals, from 0.5 to below 1.
        seed: An integer >= 0 for a repeatable result, a numpy generator, or None.
        progress: Whether to show a progress bar.

    Raises:
        GameError: If the game is unknown, or has no explicit chance or no information states.
        PolicyError: If the policy is none, or does not answer with a distribution where it is asked.
        ConfigError: If a number, the player or the seed makes no sense.
        BudgetError: If the traversal takes more than `max_nodes` or `seconds`.

    Example:
        >>> from mccfr_plus.evaluation.by_sampling import sampled_best_response
        >>> result = sampled_best_response("kuhn_poker", {}, player=0, seed=1)  # to uniform play: 0.5
        >>> result.lower.low < 0.5 < result.upper.high
        True
    """
    stop = Stop(num_games, None, None, confidence, progress)
    require_integer("num_samples", num_samples, 1)
    require_integer("repetitions", repetitions, MIN_SAMPLES)
    require_integer("max_nodes", max_nodes, 1)
    if depth is not None:
        require_integer("depth", depth, 1)
    if seconds is not None and not 0 < seconds < np.inf:
        raise ConfigError(f"seconds={seconds!r}: give a positive number, or None.")
    game = load_game(game)
    require_player(game, player)
    state = new_state(seed)
    rng = random.Random(int(state[0]))
    words = np.random.default_rng(state)
    behavior = Behavior(game, policy)
    begin = time.perf_counter()
    budget = Budget(max_nodes, seconds)
    totals: dict[str, dict[int, float]] = {}
    values = Running()
    for _ in tqdm(range(repetitions), unit="sampled game", disable=not progress):
        drawn = words.integers(0, 2**64, num_samples, np.uint64)
        values.add(SampledGame(game, behavior, player, drawn, depth, budget).solve(totals))
    spent = time.perf_counter() - begin
    best = {info_state: max(sums, key=sums.__getitem__) for info_state, sums in totals.items()}

    def row_of(state: pyspiel.State) -> Row:
        info_state = state.information_state_string()
        action = best.get(info_state)
        return behavior.row(state) if action is None else new_row(info_state, (action,), (1.0,))

    response = Response(game, player, row_of, behavior)
    _, controlled, played = play_until([ControlledPlay(game, response.row, player, rng)], stop)
    return SampledBestResponse(
        upper=None if depth is not None else mean_estimate(values, "upper bound", confidence, spent),
        lower=mean_estimate(controlled[0], "lower bound", confidence, spent + played),
        policy=response,
        nodes=budget.nodes,
    )
