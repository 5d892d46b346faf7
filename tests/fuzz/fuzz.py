"""Calls the command with thousands of wrong inputs, and looks for tracebacks, wrong exit codes and half-written files.

python tests/fuzz/fuzz.py --cases=2000 takes five minutes on two cores; --only=1234 repeats a case.

The cases are game strings, flags and damaged files. A case follows from seed and number. A process that dies, or takes
two minutes for a case, is a failure like a traceback. Loops are interpreted: all components would compile for hours.
"""

import argparse
import contextlib
import faulthandler
import io
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import interpreted
import numpy as np
import pyspiel
from checkpoint_contents import raw_header_of, rewrite, with_header

from mccfr_plus import Solver, save_policy
from mccfr_plus.cli.command import main, parser_of
from mccfr_plus.files.atomic_write import TEMPORARY_SUFFIX
from mccfr_plus.solver import engine
from mccfr_plus.solver.config import AVERAGES, ESTIMATORS, MINIMIZERS

NUMBERS = (
    "0", "1", "2", "3", "5", "-1", "-5", "0.5", "1e3", "1e12", "1e18", "1e308", "1e999", "nan", "inf", "-inf",
    "9" * 400, "0x10", "1_000", "1e-400", "٣", "",
)  # fmt: skip
WORDS = (
    "text", "True", "None", "x" * 300, "y" * 5000, "é漢字", "\udcff", "a b", "'", '"', "(", ")", "a,b", ",,", "--", "=",
    "%s", "{}", "../x", "/dev/null", "/proc/self/mem", "/", ".", "a/b/c", "~", "$HOME", "\n", "\t", "\x1b[31m",
)  # fmt: skip
GAMES = (
    "kuhn_poker", "leduc_poker", "liars_dice", "goofspiel", "dark_hex", "phantom_ttt", "universal_poker", "hanabi",
    "go", "bid_goofspiel", "bluff", "nl_holdem_buckets", "turn_based_simultaneous_game", "repeated_game", "battleship",
)  # fmt: skip
PARAMETERS = (
    "players", "num_cards", "numdice", "dice_sides", "num_rows", "num_cols", "board_size", "numPlayers", "imp_info",
    "points_order", "game", "dice1", "dice2", "ranks", "stack", "gameversion",
)  # fmt: skip
COMPONENTS = {"estimator": ESTIMATORS, "minimizer": MINIMIZERS, "averaging": AVERAGES}

# The line of each verb that cases change; it ends soon if a case happens to be right.
SOLVE = "solve kuhn_poker --iterations=5 --seconds=0.1 --memory=900MB"
LINES = {
    "solve": (SOLVE,),
    "evaluate": tuple(f"evaluate kuhn_poker {policy} --seconds=0.5" for policy in ("kuhn.npz", "keyed.npz", "uniform")),
    "view": tuple(f"view kuhn_poker {policy} --out=page.html --no-open" for policy in ("kuhn.npz", "keyed.npz")),
    "play": ("play kuhn_poker kuhn.npz --games=1", "play kuhn_poker keyed.npz --games=1"),
    "export": ("export kuhn_poker kuhn.npz", "export kuhn_poker keyed.npz --out=table.csv"),
    "stats": ("stats kuhn_poker",),
    "compare": ("compare kuhn_poker --out=/no/such/folder --iterations=5 --seeds=1 --algorithms=external",),
}

MISSING = object()  # in place of a value: the entry is left out

# In place of any entry of a header.
VALUES: tuple[Any, ...] = (
    MISSING, None, "text", {}, {"a": 1}, [], [1, "x"], -1, 10**30, 1e308, float("nan"), float("inf"), True, 0, "",
    "\0", "9" * 5000, 0.5,
)  # fmt: skip

# In place of any array of an archive.
ARRAYS: tuple[Any, ...] = (
    np.zeros(0), np.zeros((0, 0)), np.float64(0.5), np.full(3, np.nan), np.full(12, -1.0), np.zeros(12, np.float32),
    np.zeros(12, "U5"), np.array([None, "object"], object), np.zeros((2, 3), complex), np.array("text"),
    np.zeros(3, [("a", "i4")]), np.full(2, 2**62),
)  # fmt: skip
NEVER = ("browser", "cluster", "workers", "help", "open", "processes")  # would serve, open pages, or start Ray
CHECKPOINTS = {
    "compiled.checkpoint": "--estimator=outcome --minimizer=rm --tree=compiled",
    "lazy.checkpoint": "--estimator=outcome --minimizer=rm --tree=lazy",
    "rules.checkpoint": "--estimator=outcome --minimizer=rm --tree=rules",
}


