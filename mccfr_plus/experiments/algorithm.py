"""Algorithms by name, ours and OpenSpiel's, so that they can be run side by side.

``external``, ``outcome(epsilon=0.3)/rm+/linear``, ``external/rm[batch=8,baseline=True]``, ``cfr+``,
``openspiel:external``, ``openspiel_python:cfr``.
"""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass, field
from typing import Any

from mccfr_plus.errors import ConfigError
from mccfr_plus.experiments.evaluation_points import EXACT_COST, WALK_COST
from mccfr_plus.solver import registry as parts
from mccfr_plus.solver.config import SolverConfig

OURS, CPP, PYTHON = "mccfr_plus", "openspiel", "openspiel_python"

# Whole algorithms of ours: estimator, minimizer, averaging.
NAMED: dict[str, tuple[str, str, str | None]] = {
    "cfr": ("full", "rm", None),
    "cfr+": ("full", "rm+", None),
    "lcfr": ("full", "linear", None),
    "dcfr": ("full", "dcfr", None),
    "pcfr+": ("full", "prm+", None),
}

# OpenSpiel's solvers, and which of ours visits as many histories per iteration: theirs do not count.
OPENSPIEL: dict[str, dict[str, tuple[str, str, str | None]]] = {
    CPP: {
        "cfr": NAMED["cfr"],
        "cfr+": NAMED["cfr+"],
        "external": ("external", "rm", None),
        "outcome": ("outcome", "rm", None),
    },
    PYTHON: {
        "cfr": NAMED["cfr"],
        "cfr+": NAMED["cfr+"],
        "lcfr": NAMED["lcfr"],
        "dcfr": NAMED["dcfr"],
        "external": ("external", "rm", None),
        "outcome": ("outcome", "rm", None),
    },
}

_OPTIONS = {"alternating": bool, "batch": int, "baseline": bool, "threads": int}
_TEXT = re.compile(r"(?:(?P<library>\w+):)?(?P<parts>[^\[\]:]+)(?:\[(?P<options>[^\[\]]*)\])?")


@dataclass(frozen=True)
class Algorithm:
    """What is to be run.

    Attributes:
        text: As it was given; the same text is the same algorithm.
        library: ``"mccfr_plus"``, ``"openspiel"`` (C++) or ``"openspiel_python"``.
        name: Of OpenSpiel's solver; empty for ours.
        estimator: Of ours, or of our solver that visits as many histories.
        minimizer: Likewise.
        averaging: Likewise; None for the one that goes with the minimizer.
        options: Further keyword arguments of `Solver`.
    """

    text: str
    library: str
    name: str
    estimator: str
    minimizer: str
    averaging: str | None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_random(self) -> bool:
        """Whether runs with other seeds differ."""
        if self.estimator.partition("(")[0].strip() != "full":
            return True
        average = parts.average_of(self.averaging, parts.minimizer_of(self.minimizer))
        return average.method in ("stochastic", "sampled")

    @property
    def evaluation_cost(self) -> float:
        """What an exact evaluation costs per history and player, in visits of this algorithm."""
        traversals = parts.estimator_of(self.estimator) != parts.estimator_of("full")
        return WALK_COST if traversals or self.library != OURS else EXACT_COST


def algorithm_of(text: str) -> Algorithm:
    """Returns the algorithm of a name.

    Args:
        text: ``ESTIMATOR[/MINIMIZER[/AVERAGING]]`` with parts as `Solver` takes them, or a whole algorithm's name
            (`NAMED`); options of `Solver` in brackets; or ``openspiel:NAME``, ``openspiel_python:NAME``.

    Raises:
        ConfigError: If it is not known, or its parts do not go together.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise _unknown(text, "write it as external, external/rm+/linear or external[batch=8]")
    library, names, options = match["library"], match["parts"].strip(), match["options"]
    if library is not None:
        return _openspiel(text, library, names, options)
    if names in NAMED:
        chosen = NAMED[names]
    else:
        pieces = [piece.strip() for piece in names.split("/")]
        estimator = pieces[0].partition("(")[0].strip()
        if estimator not in parts.ESTIMATORS or len(pieces) > 3 or not all(pieces):
            raise _unknown(text, "that is no estimator and no algorithm")
        chosen = (
            pieces[0],
            pieces[1] if len(pieces) > 1 else "rm",
            pieces[2] if len(pieces) > 2 else None,
        )
    algorithm = Algorithm(text.strip(), OURS, "", *chosen, _options(text, options))
    _check(algorithm)
    return algorithm


def known_names() -> list[str]:
    """Returns the names of algorithms, without parameters."""
    theirs = [f"{library}:{name}" for library, names in OPENSPIEL.items() for name in names]
    return [*parts.ESTIMATORS, *NAMED, *theirs]


def _openspiel(text: str, library: str, name: str, options: str | None) -> Algorithm:
    if name not in OPENSPIEL.get(library, {}):
        raise _unknown(text, f"there is no {library}:{name}")
    if options:
        raise ConfigError(f"algorithm {text!r}: OpenSpiel's solvers are run with their defaults, without brackets.")
    return Algorithm(text.strip(), library, name, *OPENSPIEL[library][name])


def _options(text: str, given: str | None) -> dict[str, Any]:
    if not given or not given.strip():
        return {}
    try:
        call = ast.parse(f"options({given})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise ConfigError(f"algorithm {text!r}: write options as name=value, such as [batch=8].") from None
    for name, value in options.items():
        if name not in _OPTIONS:
            raise ConfigError(f"algorithm {text!r}: option {name!r} is not known. Give one of {', '.join(_OPTIONS)}.")
        if type(value) is not _OPTIONS[name]:
            raise ConfigError(f"algorithm {text!r}: {name}={value!r} must be a {_OPTIONS[name].__name__}.")
    return options


def _check(algorithm: Algorithm) -> None:
    """Raises ConfigError if the parts make no sense together, whatever the game."""
    SolverConfig.from_specs(algorithm.estimator, algorithm.minimizer, algorithm.averaging, **algorithm.options)


def _unknown(text: str, why: str) -> ConfigError:
    near = difflib.get_close_matches(text, known_names(), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ConfigError(f"algorithm {text!r}: {why}.{hint} Known are {', '.join(known_names())}.")
