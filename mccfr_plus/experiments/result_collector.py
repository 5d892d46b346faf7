"""The desk of a comparison on a cluster: runs hand in what they find, and the program that began them fetches it.

It is an actor on the node of that program, outlives workers, and keeps what a run needs that is begun again because its
worker was lost: the points so far and the last checkpoint. Whoever begins a run again shuts out whoever had begun it
before: a worker that was only cut off is told to stop, and what it hands in is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mccfr_plus.cluster.connection import ray_module
from mccfr_plus.experiments.record import Point

# Kinds of entries. Values: the record's first line, a `Point`, a reference to bytes twice, the record's last line, and
# how often workers of the run have been lost.
HEADER, POINT, CHECKPOINT, POLICY, END, LOST = "header", "point", "checkpoint", "policy", "end", "lost"

_MOST_LOSSES = 10  # of a run that comes to nothing new: it is what kills its workers


class Entry(NamedTuple):
    """Something that a run has handed in."""

    run: int
    kind: str
    value: Any


class Begun(NamedTuple):
    """What a worker is told when it begins a run."""

    attempt: int  # names the worker in what it hands in
    points: list[Point]  # so far
    ended: dict[str, Any] | None  # the record's last line, if a lost worker had come so far
    checkpoint: Any  # a reference to bytes, or None
    is_wanted: bool  # False: end without doing anything
    problem: str | None  # why the run is given up


@dataclass
class Shelf:
    """What is kept of a run."""

    points: list[Point] = field(default_factory=list)
    checkpoint: Any = None
    ended: dict[str, Any] | None = None
    attempt: int = 0
    losses: int = 0  # since it has last come to something
    is_wanted: bool = True


class Desk:
    """Takes in what runs find, each thing once and in order.

    Args:
        shelves: What was kept of each run before, by number.
    """

    def __init__(self, shelves: dict[int, Shelf]):
        self._ray = ray_module()
        self._shelves = shelves
        self._entries: list[Entry] = []
        self._fetched = 0  # entries that are no longer in the list
        self._progress: dict[int, float] = {}
        self._is_stopped = False

    # --- for workers ---

    def begin(self, run: int) -> Begun:
        """Begins a run, for the first time or because its worker was lost."""
        shelf = self._shelves[run]
        shelf.attempt += 1
        problem = None
        if shelf.attempt > 1:
            shelf.losses += 1
            self._entries.append(Entry(run, LOST, shelf.attempt - 1))
            if shelf.losses > _MOST_LOSSES:
                problem = (
                    f"its workers were lost {shelf.losses} times without anything new: perhaps each was killed because "
                    "memory was short there. What was recorded is kept."
                )
        return Begun(shelf.attempt, list(shelf.points), shelf.ended, shelf.checkpoint, self._goes_on(shelf), problem)

    def hand_in(self, run: int, attempt: int, kind: str, value: Any) -> bool:
        """Takes an entry, whose bytes are kept apart from it; returns whether the worker shall go on."""
        shelf = self._shelves[run]
        if attempt != shelf.attempt or shelf.ended is not None:
            return False
        if kind == POINT:
            if shelf.points and value.target <= shelf.points[-1].target:
                return self._goes_on(shelf)
            shelf.points.append(value)
        elif kind in (CHECKPOINT, POLICY):
            value = self._ray.put(value)  # belongs to this actor: what a worker had put would be lost with it
            if kind == CHECKPOINT:
                shelf.checkpoint = value
        elif kind == END:
            shelf.ended, shelf.checkpoint = value, None
        if kind != HEADER:
            shelf.losses = 0
        self._entries.append(Entry(run, kind, value))
        return self._goes_on(shelf)

    def tell(self, run: int, attempt: int, progress: float) -> bool:
        """Hears how far a run is, from 0 to 1; returns whether the worker shall go on."""
        shelf = self._shelves[run]
        if attempt != shelf.attempt:
            return False
        self._progress[run] = progress
        return self._goes_on(shelf)

    def _goes_on(self, shelf: Shelf) -> bool:
        return shelf.is_wanted and not self._is_stopped

    # --- for the program ---

    def fetch(self, known: int) -> tuple[list[Entry], dict[int, float]]:
        """Returns all entries after the first `known` ones, and the progress of runs since the last call.

        An answer that was lost, as when Ctrl-C comes while it is under way, can be had again.
        """
        del self._entries[: known - self._fetched]
        self._fetched = known
        progress, self._progress = self._progress, {}
        return list(self._entries), progress

    def stop(self) -> set[int]:
        """Has all workers save a checkpoint and end; returns the runs that were ever begun."""
        self._is_stopped = True
        return {run for run, shelf in self._shelves.items() if shelf.attempt}

    def drop(self, run: int) -> None:
        """Has a run's worker end."""
        self._shelves[run].is_wanted = False
