"""Head-to-head matches on a cluster: batches of games, each with its own random stream."""

import random
import time
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_plus.cluster.batch import stream_of
from mccfr_plus.cluster.cluster import WORK_SECONDS, Cluster
from mccfr_plus.estimators.base import check_whole
from mccfr_plus.evaluation.behavior import JointPolicy
from mccfr_plus.evaluation.estimates import MIN_SAMPLES, Running
from mccfr_plus.evaluation.head_to_head import HeadToHead, result_of, seats_of
from mccfr_plus.evaluation.play import Stop, play_until
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.trees.game import load_game
from mccfr_plus.user_modules import import_user_module


def head_to_head(
    game: pyspiel.Game | str,
    first: JointPolicy,
    second: JointPolicy,
    *,
    cluster: Cluster,
    num_games: int = 10_000,
    num_batches: int = 8,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
) -> HeadToHead:
    """Returns what one policy wins per game against another, on average over all seats; see `approximate.head_to_head`.

    Games are played in batches. Each learns its own control variates, so that many small batches have a little more
    variance than a few large ones. The result depends on `seed`, `num_games` and `num_batches`, and not on the workers.

    Args:
        game: A game or a game string of any size, which workers can load.
        first: A joint policy that can be pickled.
        second: Likewise.
        cluster: A connected cluster.
        num_games: Games in all, rounded up to the same number in each batch and seat.
        num_batches: How many batches.
        confidence: Of the intervals, from 0.5 to below 1.
        seed: An integer >= 0 for a repeatable result, a numpy generator, or None.

    Raises:
        GameError: If the game is unknown, or has no explicit chance or no information states.
        PolicyError: If a policy is none, or returns no distribution.
        ConfigError: If a number or the seed makes no sense.
        ClusterError: If workers cannot load the game, or the cluster is lost.
    """
    check_whole("num_batches", num_batches)
    confidence = Stop(num_games, None, confidence, False).confidence
    begin, ray = time.perf_counter(), cluster.ray
    game = load_game(game)
    cluster.check_game(str(game))
    seats = seats_of(game, first, second, random.Random(0))  # complains about policies here, and not on a worker
    least = MIN_SAMPLES * len(seats)
    each = max(-(-num_games // num_batches), least)
    own_seed = int(new_state(seed)[0])
    policies = ray.put((first, second))
    task = ray.remote(_play).options(num_cpus=1, max_retries=-1)
    waiting = [task.remote(str(game), policies, each, own_seed, n, cluster.imports) for n in range(num_batches)]
    plain, controlled = [[Running() for _ in seats] for _ in range(2)]
    with cluster.worker_errors("a batch of games"):
        try:
            for reference in waiting:
                for whole, batch in zip((plain, controlled), ray.get(reference, timeout=WORK_SECONDS), strict=True):
                    for seat, games in zip(whole, batch, strict=True):
                        seat.merge(games)
        except ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
    return result_of(plain, controlled, confidence, time.perf_counter() - begin)


def _play(
    game: str, policies: tuple[JointPolicy, JointPolicy], num_games: int, seed: int, batch: int, imports: Sequence[str]
) -> tuple[list[Running], list[Running]]:
    for name in imports:
        import_user_module(name)
    rng = random.Random(int(stream_of(seed, batch)[0]))
    plays = seats_of(load_game(game), *policies, rng)
    plain, controlled, _ = play_until(plays, Stop(num_games, None, 0.95, False))
    return plain, controlled
