"""The errors of this package. Each message says what was given, what is allowed and what to do."""

import numpy as np


class MccfrPlusError(Exception):
    """The root of all errors that this package raises on purpose.

    Examples:
        >>> import mccfr_plus
        >>> try:
        ...     mccfr_plus.Solver("chess_with_typo")
        ... except mccfr_plus.MccfrPlusError as error:
        ...     print("refused")
        refused
    """


class GameError(MccfrPlusError, ValueError):
    """A game that does not exist or that no solver of this package can take.

    Examples:
        >>> import mccfr_plus
        >>> try:
        ...     mccfr_plus.load_game("leduc")
        ... except mccfr_plus.GameError as error:
        ...     print("refused")
        refused
    """


class BudgetError(GameError, MemoryError):
    """A game tree that is larger than the node or memory budget it was given.

    Examples:
        >>> import mccfr_plus
        >>> try:
        ...     mccfr_plus.compile_game("leduc_poker", max_nodes=100)
        ... except mccfr_plus.BudgetError as error:
        ...     print("refused")
        refused
    """


class ConfigError(MccfrPlusError, ValueError):
    """A parameter, or a combination of components, that is not allowed.

    Examples:
        >>> import mccfr_plus
        >>> try:
        ...     mccfr_plus.OutcomeSampling(epsilon=0.0)
        ... except mccfr_plus.ConfigError as error:
        ...     print("refused")
        refused
    """


class PolicyError(MccfrPlusError, ValueError):
    """A policy that does not fit the game it is used with.

    Examples:
        >>> import mccfr_plus
        >>> try:
        ...     mccfr_plus.exploitability("kuhn_poker", {"no such state": {0: 1.0}})
        ... except mccfr_plus.PolicyError as error:
        ...     print("refused")
        refused
    """


class PolicyFileError(PolicyError):
    """A file that is no policy of this package, is damaged, or belongs to another game.

    Examples:
        >>> import mccfr_plus
        >>> try:
        ...     mccfr_plus.load_policy("missing.npz")
        ... except mccfr_plus.PolicyFileError as error:
        ...     print("refused")
        refused
    """


class CheckError(MccfrPlusError, AssertionError):
    """A component that breaks its contract: what failed, where, what was expected and found, where to look.

    Examples:
        >>> import mccfr_plus
        >>> try:
        ...     mccfr_plus.check_game("no_such_game")
        ... except mccfr_plus.MccfrPlusError as error:
        ...     print("refused")
        refused
    """


class CheckpointError(MccfrPlusError, ValueError):
    """A checkpoint that cannot be written or read, is in use, or belongs to another game or to other components.

    Examples:
        >>> import mccfr_plus
        >>> try:
        ...     mccfr_plus.Solver.from_checkpoint("missing.checkpoint")
        ... except mccfr_plus.CheckpointError as error:
        ...     print("refused")
        refused
    """


class RecordError(MccfrPlusError, ValueError):
    """A record of a run, or a directory of them, that cannot be written or read, or is of another run."""


class TrainingError(MccfrPlusError, ArithmeticError):
    """A network that diverged: which one, when, and what to change. The solver is as it was before that iteration."""


class ClusterError(MccfrPlusError, RuntimeError):
    """A cluster that cannot be reached, or whose machines cannot do the work."""


def check_whole(name: str, value: object) -> None:
    """Raises ConfigError if a value is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ConfigError(f"{name}={value!r}: must be a whole number, at least 1.")
