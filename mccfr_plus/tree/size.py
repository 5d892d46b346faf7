"""Estimated sizes of a game, and the memory and time that they need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mccfr_plus.errors import ConfigError
from mccfr_plus.tree.confidence_interval import Interval, number_of

# Bytes of a compiled tree; the recorder counts with them, too.
COMPILED_BYTES_PER_NODE = 21  # 16 in the tree, 5 in the recording
COMPILED_BYTES_PER_INFOSET = 250  # key object, dictionary entries, list entries, array rows; its text comes on top

# Bytes that `Solver(tree, "external", "rm")` takes on top: `solver.bytes_on_top` per slot and infoset.
SOLVER_BYTES_PER_SLOT = 56  # strategy, average, regrets, gradient, reach: 8 each; the scratch's mark: 16
SOLVER_BYTES_PER_INFOSET = 12  # the list of touched infosets

# Bytes of a lazy tree with the tables of `Solver(tree="lazy", "external", "rm")`: `tree_choice.costs_of`.
LAZY_BYTES_PER_CHILD = 20  # every child of an expanded node has a record
LAZY_BYTES_PER_INFOSET = 116
LAZY_BYTES_PER_SLOT = 104

# Seconds of kernels on one core of a Xeon at 2.5 GHz; `benchmarks/paper_sizes.py` measures all but traversals.
FULL_SECONDS_PER_NODE = 1e-8  # histories of the tree, all players together: the sequence form
# Histories visited by a sampled traversal, its update included: `benchmarks/threads.py` shows 15 to 38 million a second
# for one thread on Liar's dice on a busy machine; trees that are larger than the caches give fewer.
TRAVERSAL_SECONDS_PER_NODE = 5e-8
RULES_SECONDS_PER_NODE = 3e-7  # compiling a game with compiled rules: 110 ns a node, 350 ns more a decision

ESTIMATORS = ("full", "chance", "external", "outcome")


@dataclass(frozen=True)
class InfosetBounds:
    """Lower and upper limits of a player's number of infosets.

    Attributes:
        seen: Number of different infosets met, a certain lower limit.
        at_least: Lower limit, with the estimate's confidence (Chao 1987); can be far below the truth.
        at_most: Log10 of the upper limit of the player's number of decision nodes.
    """

    seen: int
    at_least: float
    at_most: float


@dataclass(frozen=True)
class SizeEstimate:
    """The estimated size of a game, and the memory and time that it needs.

    Attributes:
        game: OpenSpiel's text of the turn-based game.
        confidence: Of each interval.
        is_exact: Whether all histories were counted; then intervals are points.
        is_complete: False if time was up before one beam came to the end of the game: then the numbers are of the
            levels that were reached, and there are no upper limits.
        is_cut_off: Whether time was up before the sample was as large as asked for.
        histories: All nodes of the tree.
        decision_nodes: Of each player.
        chance_nodes: Chance nodes.
        terminal_nodes: Ends of the game.
        infosets: Of each player, between two limits.
        mean_actions: Mean number of actions at each player's decision nodes.
        most_actions: Largest number of actions seen at a decision node of each player.
        mean_length: Mean length of a random play, in actions of players and chance.
        longest_seen: Longest history seen.
        perfect_recall: False if an infoset was met after two different own pasts.
        external: Histories visited by one traversal of external sampling for each player, under the uniform strategy.
        chance_sampled: Histories visited by one traversal of chance sampling.
        played: Histories on one random play, the root included: a traversal of outcome sampling.
        slots_per_infoset: Mean number of actions of the infosets seen.
        text_length: Mean length of their texts, in characters.
        nodes_per_second: Histories that a traversal through pyspiel visits per second, as measured.
        has_compiled_rules: Whether compiling does without pyspiel.
        num_runs: Number of independent beams.
        width: Histories per level in each of them.
        num_nodes_seen: Histories visited, pilots included.
        seconds: How long it took, in seconds.
    """

    game: str
    confidence: float
    is_exact: bool
    is_complete: bool
    is_cut_off: bool
    histories: Interval
    decision_nodes: tuple[Interval, ...]
    chance_nodes: Interval
    terminal_nodes: Interval
    infosets: tuple[InfosetBounds, ...]
    mean_actions: tuple[float, ...]
    most_actions: tuple[int, ...]
    mean_length: float
    longest_seen: int
    perfect_recall: bool
    external: tuple[Interval, ...]
    chance_sampled: Interval
    played: Interval
    slots_per_infoset: float
    text_length: float
    nodes_per_second: float = field(compare=False)
    has_compiled_rules: bool
    num_runs: int
    width: int
    num_nodes_seen: int
    seconds: float = field(compare=False)

    def compiled_bytes(self) -> Interval:
        """Returns the memory that compiling takes, texts of information states included, in bytes."""
        texts = 0.0 if self.has_compiled_rules else self.text_length  # those are written when they are read
        return self._bytes(COMPILED_BYTES_PER_NODE, COMPILED_BYTES_PER_INFOSET + texts)

    def solver_bytes(self) -> Interval:
        """Returns what a solver with external sampling and regret matching takes on top of a tree, in bytes."""
        per_infoset = SOLVER_BYTES_PER_INFOSET + self.slots_per_infoset * SOLVER_BYTES_PER_SLOT
        return self._bytes(0, per_infoset)

    def lazy_bytes(self) -> Interval:
        """Returns the memory of a lazy tree once everything was visited, with its solver's, in bytes."""
        per_infoset = LAZY_BYTES_PER_INFOSET + self.slots_per_infoset * LAZY_BYTES_PER_SLOT
        return self._bytes(LAZY_BYTES_PER_CHILD, per_infoset)

    def compile_seconds(self) -> Interval:
        """Returns how long compiling takes, in CPU seconds on this machine."""
        per_node = RULES_SECONDS_PER_NODE if self.has_compiled_rules else 1 / self.nodes_per_second
        return _times(self.histories, per_node)

    def nodes_per_iteration(self, estimator: str) -> Interval:
        """Returns how many histories one iteration visits at first, under the uniform strategy, all players together.

        Args:
            estimator: ``"full"``, ``"chance"``, ``"external"`` or ``"outcome"``.

        Raises:
            ConfigError: If it is none of these.
        """
        players = len(self.decision_nodes)
        if estimator == "full":
            return _times(self.histories, players)
        if estimator == "chance":
            return _times(self.chance_sampled, players)
        if estimator == "outcome":
            return _times(self.played, players)
        if estimator == "external":
            return Interval(*(_log10_sum(side) for side in zip(*self.external, strict=True)))
        raise ConfigError(f"estimator={estimator!r}: give one of {', '.join(ESTIMATORS)}.")

    def seconds_per_iteration(self, estimator: str) -> Interval:
        """Returns how long one iteration takes on a compiled tree, in seconds, to the order of magnitude.

        Args:
            estimator: As for `nodes_per_iteration`.

        Raises:
            ConfigError: If it is none of those.
        """
        if estimator == "full":
            return _times(self.histories, FULL_SECONDS_PER_NODE)
        return _times(self.nodes_per_iteration(estimator), TRAVERSAL_SECONDS_PER_NODE)

    def fits(self, max_nodes: float, max_bytes: float) -> bool:
        """Returns whether the compiled tree and a solver keep within limits even at the upper ends of their intervals.

        The memory counts an infoset for each decision node where no more is known, so that False is no proof
        that a game is too large, and True is as certain as the confidence.

        Args:
            max_nodes: The largest number of histories.
            max_bytes: The largest memory, in bytes.
        """
        num_bytes = number_of(_log10_sum([self.compiled_bytes().high, self.solver_bytes().high]))
        # The tolerance is for the rounding of logarithms.
        return number_of(self.histories.high) <= max_nodes * (1 + 1e-9) and num_bytes <= max_bytes * (1 + 1e-9)

    def as_dict(self) -> dict[str, Any]:
        """Returns all numbers as plain Python values, ready for JSON; an interval is ``{log10, low, high}``."""
        values = asdict(self)
        for name in ("compiled_bytes", "solver_bytes", "lazy_bytes", "compile_seconds"):
            values[name] = getattr(self, name)()
        values["nodes_per_iteration"] = {name: self.nodes_per_iteration(name) for name in ESTIMATORS}
        values["seconds_per_iteration"] = {name: self.seconds_per_iteration(name) for name in ESTIMATORS}
        plain = _plain(values)
        assert isinstance(plain, dict)
        return plain

    def _bytes(self, per_node: float, per_infoset: float) -> Interval:
        low = log10_of(sum(bounds.at_least for bounds in self.infosets))
        high = _log10_sum([bounds.at_most for bounds in self.infosets])
        # Of what is known to a factor only, the middle of the factor.
        middle = low if self.is_exact else (low + _log10_sum([nodes.log10 for nodes in self.decision_nodes])) / 2
        limits = zip(self.histories, (middle, low, high), strict=True)
        return Interval(
            *(
                _log10_sum([log10_of(per_node) + nodes if per_node else -math.inf, log10_of(per_infoset) + infosets])
                for nodes, infosets in limits
            )
        )


def log10_of(number: float) -> float:
    """Returns the logarithm to base 10 of a number that may be 0."""
    return math.log10(number) if number > 0 else -math.inf


def _log10_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top if math.isinf(top) else top + math.log10(sum(10.0 ** (x - top) for x in logs))


def _times(interval: Interval, factor: float) -> Interval:
    return Interval(*(x + math.log10(factor) for x in interval))


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {name: number if math.isfinite(number) else None for name, number in value._asdict().items()}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
