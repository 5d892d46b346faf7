"""The errors of this package. Each message says what was given, what is allowed and what to do."""

import difflib
from collections.abc import Iterable


def shortened(value: object, most: int = 80) -> str:
    """Returns a value as text for a message: the middle is left out if it has more than `most` characters."""
    text = str(value)
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[len(text) - most // 2 + 5 :]}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns a question with the known name that is most similar, to end a sentence of a message; perhaps nothing."""
    return "".join(f" Did you mean {near!r}?" for near in difflib.get_close_matches(name, list(known), n=1))


class MccfrPlusError(Exception):
    """The base class of this package's errors. Messages longer than 400 characters are shortened in the middle.

    Examples:
        >>> import mccfr_plus
        >>> issubclass(mccfr_plus.GameError, mccfr_plus.MccfrPlusError)
        True
    """

    def __init__(self, message: object = ""):
        super().__init__(shortened(message, 400))


class GameError(MccfrPlusError, ValueError):
    """Raised if a game does not exist, cannot be solved by this package, or returns something invalid.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.load_game("leduc")
        Traceback (most recent call last):
        mccfr_plus.errors.GameError: ...
    """


class BudgetError(GameError, MemoryError):
    """Raised if a game tree exceeds its node or memory budget.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.compile_game("leduc_poker", max_nodes=100)
        Traceback (most recent call last):
        mccfr_plus.errors.BudgetError: ...
    """


class ConfigError(MccfrPlusError, ValueError):
    """Raised if a parameter or a combination of components is not allowed.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.OutcomeSampling(epsilon=0.0)
        Traceback (most recent call last):
        mccfr_plus.errors.ConfigError: ...
    """


class PolicyError(MccfrPlusError, ValueError):
    """Raised if a policy does not fit the game with which it is used.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.exploitability("kuhn_poker", {"no such state": {0: 1.0}})
        Traceback (most recent call last):
        mccfr_plus.errors.PolicyError: ...
    """


class PolicyFileError(PolicyError):
    """Raised if a file is not a policy file of this package, is damaged, or belongs to another game.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.load_policy("missing.npz")
        Traceback (most recent call last):
        mccfr_plus.errors.PolicyFileError: ...
    """


class CheckError(MccfrPlusError, AssertionError):
    """Raised if a component breaks its contract; names the check, the place, and the expected and found values.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.check_average("optimistic", unbiased=True)
        Traceback (most recent call last):
        mccfr_plus.errors.CheckError: ...
    """


class CheckpointError(MccfrPlusError, ValueError):
    """Raised if a checkpoint cannot be written or read, is in use, or belongs to another game or other components.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.Solver.from_checkpoint("missing.checkpoint")
        Traceback (most recent call last):
        mccfr_plus.errors.CheckpointError: ...
    """


class RecordError(MccfrPlusError, ValueError):
    """A record of a run, or a directory of records, that cannot be written or read, or that belongs to another run."""


class TrainingError(MccfrPlusError, ArithmeticError):
    """A network diverged. The message suggests a change; the solver is as it was before the iteration."""


class ClusterError(MccfrPlusError, RuntimeError):
    """A cluster that cannot be reached, or whose machines cannot do the work."""