def entries_of(value: Any, prefix: tuple = ()) -> Iterator[tuple]:
    """Yields the place of each entry of a header, as keys and indices; of the lists of arrays only whole ones."""
    if prefix:
        yield prefix
    if prefix[:1] == ("arrays",) and len(prefix) > 1:
        return
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from entries_of(child, (*prefix, key))


def with_entry(header: dict[str, Any], place: tuple, value: Any) -> dict[str, Any]:
    """Returns a header with another value at a place, or without it."""
    result = json.loads(json.dumps(header))
    parent = result
    for key in place[:-1]:
        parent = parent[key]
    if value is MISSING:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return result


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=True)
    return buffer.getvalue()


def value_of(rng: random.Random) -> str:
    return rng.choice(NUMBERS if rng.random() < 0.5 else WORDS)


# Kinds of cases: each returns the arguments, and may damage files in the current folder.


def game_case(rng: random.Random) -> list[str]:
    """A game string with parameters that no game, or no computer, can have; or a word that is nearly one."""
    name = rng.choice(GAMES if rng.random() < 0.8 else pyspiel.registered_names())
    count = rng.choice((0, 1, 1, 1, 2, 3))
    parameters = ",".join(f"{rng.choice(PARAMETERS)}={value_of(rng)}" for _ in range(count))
    text = f"{name}({parameters})" if count else name
    if rng.random() < 0.3:
        place = rng.randrange(len(text) + 1)
        text = text[:place] + value_of(rng) + text[place + rng.randrange(3) :]
    lines = (
        SOLVE.replace("=5", "=2"),
        "evaluate kuhn_poker uniform --estimate --seconds=0.1",
        "compare kuhn_poker --x",
    )
    line = rng.choice(lines)
    return [text if word == "kuhn_poker" else word for word in line.split()]


def flags_case(rng: random.Random) -> list[str]:
    """A verb with flags of its own or unknown ones, and values that may be right."""
    verb = rng.choice(list(LINES))
    line = rng.choice(LINES[verb]).split()
    names = [name for name in re.findall(r"--(\w+)", parser_of(verb).format_usage()) if name not in NEVER]
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(names if rng.random() < 0.9 else ["no_flag", "iterationss", "", "-", "seed"])
        if name in COMPONENTS:
            component = rng.choice(list(COMPONENTS[name])) if rng.random() < 0.8 else value_of(rng)
            parameter = rng.choice(("epsilon", "alpha", "gamma", "eta", "tau", "pruning", "values", "weights", "decay"))
            line.append(f"--{name}={component}" + (f"({parameter}={value_of(rng)})" if rng.random() < 0.6 else ""))
        elif name in ("seconds", "iterations", "target_exploitability", "games"):
            line.append(f"--{name}={rng.choice(('-1', 'nan', 'text', '', '0', '1e999', '0.01'))}")
        else:
            line.append(f"--{name}" if rng.random() < 0.15 else f"--{name}={value_of(rng)}")
    if rng.random() < 0.2:
        line.insert(rng.randrange(1, len(line) + 1), value_of(rng))
    if rng.random() < 0.1:
        line.pop(rng.randrange(len(line)))
    return line


def file_case(rng: random.Random) -> list[str]:
    """A damaged file, or something else than a file, given to a verb that reads it."""
    if rng.random() < 0.4:
        name = rng.choice(list(CHECKPOINTS))
        line = f"solve kuhn_poker --checkpoint={name} --resume --iterations=8 --seconds=1"
        line += f" {CHECKPOINTS[name]}" if rng.random() < 0.3 else ""
    else:
        name = rng.choice(("kuhn.npz", "keyed.npz"))
        line = rng.choice((*LINES["evaluate"], *LINES["view"], *LINES["export"], *LINES["play"]))
        line = line.replace("kuhn.npz", name).replace("keyed.npz", name)
    if rng.random() < 0.2:
        return line.replace(name, rng.choice(("folder", "pipe", "loop", "link", "/dev/null", "/proc/self/mem"))).split()
    damage(Path(name), rng)
    return line.split()


