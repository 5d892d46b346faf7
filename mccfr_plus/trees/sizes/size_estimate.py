"""Estimates the size of a game from independent beams, see `mccfr_plus.trees.sizes.beam`."""

import math
import time
import weakref
from collections.abc import Callable, Sequence

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.random_numbers import as_python, new_state
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.sizes.beam import Beam, Sampler
from mccfr_plus.trees.sizes.size import (
    COMPILED_BYTES_PER_INFOSET,
    COMPILED_BYTES_PER_NODE,
    ESTIMATORS,
    SOLVER_BYTES_PER_INFOSET,
    SOLVER_BYTES_PER_SLOT,
    Interval,
    SizeEstimate,
    interval_of,
    log_sum,
)

_BEAMS = 20
_PILOT_WIDTH = 8
_MAX_WIDTH = 20_000  # states in memory
_COUNT_SHARE = 0.5  # of the sample: a game with fewer histories, by the pilot's estimate, is counted
_PROBE_SIZE, _PROBE_BEAMS = 10_000, 10
# Of CPU time. All but a few games take a small part of it, so that the probe depends on the seed alone; one history of
# bridge takes half a second.
_PROBE_SECONDS = 3.0


def estimate_size(
    game: pyspiel.Game | str,
    *,
    sample_size: int = 100_000,
    seconds: float | None = None,
    seed: int | np.random.Generator | None = None,
    progress: bool | None = False,
) -> SizeEstimate:
    """Returns an estimate of the size of a game, whatever the size: nothing is compiled.

    Args:
        game: A `pyspiel.Game` or a game string, as for `compile_game`.
        sample_size: Number of histories to visit, at least 1: about as many, fewer if the game is small enough to be
            counted, more if the beams need them. 10,000 suffice for an order of magnitude.
        seconds: Time limit in seconds; None: no limit. A sample that it ends depends on the machine's speed.
        seed: Seed of the sample.
        progress: Whether to show a progress bar on work over a second; None: if standard error is a terminal.

    Raises:
        GameError: If the game is unknown, of a kind that cannot be compiled, raises an error or contradicts itself.
        ConfigError: If `sample_size`, `seconds` or `seed` is out of range.

    Examples:
        >>> import mccfr_plus
        >>> estimate = mccfr_plus.estimate_size("kuhn_poker", seed=1)
        >>> estimate.is_exact, round(estimate.histories.value), round(estimate.traversals["external"].value, 2)
        (True, 58, 7.25)
        >>> estimate.fits(max_nodes=50_000_000, max_bytes=8 << 30)
        True

    References: Knuth 1975; Chen 1992; Vaisman, Kroese 2017 (see `mccfr_plus.trees.sizes.beam`).
    """
    sample_size, seconds = map(as_python, (sample_size, seconds))
    for name, value, is_right, allowed in (
        ("sample_size", sample_size, lambda x: 1 <= x < 2**63 and x == int(x), "a whole number above 0"),
        ("seconds", 1.0 if seconds is None else seconds, lambda x: 0 < x < math.inf, "a positive number"),
    ):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not is_right(value):
            raise ConfigError(f"{name}={value!r}: must be {allowed}.")
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    loaded = load_game(game)
    return _estimate(loaded, int(sample_size), _BEAMS, lambda: time.monotonic() > deadline, seed, progress)


def probe_size(game: pyspiel.Game) -> SizeEstimate:
    """Returns an estimate from 10,000 histories, for choices before a run; from fewer if they take too much CPU time.

    The estimate is kept as long as its game, since one run makes several choices.

    Raises:
        GameError: See `estimate_size`.
    """
    found = _probes.get(id(game))
    if found is None:
        end = time.process_time() + _PROBE_SECONDS
        found = _estimate(game, _PROBE_SIZE, _PROBE_BEAMS, lambda: time.process_time() > end, seed=0, progress=False)
        _probes[id(game)] = found
        weakref.finalize(game, _probes.pop, id(game))
    return found


_probes: dict[int, SizeEstimate] = {}  # by the identity of games, which have no hash


def _estimate(
    game: pyspiel.Game,
    sample_size: int,
    num_beams: int,
    is_over: Callable[[], bool],
    seed: int | np.random.Generator | None,
    progress: bool | None,
) -> SizeEstimate:
    sampler = Sampler(game, np.random.default_rng(int(new_state(seed)[0])))
    beams = _beams(sampler, sample_size, num_beams, is_over, progress)
    is_exact = beams[0].is_exact
    visits = [interval_of(logs, is_exact=is_exact) for logs in np.transpose([beam.visits for beam in beams])]
    kinds = [interval_of(logs, is_exact=is_exact) for logs in np.transpose([beam.kinds for beam in beams])]
    terminal_nodes, chance_nodes, *decision_nodes = kinds
    return SizeEstimate(
        game=str(game),
        is_exact=is_exact,
        histories=visits[0],
        decision_nodes=tuple(decision_nodes),
        chance_nodes=chance_nodes,
        terminal_nodes=terminal_nodes,
        traversals=dict(zip(ESTIMATORS, visits, strict=True)),
        infosets_seen=sampler.infosets_seen,
        perfect_recall=sampler.perfect_recall,
        depth=max(beam.depth for beam in beams),
        compiled_bytes=_compiled_bytes(sampler, is_exact, visits[0], decision_nodes),
        is_complete=beams[0].is_complete,
        visited=sampler.visited,
    )


def _compiled_bytes(
    sampler: Sampler, is_exact: bool, histories: Interval, decision_nodes: Sequence[Interval]
) -> Interval:
    """Returns the memory of the compiled tree and a solver: between the infosets seen and all decision nodes."""
    seen = max(sum(sampler.infosets_seen), 1)
    texts_and_slots = sampler.text_length + sampler.num_slots * SOLVER_BYTES_PER_SLOT
    per_infoset = COMPILED_BYTES_PER_INFOSET + SOLVER_BYTES_PER_INFOSET + texts_and_slots / seen
    low = math.log10(seen)
    middle, high = (float(log_sum([getattr(nodes, end) for nodes in decision_nodes])) for end in ("log10", "high"))
    # Of a number that is known to a factor only, the middle of the factor.
    infosets = [low] * 3 if is_exact else [(low + middle) / 2, low, high]
    nodes = histories.times(COMPILED_BYTES_PER_NODE)
    return Interval(*(float(log_sum([n, i + math.log10(per_infoset)])) for n, i in zip(nodes, infosets, strict=True)))


def _beams(
    sampler: Sampler, sample_size: int, num_beams: int, is_over: Callable[[], bool], progress: bool | None
) -> list[Beam]:
    """Returns independent beams of one width: a single one if it is exact, or if there is no complete one."""
    pilot = sampler.beam(_PILOT_WIDTH, is_over)
    width = _PILOT_WIDTH * sample_size / (num_beams * sampler.visited)
    if pilot.is_exact or not pilot.is_complete:
        return [pilot]
    if pilot.visits[0] < math.log10(_COUNT_SHARE * sample_size):
        count = sampler.beam(_MAX_WIDTH, lambda: is_over() or sampler.visited > sample_size)
        if count.is_exact:
            return [count]
    found: list[Beam] = []
    disable, bar = None if progress is None else not progress, "{l_bar}{bar}| {elapsed}"
    for _ in tqdm(range(num_beams), "sampling the game", bar_format=bar, delay=1.0, disable=disable, leave=False):
        found.append(sampler.beam(int(min(max(width, 1), _MAX_WIDTH)), is_over))
        if not found[-1].is_complete:
            found.pop()
            break
    return found or [pilot]
