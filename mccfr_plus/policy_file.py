"""Policies on disk: a versioned `.npz` without pickle, written in one piece or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pyspiel

from mccfr_plus.errors import PolicyFileError
from mccfr_plus.policies import TreePolicy
from mccfr_plus.tree.game_tree import GameTree, compile_game

FORMAT = "mccfr_plus.policy"
VERSION = 1


def save_policy(policy: TreePolicy, path: str | os.PathLike) -> None:
    """Writes a policy to a file, which appears only when it is complete.

    The file is a numpy `.npz` with ``format``, ``version``, ``game`` (OpenSpiel's string), ``fingerprint`` (of all
    information states and their actions) and ``strategy`` (``[num_slots]`` float64).

    Raises:
        PolicyFileError: If the file cannot be written.
    """
    path = Path(path)
    check_writable(path)
    handle, temporary = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(
                file,
                format=np.array(FORMAT),
                version=np.array(VERSION),
                game=np.array(str(policy.game)),
                fingerprint=np.array(policy.tree.fingerprint),
                strategy=policy.strategy(),
            )
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes private files
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise PolicyFileError(f"cannot write {path}: {error.strerror or error}.") from None
        raise


def check_writable(path: str | os.PathLike) -> None:
    """Raises PolicyFileError if a file could not be written there; for asking before long work, not after it."""
    path = Path(path)
    if path.is_dir():
        raise PolicyFileError(f"cannot write {path}: it is a directory. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise PolicyFileError(f"cannot write {path}: there is no directory {path.parent}. Create it first.")
    if not os.access(path.parent, os.W_OK):
        raise PolicyFileError(f"cannot write {path}: no permission to write in {path.parent}.")


def load_policy(path: str | os.PathLike, game: pyspiel.Game | str | GameTree | None = None) -> TreePolicy:
    """Returns the policy of a file that `save_policy` wrote.

    Args:
        path: The file.
        game: The game to use it with, or its tree if it is compiled already; None: the game that the file names.

    Raises:
        PolicyFileError: If there is no such file, it is damaged or no policy of this package, or it belongs to a game
            with other information states or actions.
        GameError: If the game that it names cannot be loaded or compiled.
    """
    path = Path(path)
    fields = _read(path)
    name = str(fields["game"])
    tree = compile_game(name if game is None else game)
    strategy = fields["strategy"]
    if str(fields["fingerprint"]) != tree.fingerprint or strategy.shape != (tree.num_slots,):
        raise PolicyFileError(
            f"{path} holds a policy of {name}, which has other information states or actions than {tree.game}. "
            "Evaluate it on its own game, or solve this one."
        )
    totals = np.add.reduceat(strategy, tree.arrays.infosets["first_slot"])
    if not np.isfinite(strategy).all() or (strategy < 0).any() or (np.abs(totals - 1) > 1e-6).any():
        raise PolicyFileError(f"{path} is damaged: its probabilities are not distributions. Write it again.")
    return TreePolicy(tree, strategy)


def _read(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise PolicyFileError(f"there is no file {path}.")
    foreign = f"{path} is no policy file of mccfr_plus"
    try:
        # The file is opened here because np.load leaves it open when the archive is damaged.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            is_checkpoint = "format" in archive.files and str(archive["format"]) == "mccfr_plus.checkpoint"
            fields = {} if is_checkpoint else {key: archive[key] for key in archive.files}
    except Exception as e:  # a damaged archive may raise nearly anything, from zipfile, zlib and numpy
        raise PolicyFileError(f"{foreign}, or is damaged ({type(e).__name__}). Write it again.") from None
    if is_checkpoint:
        raise PolicyFileError(
            f"{foreign} but a checkpoint: load it with Solver.from_checkpoint and take its average_policy(), or go "
            "on with `mccfr-plus solve GAME --checkpoint=FILE --resume --policy_out=POLICY`."
        )
    missing = {"format", "version", "game", "fingerprint", "strategy"} - set(fields)
    if missing or str(fields["format"]) != FORMAT:
        raise PolicyFileError(f"{foreign}: save one with save_policy or `mccfr-plus solve GAME --policy_out=FILE`.")
    version = fields["version"]
    if (
        version.shape != ()
        or not np.issubdtype(version.dtype, np.integer)
        or int(version) > VERSION
        or int(version) < 1
    ):
        raise PolicyFileError(
            f"{path} has version {version} of the policy format; this mccfr_plus reads up to {VERSION}. Update it."
        )
    if fields["strategy"].ndim != 1 or fields["strategy"].dtype != np.float64:
        raise PolicyFileError(f"{path} is damaged: its strategy is no list of float64 numbers. Write it again.")
    return fields
