"""The cases of the fuzzer: what each does follows from a seed and its number alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import forging
import numpy as np
import pyspiel

from mccfr_plus.cli.main import COMMANDS
from mccfr_plus.solver.registry import AVERAGES, ESTIMATORS, MINIMIZERS

_NUMBERS = (
    "0", "1", "2", "3", "5", "-1", "-5", "0.5", "1e3", "1e12", "1e18", "1e308", "1e999", "nan", "inf", "-inf",
    "9" * 400, "0x10", "1_000", "1e-400", "٣", "",
)  # fmt: skip
_WORDS = (
    "text", "True", "None", "x" * 300, "y" * 5000, "é漢字", "\udcff", "a b", "'", '"', "(", ")", "a,b", ",,", "--", "=",
    "%s", "{}", "../x", "/dev/null", "/proc/self/mem", "/proc/self/fd/1", "/", ".", "a/b/c", "~", "$HOME", "\n", "\t",
    "\x1b[31m",
)  # fmt: skip
_GAMES = (
    "kuhn_poker", "leduc_poker", "liars_dice", "goofspiel", "dark_hex", "phantom_ttt", "universal_poker", "hanabi",
    "go", "bid_goofspiel", "bluff", "leduc_ranks", "nl_holdem_buckets", "search_game", "latent_tic_tac_toe",
    "princess_and_monster", "turn_based_simultaneous_game", "repeated_game",
)  # fmt: skip
_PARAMETERS = (
    "players", "num_cards", "numdice", "dice_sides", "num_rows", "num_cols", "board_size", "numPlayers", "imp_info",
    "points_order", "game", "dice1", "dice2", "faces", "ranks", "stack", "betting", "colour", "num_turns",
    "gameversion",
)  # fmt: skip

# What each command is given, so that a case that happens to be right ends soon.
_LINES: dict[str, tuple[tuple[str, ...], ...]] = {
    "solve": (("kuhn_poker", "--iterations=5", "--seconds=0.1", "--bound_seconds=0", "--memory=300MB"),),
    "evaluate": tuple(("kuhn_poker", policy, "--seconds=0.5") for policy in ("kuhn.npz", "keyed.npz", "uniform")),
    "view": (("kuhn_poker", "kuhn.npz", "--out=page.html"), ("kuhn_poker", "keyed.npz", "--out=page.html")),
    "play": (("kuhn_poker", "kuhn.npz", "--games=1"), ("kuhn_poker", "keyed.npz", "--games=1")),
    "export": (("kuhn_poker", "kuhn.npz"), ("kuhn_poker", "keyed.npz", "--out=table.csv")),
    "stats": (("kuhn_poker",),),
    "games": ((),),
    "completion": (("bash",),),
    "compare": (("kuhn_poker", "--out=runs", "--iterations=5", "--seeds=1", "--algorithms=external"),),
    "reproduce": (("no_paper", "--item=table1"),),
}
_SLOW_COMMANDS = ("compare",)  # seconds each
_NEVER = ("browser", "cluster", "workers", "help")  # what would serve, or start Ray

RESUMED = {
    "compiled.checkpoint": ("--estimator=outcome", "--minimizer=rm", "--tree=compiled"),
    "lazy.checkpoint": ("--estimator=outcome", "--minimizer=rm", "--tree=lazy"),
    "rules.checkpoint": ("--estimator=outcome", "--minimizer=rm", "--tree=rules"),
    "neural.checkpoint": ("--algorithm=deep_cfr",),
}
_POLICIES = ("kuhn.npz", "keyed.npz", "network.npz")


@dataclass
class Case:
    """A command line, and what is damaged before it is called.

    Args:
        line: The arguments.
        damage: The file, and how: a name of `damaged` and what that needs.
        signal: The name of a signal, and at which of the process's audit events it comes; None: none.
    """

    line: list[str]
    damage: tuple[str, str, int] | None = None
    signal: tuple[str, str, int] | None = None
    seed: str = field(default="", repr=False)


def case_of(seed: int, number: int) -> Case:
    """Returns a case."""
    rng = random.Random(f"{seed}/{number}")
    kind = rng.choices((_game, _flags, _file, _signal), (15, 50, 33, 2))[0]
    case = kind(rng)
    case.seed = f"{seed}/{number}"
    return case


def _value(rng: random.Random) -> str:
    return rng.choice(_NUMBERS if rng.random() < 0.5 else _WORDS)


def _game(rng: random.Random) -> Case:
    """A game string with parameters that no game, or no computer, can have; or a word that is nearly one."""
    name = rng.choice(_GAMES if rng.random() < 0.8 else pyspiel.registered_names())
    count = rng.choice((0, 1, 1, 1, 2, 3))
    parameters = ",".join(f"{rng.choice(_PARAMETERS)}={_value(rng)}" for _ in range(count))
    text = f"{name}({parameters})" if count else name
    if rng.random() < 0.3:
        place = rng.randrange(len(text) + 1)
        text = text[:place] + _value(rng) + text[place + rng.randrange(3) :]
    limits = ("--max_nodes=1000", "--max_bytes=1e6") if rng.random() < 0.7 else ()
    command = rng.choice(("solve", "evaluate", "compare", "stats"))
    if command == "stats":
        return Case([command, text, "--max_nodes=1000"])
    if command == "evaluate":
        return Case([command, text, "uniform", "--max_nodes=1000", "--seconds=0.1"])
    if command == "compare":
        return Case([command, text, "nonsense(", "--out=runs", "--iterations=1"])
    return Case([command, text, "--iterations=2", "--seconds=0.1", "--bound_seconds=0", "--memory=300MB", *limits])


def _flags(rng: random.Random) -> Case:
    """A command with flags of its own or of others, and values that may be right."""
    command = rng.choice([name for name in _LINES if name not in _SLOW_COMMANDS] * 4 + list(_SLOW_COMMANDS))
    line = [command, *rng.choice(_LINES[command])]
    names = [name for name in COMMANDS[command].flags() if name not in _NEVER]
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(names if rng.random() < 0.9 else ["no_flag", "iterationss", "", "-", "seed"])
        if name in ("seconds", "iterations", "target_exploitability", "bound_seconds", "games") and rng.random() < 0.7:
            line.append(f"--{name}={rng.choice(('-1', 'nan', 'text', '', '0', '1e999'))}")
        elif name == "estimator":
            line.append(f"--estimator={_component(rng, ESTIMATORS)}")
        elif name == "minimizer":
            line.append(f"--minimizer={_component(rng, MINIMIZERS)}")
        elif name == "averaging":
            line.append(f"--averaging={_component(rng, AVERAGES)}")
        elif name in ("seconds", "target_exploitability", "bound_seconds", "games"):
            line.append(f"--{name}=0.01")
        elif rng.random() < 0.15:
            line.append(f"--{name}")
        else:
            line.append(f"--{name}={_value(rng)}")
    if rng.random() < 0.2:
        line.insert(rng.randrange(1, len(line) + 1), _value(rng))
    if rng.random() < 0.1:
        line.pop(rng.randrange(len(line)))
    if rng.random() < 0.1 and command == "solve":
        line += [f"--checkpoint={rng.choice([*RESUMED, 'new', 'kuhn.npz', 'folder', 'pipe', 'link', 'loop'])}"]
    return Case(line)


def _component(rng: random.Random, known: Any) -> str:
    name = rng.choice(list(known)) if rng.random() < 0.8 else _value(rng)
    parameter = rng.choice(("epsilon", "alpha", "beta", "gamma", "eta", "tau", "pruning", "values", "weights", "decay"))
    return name if rng.random() < 0.4 else f"{name}({parameter}={_value(rng)})"


def _file(rng: random.Random) -> Case:
    """A damaged file, given to a command that reads it."""
    how = rng.choice(list(DAMAGES))
    if rng.random() < 0.4:
        name = rng.choice(list(RESUMED))
        line = ["solve", "kuhn_poker", f"--checkpoint={name}", "--resume", "--iterations=8", "--seconds=1"]
        line += ["--bound_seconds=0", *(RESUMED[name] if rng.random() < 0.3 else ())]
    elif rng.random() < 0.1:
        name = rng.choice(("runs/comparison.json", "runs/runs/a.jsonl"))
        line = ["compare", "kuhn_poker", "--out=runs", "--iterations=5", "--seeds=1", "--algorithms=external"]
    else:
        name = rng.choice(_POLICIES)
        command, *rest = rng.choice(
            (
                ("evaluate",), ("export",), ("view", "--out=page.html"), ("play", "--games=1"),
                ("evaluate", "--against=keyed.npz", "--games=5"), ("evaluate", "--estimate", "--seconds=0.5"),
            )
        )  # fmt: skip
        line = [command, "kuhn_poker", name, *rest]
    if rng.random() < 0.2:  # what is no file at all
        other = rng.choice(("folder", "pipe", "socket", "loop", "link", "/dev/null", "/dev/zero", "/proc/self/mem"))
        return Case([word.replace(name, other) for word in line])
    return Case(line, damage=(name, how, rng.randrange(2**32)))


_EVENTS = ("import", "open", "os.rename", "compile", "exec", "os.listdir", "ctypes.dlopen", "object.__getattr__")


def _signal(rng: random.Random) -> Case:
    """A signal at some event of a process."""
    line = rng.choice(
        (
            ["solve", "kuhn_poker", "--seconds=2", "--policy_out=new.npz", "--checkpoint=new", "--seed=1"],
            ["solve", "kuhn_poker", "--tree=lazy", "--iterations=1e5", "--checkpoint=new", "--estimator=outcome"],
            ["evaluate", "kuhn_poker", "kuhn.npz"],
            ["view", "kuhn_poker", "kuhn.npz", "--out=page.html"],
            ["export", "kuhn_poker", "kuhn.npz", "--out=table.csv"],
            ["stats", "leduc_poker"],
        )
    )
    event = rng.choice(_EVENTS)
    return Case(line, signal=(rng.choice(("SIGTERM", "SIGINT", "SIGHUP")), event, int(10 ** rng.uniform(0, 3.2))))


# --- damage ---


def damaged(folder: Path, case: Case) -> None:
    """Damages the file of a case."""
    assert case.damage is not None
    name, how, seed = case.damage
    path = folder / name
    if path.exists():
        DAMAGES[how](path, random.Random(seed))


def _flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 3, 30))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _cut(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])


def _stretch(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    place = rng.randrange(len(content))
    path.write_bytes(content[:place] + rng.randbytes(rng.randrange(1, 200)) + content[place:])


def _other(path: Path, rng: random.Random) -> None:
    path.write_bytes(
        rng.choice((b"", b"\0" * 100, b"PK\x03\x04", b"[]\n", b"{}\n", b"null", b"\x93NUMPY\x01\x00", b"[" * 10**5))
    )


def _header(path: Path, rng: random.Random) -> None:
    try:
        header = forging.header_of(path)
    except (forging.zipfile.BadZipFile, KeyError):
        return _flip(path, rng)
    place = rng.choice(list(forging.entries_of(header)))
    forging.with_header(path, path, forging.with_entry(header, place, rng.choice(forging.VALUES)))


def _array(path: Path, rng: random.Random) -> None:
    """Another array in the place of one; checksums are right. Not in checkpoints: kernels take what these hold."""
    if path.suffix != ".npz" or path.name == "network.npz":
        return _header(path, rng)
    with forging.zipfile.ZipFile(path) as archive:
        name = rng.choice(archive.namelist())
        content: bytes | None = archive.read(name)
    choice = rng.random()
    if choice < 0.6:
        content = forging.npy(rng.choice(forging.ARRAYS))
    elif choice < 0.8 and content is not None:
        content = forging.with_claimed_shape(content, rng.choice(((10**13,), (10**6, 10**6), (-1,), (0,), ())))
    else:
        content = None
    forging.rewrite(path, path, {name: content})


def _more(path: Path, rng: random.Random) -> None:
    """Another member: a bomb of zeros, code, or one that no file has."""
    if path.suffix not in (".npz", ".checkpoint"):
        return _stretch(path, rng)
    name = rng.choice(("extra.npy", "../x.npy", "/tmp/x.npy", "strategy.npy.npy", "x" * 300, ""))
    content = rng.choice((forging.npy(np.zeros(2**21)), b"", b"import os", forging.npy(np.array([1, "a"], object))))
    forging.rewrite(path, path, {name: content}, forging.zipfile.ZIP_DEFLATED)


DAMAGES = {
    "flip": _flip, "cut": _cut, "stretch": _stretch, "other": _other, "header": _header, "array": _array, "more": _more
}  # fmt: skip
