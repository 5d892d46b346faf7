"""What is run once: a game, an algorithm, a seed, how long, and where its files are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mccfr_plus.experiments.evaluation_points import Limit


@dataclass(frozen=True)
class Run:
    """What is run, and where its files are."""

    game: str
    algorithm: str
    seed: int
    limit: Limit
    points: tuple[float, ...]  # where to measure, in the limit's unit
    record: Path
    checkpoint: Path
    policy: Path | None  # where the final policy is written; None: it is not

    def header(self, about: dict[str, Any]) -> dict[str, Any]:
        """Returns the first line of the record: what was run, and `about` where and when."""
        return {
            "game": self.game,
            "algorithm": self.algorithm,
            "seed": self.seed,
            "unit": self.limit.unit,
            "total": self.limit.total,
            "points": list(self.points),
            **about,
        }