def damage(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    place = rng.randrange(len(content))
    match rng.choice(("flip", "cut", "stretch", "other", "header", "array")):
        case "flip":
            content[place] ^= 1 << rng.randrange(8)
        case "cut":
            del content[place:]
        case "stretch":
            content[place:place] = rng.randbytes(rng.randrange(1, 200))
        case "other":
            content[:] = rng.choice((b"", b"\0" * 100, b"PK\x03\x04", b"{}\n", b"\x93NUMPY\x01\x00", b"[" * 10**5))
        case "header" if path.suffix == ".checkpoint":
            header = raw_header_of(path)
            entry = rng.choice(list(entries_of(header)))
            return with_header(path, with_entry(header, entry, rng.choice(VALUES)))
        case _ if path.suffix == ".npz":  # not in checkpoints: kernels trust their arrays
            with zipfile.ZipFile(path) as archive:
                name = rng.choice(archive.namelist())
            return rewrite(path, {name: npy(rng.choice(ARRAYS))})
    path.write_bytes(content)


KINDS = {game_case: 15, flags_case: 50, file_case: 35}


def call(line: list[str]) -> tuple[int, str, str]:
    out, err, before = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.StringIO("q\n")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return main(line), out.getvalue(), err.getvalue()
    finally:
        sys.stdin = before


def prepare(folder: Path) -> None:
    engine.composed = interpreted.composed
    save_policy(Solver("kuhn_poker", "full", "rm+").run(10).average_policy(), folder / "kuhn.npz")
    lazy = Solver("kuhn_poker", "outcome", "rm", tree="lazy", seed=1, memory="900MB").run(50)
    save_policy(lazy.average_policy(), folder / "keyed.npz")
    for name, flags in CHECKPOINTS.items():
        assert call(["solve", "kuhn_poker", "--iterations=5", f"--checkpoint={folder / name}", *flags.split()])[0] == 0
    (folder / "folder").mkdir()


def problem_of(seed: int, number: int, originals: Path) -> str | None:
    """Runs a case in a folder of its own and returns what is wrong, or None."""
    rng, before = random.Random(f"{seed}/{number}"), Path.cwd()
    folder = Path(tempfile.mkdtemp(prefix="fuzz_"))
    shutil.copytree(originals, folder, dirs_exist_ok=True)
    os.chdir(folder)
    line = []
    try:
        os.mkfifo("pipe")
        Path("loop").symlink_to("loop")
        Path("link").symlink_to("kuhn.npz")
        line = rng.choices(list(KINDS), list(KINDS.values()))[0](rng)
        kept = {name: Path(name).read_bytes() for name in ("kuhn.npz", "keyed.npz")}
        code, out, err = call(line)
        last = (err.splitlines() or [""])[-1]
        if code not in (0, 2) or (code == 2 and not last.startswith("mccfr-plus: error: ")):
            return f"{line}: exit code {code}: {err[-1000:]}"
        if any(word in err + out for word in ("Traceback", "Exception ignored", "Warning:")):
            return f"{line}: {err[-1500:]}"
        left = [path.name for path in folder.rglob("*") if path.name.endswith((TEMPORARY_SUFFIX, ".lock"))]
        changed = [name for name, content in kept.items() if Path(name).read_bytes() != content]
        if left or (changed and "policy_out" not in " ".join(line)):
            return f"{line}: files left {left}, changed {changed}"
        return None
    except (Exception, SystemExit, KeyboardInterrupt):
        return f"{line}: {traceback.format_exc()}"
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def run_cases(seed: int, first: int, last: int) -> None:
    """Runs cases in this process and prints a line of JSON for each."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="fuzz_") as originals:
        prepare(Path(originals))
        for number in range(first, last):
            faulthandler.dump_traceback_later(120, exit=True)
            print(json.dumps([number, problem_of(seed, number, Path(originals))]), file=answers)


def main_of_parent() -> int:
    """Runs cases in processes and prints those that fail; returns 1 if one did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("cases", 2000), ("seed", 1), ("only", None)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--range", type=int, nargs=2, help=argparse.SUPPRESS)  # of a process that this one starts
    given = parser.parse_args()
    if given.range:
        run_cases(given.seed, *given.range)
        return 0
    failed: list[int] = []
    begin = time.monotonic()

    def work(number: int, last: int) -> None:
        while number < last:  # again where a process dies
            arguments = [sys.executable, __file__, f"--seed={given.seed}", "--range", str(number), str(last)]
            with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                for line in process.stdout or ():
                    number, problem = json.loads(line)
                    number += 1
                    if problem is not None:
                        failed.append(number - 1)
                        print(f"--- case {number - 1}: {problem.strip()}", flush=True)
            if number < last:
                failed.append(number)
                print(f"--- case {number}: the process ended with code {process.returncode}", flush=True)
                number += 1

    first, cases = (0, given.cases) if given.only is None else (given.only, 1)
    cores = os.cpu_count() or 1
    bounds = [first + cases * i // cores for i in range(cores + 1)]
    threads = [threading.Thread(target=work, args=pair) for pair in itertools.pairwise(bounds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{cases} cases of seed {given.seed} in {time.monotonic() - begin:.0f} s, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main_of_parent())
