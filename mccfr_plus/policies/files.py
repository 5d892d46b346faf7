"""Files of policies: a versioned `.npz` without pickle."""

import contextlib
import json
import os
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.errors import PolicyError, PolicyFileError
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.policies.keyed_policy import KeyedPolicy, KeyedTable
from mccfr_plus.policies.table import TreePolicy, is_strategy
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.loading import file_name_of, load_game
from mccfr_plus.trees.public.public_tree import FINGERPRINT, PublicTree, given_public_tree

FORMAT = "mccfr_plus.policy"
KEYED_FORMAT = "mccfr_plus.keyed_policy"
VERSION = 1

_FIELDS = {
    FORMAT: {"format", "version", "game", "fingerprint", "strategy"},
    KEYED_FORMAT: {"format", "version", "game", "kind", *KeyedTable._fields},
}


def save_policy(policy: TreePolicy | KeyedPolicy, path: str | os.PathLike) -> None:
    """Writes a policy to a file, completely or not at all.

    The file is a NumPy `.npz` file with ``format``, ``version`` and ``game`` (OpenSpiel's game string). For a
    `TreePolicy`, it also has ``fingerprint`` (of all information states and their actions) and ``strategy``
    (``[num_slots]`` float64). For a `KeyedPolicy`, it also has the arrays of the policy's `KeyedTable` and the ``kind``
    of the table's keys.

    Raises:
        PolicyFileError: If the file cannot be written.
        PolicyError: If the policy is of any other class, such as an OpenSpiel policy.

    Examples:
        >>> import mccfr_plus, os, tempfile
        >>> policy = mccfr_plus.Solver("kuhn_poker", "full", "rm+").run(100).average_policy()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mccfr_plus.save_policy(policy, f"{folder}/kuhn.npz")
        ...     os.listdir(folder)
        ['kuhn.npz']
    """
    if isinstance(policy, KeyedPolicy):
        fields = {"format": KEYED_FORMAT, "kind": policy.keys.kind, **policy.table._asdict()}
    elif isinstance(policy, TreePolicy):
        fields = {"format": FORMAT, "fingerprint": policy.tree.fingerprint, "strategy": policy.strategy()}
    else:
        raise PolicyError(
            f"policies of type {type(policy).__name__} cannot be saved: save "
            "Solver(game).set_strategy(policy).current_policy(), which has the same probabilities."
        )
    with atomic_write(path, PolicyFileError) as file:
        np.savez_compressed(file, version=VERSION, game=file_name_of(str(policy.game)), **fields)


def needs_tree(path: str | os.PathLike) -> bool:
    """Returns whether a file holds a policy of a stored tree; False if it holds no policy."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return str(archive["format"]) == FORMAT and not str(archive["fingerprint"]).startswith(FINGERPRINT)
    except Exception:  # see `_read`; `load_policy` says what is wrong
        return False


def require_no_other(path: str | os.PathLike, game: pyspiel.Game) -> None:
    """Raises PolicyFileError if a file holds a policy or a checkpoint of another game; call it before long work."""
    held = None
    with contextlib.suppress(Exception), open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        is_policy = "header.json" not in archive
        held = str(archive["game"]) if is_policy else json.loads(bytes(archive["header.json"]))["game"]
    if held not in (None, file_name_of(str(game))):
        raise PolicyFileError(
            f"{path} holds a policy for {held} and will not be overwritten: delete it, or choose another name."
        )


def load_policy(path: str | os.PathLike, game: pyspiel.Game | str | GameTree | None = None) -> TreePolicy | KeyedPolicy:
    """Returns the policy stored in a file written by `save_policy`. Loading a `KeyedPolicy` does not compile the game.

    Args:
        path: The file.
        game: The game, or its tree if it is already compiled. Default: the game named in the file.

    Raises:
        PolicyFileError: If the file does not exist, is damaged or is not a policy file of this package, or if the
            game's information states or actions differ from those in the file.
        GameError: If the game cannot be loaded or compiled.

    Examples:
        >>> import mccfr_plus, tempfile
        >>> policy = mccfr_plus.Solver("kuhn_poker", "full", "rm+").run(100).average_policy()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mccfr_plus.save_policy(policy, f"{folder}/kuhn.npz")
        ...     loaded = mccfr_plus.load_policy(f"{folder}/kuhn.npz", "kuhn_poker")
        >>> bool((loaded.strategy() == policy.strategy()).all())
        True
    """
    fields = _read(path)
    name = str(fields["game"])
    game = name if game is None else game
    no_fit = f"{path} holds a policy of {name}, which is not"
    damaged = f"{path} is damaged: its arrays hold no distributions, or do not fit together. Write it again."
    if str(fields["format"]) == KEYED_FORMAT:
        loaded, table = load_game(game), KeyedTable(*(fields[field] for field in KeyedTable._fields))
        if file_name_of(str(loaded)) != name:
            raise PolicyFileError(f"{no_fit} {loaded}: evaluate the policy on its own game.")
        with contextlib.suppress(LookupError, ValueError):
            if table.is_consistent(loaded.num_players()):
                return KeyedPolicy.of_kind(loaded, table, str(fields["kind"]))
        raise PolicyFileError(damaged)
    strategy = fields["strategy"]
    is_public, given = str(fields["fingerprint"]).startswith(FINGERPRINT), given_public_tree(game)
    tree: Any = given or (PublicTree(game) if is_public else compile_game(game))
    if str(fields["fingerprint"]) != tree.fingerprint or strategy.shape != (tree.num_slots,):
        raise PolicyFileError(
            f"{no_fit} {tree.game} (information states or actions differ): use the policy on its own game."
        )
    if strategy.dtype != np.float64 or not is_strategy(strategy, tree.arrays.infosets["first_slot"]):
        raise PolicyFileError(damaged)
    return TreePolicy(tree, strategy)


def _read(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Returns the arrays of a policy file by name, those that its format has."""
    if not os.path.isfile(path):
        raise PolicyFileError(f"there is no file {path}.")
    no_policy = f"{path} is not a policy file of mccfr_plus"
    try:
        # np.load leaves a file that it has opened open if the archive is damaged.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            is_checkpoint = "header.json" in archive
            wanted = _FIELDS.get(str(archive["format"]), set()) if "format" in archive else set()
            fields = {name: archive[name] for name in wanted}
    except Exception as error:  # a damaged archive may raise nearly anything, from zipfile, zlib and NumPy
        raise PolicyFileError(f"{no_policy}, or is damaged ({type(error).__name__}). Write it again.") from None
    if is_checkpoint:
        raise PolicyFileError(f"{no_policy} but a checkpoint: use Solver.from_checkpoint(path).average_policy().")
    if not fields:
        raise PolicyFileError(f"{no_policy}: save one with save_policy or `mccfr-plus solve GAME --policy_out=FILE`.")
    if fields["version"].tolist() != VERSION:
        raise PolicyFileError(f"{path} is not in version {VERSION} of the policy format. Save the policy again.")
    return fields
