"""The policies that the command line names: files of any kind, or the word `uniform`."""

import contextlib
import os
from typing import Any

import pyspiel

from mccfr_plus.errors import CheckpointError, PolicyFileError
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.policies.files import load_policy, needs_tree
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.solver.choice import compiled_if_it_fits
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.loading import load_game

UNIFORM = "uniform"


def require_policy(source: str) -> None:
    """Raises PolicyFileError if there is no such file and it is not the uniform policy."""
    if source != UNIFORM and not os.path.isfile(source):
        raise PolicyFileError(f"there is no file {source}. Give a saved policy, or the word {UNIFORM}.")


def read_policy(path: str | os.PathLike, game: pyspiel.Game | GameTree) -> Any:
    """Returns the uniform policy, or that of a file, which `save_policy` wrote or `NetworkPolicy.save`."""
    if path == UNIFORM:
        return TreePolicy(game, game.uniform_strategy()) if isinstance(game, GameTree) else {}
    header: dict[str, Any] = {}
    with contextlib.suppress(CheckpointError):
        header = checkpoint_file.read_header(path)
    if "network_policy" not in header:
        return load_policy(path, game)
    from mccfr_plus.neural import NetworkPolicy

    loaded = load_game(game)
    name = str(header.get("game", loaded))  # without one it is refused below
    if str(load_game(name)) != str(loaded):
        raise PolicyFileError(f"{path} holds a policy of {name}, which is not {loaded}. Evaluate it on its own game.")
    try:
        return NetworkPolicy.load(path, loaded)
    except CheckpointError as error:
        raise PolicyFileError(str(error)) from None


def read_without_tree(source: str, game: pyspiel.Game) -> Any:
    """Returns the policy of a source; None if that needs the tree. A bad file is an error before a game is compiled."""
    require_policy(source)
    return None if source != UNIFORM and needs_tree(source) else read_policy(source, game)


def policies_and_tree(
    game: pyspiel.Game, sources: list[str], memory: str | int | None = None, *, only_if_needed: bool = False
) -> tuple[list[Any], GameTree | None]:
    """Returns policies and the tree of their game; None if no policy needs it and it does not fit, or is not wanted."""
    found, tree = [read_without_tree(source, game) for source in sources], None
    is_needed = any(policy is None for policy in found)
    if is_needed or not only_if_needed:
        tree = compiled_if_it_fits(game, "compiled" if is_needed else "auto", memory)
    return [policy or read_policy(source, tree or game) for source, policy in zip(sources, found, strict=True)], tree
