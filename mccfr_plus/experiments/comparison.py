"""A comparison: games x algorithms x seeds, and the directory that holds their records."""

import contextlib
import datetime
import itertools
import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mccfr_plus.display import html_summary
from mccfr_plus.errors import CheckpointError, ConfigError, RecordError
from mccfr_plus.experiments.algorithm import algorithm_of
from mccfr_plus.experiments.evaluation_points import Limit, evaluation_points
from mccfr_plus.experiments.record import record_errors
from mccfr_plus.experiments.run_loop import Run
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.solver.saved_state import package_version
from mccfr_plus.trees.game import load_game

SPEC_FILE = "comparison.json"
FORMAT, VERSION = "mccfr_plus.comparison", 1
_OURS = {"runs", ".comparison.lock"}  # what a process that is killed at once leaves


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Args:
        algorithms: See `algorithm_of`.
        seeds: The same for each game and algorithm.
        num_evaluations: At how many points a run is evaluated; None: as many as cost little.

    Raises:
        ConfigError: If there is nothing to compare, something twice, or an algorithm is not known.
        GameError: If a game is not known.
    """

    games: tuple[str, ...]
    algorithms: tuple[str, ...]
    seeds: tuple[int, ...]
    limit: Limit
    num_evaluations: int | None = None

    def __post_init__(self) -> None:
        for what, items in (("games", self.games), ("algorithms", self.algorithms), ("seeds", self.seeds)):
            if not items:
                raise ConfigError(f"no {what} given: a comparison needs at least one.")
            twice = [item for item in items if items.count(item) > 1]
            if twice:
                raise ConfigError(f"{what}: {twice[0]!r} is given twice.")
        for algorithm in self.algorithms:
            algorithm_of(algorithm)
        for game in self.games:
            load_game(game)
        if self.num_evaluations is not None:
            evaluation_points(self.limit, self.num_evaluations)

    def _repr_html_(self) -> str:
        rows = {
            "games": ", ".join(self.games),
            "algorithms": ", ".join(self.algorithms),
            "seeds": ", ".join(map(str, self.seeds)),
            "length of a run": f"{self.limit.total:g} {self.limit.unit}",
        }
        return html_summary("Comparison", rows)

    def as_dict(self) -> dict[str, Any]:
        """Returns plain values, as in the directory's file."""
        return {
            "games": list(self.games),
            "algorithms": list(self.algorithms),
            "seeds": list(self.seeds),
            "unit": self.limit.unit,
            "total": self.limit.total,
            "num_evaluations": self.num_evaluations,
        }


class Directory:
    """The directory of a comparison: its description, and a record per run. One process at a time writes to it.

    Args:
        path: It is made if it is not there.
        comparison: What is compared; if the directory holds a comparison already, it must be this one.

    Raises:
        RecordError: If it holds another comparison or other files, is in use, or cannot be written.
    """

    def __init__(self, path: str | os.PathLike, comparison: Comparison):
        self.path, self.comparison = Path(path), comparison
        self._lock: CheckpointLock | None = None
        self._check()

    def _check(self) -> None:
        """Raises RecordError if the directory is no place for this comparison. Nothing is written."""
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            raise RecordError(f"{self.path} is a file: give a directory.")
        if os.path.exists(self.path / SPEC_FILE):
            found = read_comparison(self.path).as_dict()
            for name, value in self.comparison.as_dict().items():
                if found[name] != value:
                    raise RecordError(
                        f"{self.path} holds another comparison: its {name} are {found[name]!r}, not {value!r}. Give "
                        "another directory, or the same command as before."
                    )
        elif os.path.exists(self.path):
            with record_errors(self.path, "read"):
                others = set(os.listdir(self.path)) - _OURS
            if others:
                raise RecordError(f"{self.path} holds other files and no comparison: give another directory.")

    def __enter__(self) -> Self:
        with record_errors(self.path):
            (self.path / "runs").mkdir(parents=True, exist_ok=True)
        try:
            self._lock = CheckpointLock(self.path / ".comparison")
        except CheckpointError as error:
            raise RecordError(str(error)) from None
        try:
            self._check()
            spec = self.path / SPEC_FILE
            if not spec.exists():
                text = json.dumps({"format": FORMAT, "version": VERSION, **self.comparison.as_dict()}, indent=2)
                with atomic_write(spec, RecordError) as file:
                    file.write(text.encode() + b"\n")
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.release()

    def run_of(self, game: str, algorithm: str, seed: int) -> Run:
        """Returns one run, with its files' names."""
        comparison = self.comparison
        return Run(
            game,
            algorithm,
            seed,
            comparison.limit,
            self.path / "runs",
            keeps_policy=seed == comparison.seeds[0],
            num_evaluations=comparison.num_evaluations,
            evaluation_cost=max(algorithm_of(name).evaluation_cost for name in comparison.algorithms),
        )

    def runs(self) -> list[Run]:
        """Returns all runs; the first seed of all algorithms comes before the second of any.

        What does not depend on the seed is run once.
        """
        comparison = self.comparison
        return [
            self.run_of(game, algorithm, seed)
            for game in comparison.games
            for seed, algorithm in itertools.product(comparison.seeds, comparison.algorithms)
            if seed == comparison.seeds[0] or algorithm_of(algorithm).is_random
        ]


def read_comparison(path: str | os.PathLike) -> Comparison:
    """Returns the comparison that a directory holds.

    Raises:
        RecordError: If it holds none, or one of another version.
    """
    spec = Path(path) / SPEC_FILE
    try:
        with record_errors(spec, "read"):
            found = json.loads(spec.read_text(encoding="utf-8"))
        if found["format"] != FORMAT or found["version"] != VERSION:
            raise KeyError
        lists = {name: tuple(found[name]) for name in ("games", "algorithms", "seeds")}
        return Comparison(**lists, limit=Limit(found["unit"], found["total"]), num_evaluations=found["num_evaluations"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:  # the last: of JSON in JSON in JSON
        if isinstance(error, RecordError | ConfigError):
            raise
        raise RecordError(f"{spec} is no description of a comparison of this version: delete it.") from None


def about_here(command: str) -> dict[str, Any]:
    """Returns where and when something runs: versions, machine, command."""
    return {
        "command": command,
        "versions": {
            "python": platform.python_version(),
            **{name: package_version(name) for name in ("mccfr_plus", "open_spiel", "numpy", "numba")},
        },
        "machine": {"system": platform.platform(), "processor": _processor(), "cores": os.cpu_count()},
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
