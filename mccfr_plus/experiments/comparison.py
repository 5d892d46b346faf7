"""A comparison: games x algorithms x seeds, when its runs are evaluated, and the directory of their records."""

import contextlib
import datetime
import hashlib
import itertools
import json
import math
import os
import platform
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyspiel

from mccfr_plus.errors import CheckpointError, ConfigError, RecordError
from mccfr_plus.experiments.algorithms import Algorithm, algorithm_of, name_of
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.files.checkpoint import CheckpointLock
from mccfr_plus.files.json_files import check, file_errors, number, positive
from mccfr_plus.solver.saved_state import package_version
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree, given_tree
from mccfr_plus.trees.loading import load_game, text_of

UNITS = ("nodes", "iterations", "seconds")

LEAST, MOST = 8, 60  # points of a run
FEW = 4  # points where an evaluation takes minutes: all histories of a game that is not stored
_DECADES = 4.0  # that the points go over, at the most
_SHARE = 0.04  # of a run's work that evaluations may take


class Limit(NamedTuple):
    unit: str  # one of `UNITS`
    total: float

    def done(self, solver: Any) -> float:
        return float(getattr(solver, "nodes_touched" if self.unit == "nodes" else self.unit))

    def progress(self, solver: Any) -> float:
        return min(self.done(solver) / self.total, 1.0)

    def iterations_to(self, solver: Any, target: float) -> int:
        """Returns how many iterations to run next, at least 1, to not pass the target; the clock plays no part."""
        done, iterations = self.done(solver), solver.iterations
        if self.unit == "iterations":
            return round(target - done)
        if not iterations or done <= 0.0:
            return 1
        missing = (target - done) * iterations / done
        # The mean of k iterations is known to about 1 / sqrt(k), the sum of the next ones strays by about its root, and
        # iterations change as strategies become purer: so at most half of what seems to be missing.
        cautious = missing * (1.0 - 2.0 / math.sqrt(iterations + 3)) - 3.0 * math.sqrt(missing)
        return max(1, min(math.floor(cautious), math.floor(missing / 2.0), iterations))


def limit_of(**given: float | None) -> Limit:
    """Returns the limit of the one argument that is not None, or a ConfigError if it is not the only one."""
    chosen = {unit: total for unit, total in given.items() if total is not None}
    if len(chosen) != 1:
        what = "none" if not chosen else " and ".join(chosen)
        raise ConfigError(f"a run needs exactly one limit, but {what} given: give exactly one of {', '.join(UNITS)}.")
    ((unit, total),) = chosen.items()
    if not math.isfinite(total) or total <= 0 or (unit != "seconds" and total < 1):
        raise ConfigError(f"{unit}={total!r}: must be a number, {'above 0' if unit == 'seconds' else 'at least 1'}.")
    return Limit(unit, float(total))


def evaluation_points(limit: Limit, count: int) -> tuple[float, ...]:
    """Returns at most `count` numbers up to the limit, evenly spaced on a logarithmic axis, whole but for seconds."""
    if count < 1:
        raise ConfigError(f"num_evaluations={count}: give at least one.")
    is_time = limit.unit == "seconds"
    decades = _DECADES if is_time else min(_DECADES, math.log10(limit.total))
    if count == 1 or decades == 0.0:
        return (limit.total,)
    numbers = [limit.total * 10.0 ** (-decades * (1.0 - index / (count - 1))) for index in range(count - 1)]
    return (*sorted({number if is_time else float(round(number)) for number in numbers} - {limit.total}), limit.total)


def affordable_points(tree: GameTree, limit: Limit, cost: float) -> int:
    """Returns how many evaluations, which cost so many visits per history and player, take a small share of a run."""
    if limit.unit != "nodes":
        return 25
    evaluation = cost * tree.num_nodes * tree.num_players
    return int(min(max(_SHARE * limit.total / evaluation, LEAST), MOST))


