"""The policies that the command line names: files of any kind, or the word `uniform`."""

import contextlib
import os
from typing import Any

import pyspiel

from mccfr_plus.errors import CheckpointError, PolicyFileError
from mccfr_plus.files import file as checkpoint_file
from mccfr_plus.policies.files import load_policy, needs_tree
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.solver.choice import compiled_if_it_fits
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.game_tree import GameTree

UNIFORM = "uniform"


def require_policy(source: str) -> None:
    """Raises PolicyFileError if there is no such file and it is not the uniform policy."""
    if source != UNIFORM and not os.path.isfile(source):
        raise PolicyFileError(f"there is no file {source}. Give a saved policy, or the word {UNIFORM}.")


def read_policy(path: str | os.PathLike, game: pyspiel.Game | GameTree) -> Any:
    """Returns the policy of a file, which `save_policy` wrote or `NetworkPolicy.save`, or the uniform policy.

    Raises:
        PolicyFileError: If the file is damaged, is not a policy of this package, or is of another game.
        ConfigError: If it is a network and torch is missing.
    """
    if path == UNIFORM:
        return TreePolicy(game, game.uniform_strategy()) if isinstance(game, GameTree) else {}
    header: dict[str, Any] = {}
    with contextlib.suppress(CheckpointError):
        header = checkpoint_file.read_header(path)
    if "network_policy" not in header:
        return load_policy(path, game)
    from mccfr_plus.neural import NetworkPolicy

    loaded = game.game if isinstance(game, GameTree) else game
    name = str(header.get("game", loaded))  # without one it is refused below
    if str(load_game(name)) != str(loaded):
        raise PolicyFileError(f"{path} holds a policy of {name}, which is not {loaded}. Evaluate it on its own game.")
    try:
        return NetworkPolicy.load(path, loaded)
    except CheckpointError as error:
        raise PolicyFileError(str(error)) from None


def policy_and_tree(name: str, source: str) -> tuple[Any, GameTree | None]:
    """Returns a policy and the tree of its game; None if the tree does not fit and the policy does not need it."""
    require_policy(source)
    game, is_of_tree = load_game(name), source != UNIFORM and needs_tree(source)
    policy = None if is_of_tree else read_policy(source, game)  # a bad file is an error before the game is compiled
    tree = compiled_if_it_fits(game, "compiled" if is_of_tree else "auto")
    return (policy if tree is None or policy else read_policy(source, tree)), tree
