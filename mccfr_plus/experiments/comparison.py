"""A comparison: games x algorithms x seeds, and the directory that holds their records."""

import contextlib
import datetime
import itertools
import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mccfr_plus.errors import CheckpointError, ConfigError, RecordError
from mccfr_plus.experiments.algorithms import Algorithm, algorithm_of, name_of
from mccfr_plus.experiments.runs import Limit, Run, evaluation_points
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.files.checkpoint import CheckpointLock
from mccfr_plus.files.json_files import check, file_errors, number, positive
from mccfr_plus.solver.saved_state import package_version
from mccfr_plus.trees.loading import load_game, text_of

SPEC_FILE, RUNS = "comparison.json", "runs"
FORMAT, VERSION = "mccfr_plus.comparison", 2
_OURS = {RUNS, ".comparison.lock"}  # what a process that is killed at once leaves
_SCHEMA = {
    "format": FORMAT,
    "version": VERSION,
    "games": [str],
    "algorithms": {str: str},
    "seeds": [int],
    "unit": str,
    "total": number,
    "num_evaluations": (positive, None),
}


@dataclass(frozen=True)
class Comparison:
    """Games, algorithms and seeds to compare. What is unknown or given twice is an error."""

    games: tuple[str, ...]  # their names
    algorithms: tuple[str, ...]  # their names
    seeds: tuple[int, ...]  # the same for each game and algorithm
    limit: Limit
    num_evaluations: int | None = None  # of a run; None: as many as cost little
    game_objects: Mapping[str, Any] = field(default_factory=dict)  # of games that are not given as text
    definitions: Mapping[str, Any] = field(default_factory=dict)  # of algorithms that have other names

    def __post_init__(self) -> None:
        for what, items in (("games", self.games), ("algorithms", self.algorithms), ("seeds", self.seeds)):
            if not items:
                raise ConfigError(f"there are no {what}: give at least one.")
            if twice := [item for item in items if items.count(item) > 1]:
                how = " Give a mapping from names to algorithms." if what == "algorithms" else ""
                raise ConfigError(f"{what}: {twice[0]!r} is given twice.{how}")
        for name in self.algorithms:
            self.algorithm(name)
        for game in (game for game in self.games if game not in self.game_objects):
            load_game(game)
        if self.num_evaluations is not None:
            evaluation_points(self.limit, self.num_evaluations)

    def algorithm(self, name: str) -> Algorithm:
        return algorithm_of(self.definitions.get(name, name))

    def as_dict(self) -> dict[str, Any]:
        """Returns plain values, as in the directory's file."""
        return {
            "games": list(self.games),
            "algorithms": {name: self.algorithm(name).text for name in self.algorithms},
            "seeds": list(self.seeds),
            "unit": self.limit.unit,
            "total": self.limit.total,
            "num_evaluations": self.num_evaluations,
        }

    def runs(self, folder: Path) -> list[Run]:
        """Returns all runs in the order in which they are started, with files in a folder.

        Runs on one game follow each other, so that a process compiles its tree once. The first seed of all algorithms
        comes before the second of any. An algorithm that does not depend on the seed runs once per game.
        """
        cost = max(self.algorithm(name).evaluation_cost for name in self.algorithms)
        return [
            Run(
                game,
                algorithm,
                seed,
                self.limit,
                folder,
                keeps_policy=seed == self.seeds[0],
                num_evaluations=self.num_evaluations,
                evaluation_cost=cost,
                game_object=self.game_objects.get(game),
                definition=self.definitions.get(algorithm),
            )
            for game in self.games
            for seed, algorithm in itertools.product(self.seeds, self.algorithms)
            if seed == self.seeds[0] or self.algorithm(algorithm).is_random
        ]


def comparison_of(
    games: Any, algorithms: Any, seeds: int | Iterable[int], limit: Limit, num_evaluations: int | None
) -> Comparison:
    """Returns the comparison of the arguments of `mccfr_plus.experiments.compare`."""
    named_games = [(text_of(game), game) for game in _listed(games)]
    unnamed = ((name_of(algorithm), algorithm) for algorithm in _listed(algorithms))
    named = list(algorithms.items() if isinstance(algorithms, Mapping) else unnamed)
    return Comparison(
        tuple(name for name, _ in named_games),
        tuple(name for name, _ in named),
        tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(map(int, seeds)),
        limit,
        num_evaluations,
        {name: game for name, game in named_games if not isinstance(game, str)},
        {name: definition for name, definition in named if definition != name},
    )


def _listed(given: Any) -> Iterable[Any]:
    return given if isinstance(given, Iterable) and not isinstance(given, str) else [given]


@contextlib.contextmanager
def directory_of(comparison: Comparison, path: str | os.PathLike) -> Iterator[list[Run]]:
    """Yields all runs of a comparison while its directory is locked, which is created if it does not exist.

    RecordError if it is in use, or holds something other than the comparison.
    """
    folder = Path(path)
    spec = folder / SPEC_FILE
    if folder.exists() and not folder.is_dir():
        raise RecordError(f"{folder} is a file: give a directory.")
    if spec.exists():
        found = read_comparison(folder)
        for name, value in comparison.as_dict().items():
            if found[name] != value:
                raise RecordError(
                    f"{folder} holds another comparison: its {name} are {found[name]!r}, not {value!r}. Choose another "
                    "directory, or repeat the same comparison as before."
                )
    with file_errors(folder, RecordError):
        if folder.exists() and not spec.exists() and set(os.listdir(folder)) - _OURS:
            raise RecordError(f"{folder} holds other files and no comparison: choose another directory.")
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
    try:
        lock = CheckpointLock(folder / ".comparison")
    except CheckpointError as error:
        raise RecordError(str(error)) from None
    with lock:
        if not spec.exists():
            text = json.dumps({"format": FORMAT, "version": VERSION, **comparison.as_dict()}, indent=2)
            with atomic_write(spec, RecordError) as file:
                file.write(text.encode() + b"\n")
        yield comparison.runs(folder / RUNS)


def read_comparison(path: str | os.PathLike) -> dict[str, Any]:
    """Returns the description of the comparison that a directory holds; see `Comparison.as_dict`."""
    spec = Path(path) / SPEC_FILE
    with file_errors(spec, RecordError, "read"):
        content = spec.read_bytes()
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    check(found, _SCHEMA, spec, RecordError)
    return found


def about_here(command: str | None = None) -> dict[str, Any]:
    """Returns where and when something runs: command (by default, of this process), versions, machine, time."""
    versions = {name: package_version(name) for name in ("mccfr_plus", "open_spiel", "numpy", "numba")}
    return {
        "command": command or shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]]),
        "versions": {"python": platform.python_version()} | versions,
        "machine": {"system": platform.platform(), "processor": _processor(), "cores": os.cpu_count()},
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")  # of Linux, where `platform` has the architecture only
    found = re.search(r"^model name\s*:\s*(.+)$", path.read_text(errors="replace"), re.M) if path.exists() else None
    return found[1] if found else platform.processor() or platform.machine()