# --- comparisons ---

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
    """Games, algorithms and seeds to compare. What is unknown is an error."""

    games: Mapping[str, Any]  # by name: strings, games or trees
    algorithms: Mapping[str, Any]  # by name: what `algorithm_of` takes
    seeds: tuple[int, ...]  # the same for each game and algorithm
    limit: Limit
    num_evaluations: int | None = None  # of a run; None: as many as cost little

    def __post_init__(self) -> None:
        for name in self.algorithms:
            self.algorithm(name)
        for game in self.games.values():
            load_game(game)
        if self.num_evaluations is not None:
            evaluation_points(self.limit, self.num_evaluations)

    def algorithm(self, name: str) -> Algorithm:
        return algorithm_of(self.algorithms[name])

    @property
    def evaluation_cost(self) -> float:
        """See `affordable_points`: all algorithms are measured at the same points."""
        return max(self.algorithm(name).evaluation_cost for name in self.algorithms)

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

    def runs(self, folder: Path) -> "list[Run]":
        """Returns all runs in the order in which they are started, with files in a folder.

        Runs on one game follow each other, so that a process compiles its tree once. The first seed of all algorithms
        comes before the second of any. An algorithm that does not depend on the seed runs once per game.
        """
        return [
            Run(self, game, algorithm, seed, folder)
            for game in self.games
            for seed, algorithm in itertools.product(self.seeds, self.algorithms)
            if seed == self.seeds[0] or self.algorithm(algorithm).is_random
        ]


def comparison_of(
    games: Any, algorithms: Any, seeds: int | Iterable[int], limit: Limit, num_evaluations: int | None = None
) -> Comparison:
    """Returns the comparison of the arguments of `mccfr_plus.experiments.compare`. What is given twice is an error."""
    is_named = isinstance(algorithms, Mapping)
    named = algorithms.items() if is_named else [(name_of(algorithm), algorithm) for algorithm in _listed(algorithms)]
    pairs: dict[str, list[tuple[Any, Any]]] = {
        "games": [(text_of(game), game) for game in _listed(games)],
        # Processes need no tables of a solver.
        "algorithms": [(name, each.config if isinstance(each, Solver) else each) for name, each in named],
        "seeds": [(int(seed), seed) for seed in (range(1, seeds + 1) if isinstance(seeds, int) else seeds)],
    }
    for what, items in pairs.items():
        if not items:
            raise ConfigError(f"there are no {what}: give at least one.")
        if twice := [name for name, count in Counter(name for name, _ in items).items() if count > 1]:
            how = " Give a mapping from names to algorithms." if what == "algorithms" else ""
            raise ConfigError(f"{what}: {twice[0]!r} is given twice.{how}")
    found: dict[str, Any] = {what: dict(items) for what, items in pairs.items()}
    return Comparison(found["games"], found["algorithms"], tuple(found["seeds"]), limit, num_evaluations)


def _listed(given: Any) -> Iterable[Any]:
    return given if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def run_file(folder: Path, game: str, algorithm: str, seed: int, ending: str) -> Path:
    """Returns the path of a run's file: ``jsonl`` is its record, ``checkpoint``, ``policy.npz`` the final policy."""
    digest = hashlib.blake2b(f"{game}\n{algorithm}".encode(), digest_size=4).hexdigest()
    game, algorithm = (re.sub(r"[^a-z0-9+]+", "_", name.lower()).strip("_")[:40] for name in (game, algorithm))
    return folder / f"{game}-{algorithm}-{digest}-seed{seed}.{ending}"


@dataclass(frozen=True)
class Run:
    """One run of a comparison, and the folder of its files."""

    comparison: Comparison
    game: str  # its name
    algorithm: str  # its name
    seed: int
    folder: Path
    points: tuple[float, ...] = ()  # where to measure, in the limit's unit; empty until the tree is known

    @property
    def limit(self) -> Limit:
        return self.comparison.limit

    @property
    def keeps_policy(self) -> bool:
        """Whether the final policy is written."""
        return self.seed == self.comparison.seeds[0]

    def on(self, game: GameTree | pyspiel.Game) -> "Run":
        """Returns the run with its points on a game's tree, or on a game that is traversed by its rules."""
        count, tree = self.comparison.num_evaluations or FEW, given_tree(game)
        if self.comparison.num_evaluations is None and tree is not None:
            count = affordable_points(tree, self.limit, self.comparison.evaluation_cost)
        return replace(self, points=evaluation_points(self.limit, count))

    def __str__(self) -> str:
        return f"{self.game} {self.algorithm} seed {self.seed}"

    def _file(self, ending: str) -> Path:
        return run_file(self.folder, self.game, self.algorithm, self.seed, ending)

    record = property(lambda self: self._file("jsonl"))
    checkpoint = property(lambda self: self._file("checkpoint"))
    policy = property(lambda self: self._file("policy.npz"))

    def header(self, about: dict[str, Any]) -> dict[str, Any]:
        """Returns the first line of the record: what was run, and `about` where and when."""
        what = {"game": self.game, "algorithm": self.algorithm, "seed": self.seed}
        return what | {"unit": self.limit.unit, "total": self.limit.total, "points": list(self.points)} | about


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
            raise RecordError(f"{folder} holds other files but no comparison: choose another directory.")
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
