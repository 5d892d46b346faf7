"""Algorithms by name, ours and OpenSpiel's, so that they can be run side by side.

``external``, ``outcome(epsilon=0.3)/rm+/linear``, ``external/rm[batch=8,baseline=True]``, ``cfr+``,
``openspiel:external``, ``openspiel_python:cfr``, ``neural:dream``, ``neural:deep_cfr[traversals=200]``.
"""

import difflib
import re
from dataclasses import dataclass
from typing import Any

from mccfr_plus import neural
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Full
from mccfr_plus.experiments.evaluation_points import FULL_COST, TRAVERSAL_COST
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.registry import ESTIMATORS
from mccfr_plus.specs import parse_spec

OURS, NEURAL, CPP, PYTHON = "mccfr_plus", "neural", "openspiel", "openspiel_python"

# Whole algorithms of ours: estimator and minimizer.
NAMED = {
    "cfr": ("full", "rm"),
    "cfr+": ("full", "rm+"),
    "lcfr": ("full", "linear"),
    "dcfr": ("full", "dcfr"),
    "pcfr+": ("full", "prm+"),
}

# OpenSpiel's solvers, and estimator and minimizer of ours that visits as many histories per iteration.
_SAMPLED = {"external": ("external", "rm"), "outcome": ("outcome", "rm")}
OPENSPIEL = {
    CPP: {name: NAMED[name] for name in ("cfr", "cfr+")} | _SAMPLED,
    PYTHON: {name: NAMED[name] for name in ("cfr", "cfr+", "lcfr", "dcfr")} | _SAMPLED,
}

# Without parameters.
_LIBRARIES: dict[str, dict[str, Any]] = {**OPENSPIEL, NEURAL: neural.ALGORITHMS}
KNOWN = (*ESTIMATORS, *NAMED, *(f"{library}:{name}" for library, names in _LIBRARIES.items() for name in names))

_OPTIONS = ("alternating", "batch", "baseline", "threads", "symmetry")
_TEXT = re.compile(r"(?:(?P<library>\w+):)?(?P<components>[^\[\]:]+)(?:\[(?P<options>[^\[\]]*)\])?")


@dataclass(frozen=True)
class Algorithm:
    """What is to be run.

    Attributes:
        text: As it was given; the same text is the same algorithm.
        library: ``"mccfr_plus"``, ``"neural"``, ``"openspiel"`` (C++) or ``"openspiel_python"``.
        name: Of OpenSpiel's or the neural solver; empty for our tabular ones.
        config: Of our solver, or of the one of ours that visits as many histories: OpenSpiel's do not count them.
    """

    text: str
    library: str
    name: str
    config: Any

    @property
    def is_random(self) -> bool:
        """Whether runs with other seeds differ."""
        if self.library == NEURAL:
            return True
        return self.config.estimator.samples or self.config.averaging.method in ("stochastic", "sampled")

    @property
    def needs_compiled_tree(self) -> bool:
        """Whether it cannot begin on a game whose tree does not fit; components of ours say so themselves.

        OpenSpiel's full traversals visit every history before their first iteration, in C++ that nothing interrupts.
        """
        return self.library == NEURAL or (self.library in OPENSPIEL and not self.config.estimator.samples)

    @property
    def evaluation_cost(self) -> float:
        """What an exact evaluation costs per history and player, in visits of this algorithm."""
        return FULL_COST if self.library == OURS and self.config.estimator == Full() else TRAVERSAL_COST


def algorithm_of(text: str) -> Algorithm:
    """Returns the algorithm of a name.

    Args:
        text: ``ESTIMATOR[/MINIMIZER[/AVERAGING]]`` with components as `Solver` takes them, or a whole algorithm's name
            (`NAMED`); options of `Solver` in brackets; or ``openspiel:NAME``, ``openspiel_python:NAME``; or
            ``neural:NAME`` with settings of its config in brackets.

    Raises:
        ConfigError: If it is not known, or its components do not go together.
    """
    text = text.strip()
    try:
        return Algorithm(text, *_parsed(text))
    except ConfigError as error:
        raise ConfigError(f"algorithm {text!r}: {error}") from None


def _parsed(text: str) -> tuple[str, str, Any]:
    """Returns library, name and config; see `Algorithm`."""
    match = _TEXT.fullmatch(text)
    library, names, given = match.groups("") if match else ("", "", "")
    try:
        options = parse_spec(f"options({given})").parameters
    except SyntaxError:
        raise ConfigError("write options as name=value, such as [batch=8].") from None
    names = names.strip()
    if library == NEURAL and names in neural.ALGORITHMS:
        return library, names, neural.default_config(names).changed(options.items())
    if names in OPENSPIEL.get(library, {}):
        if options:
            raise ConfigError("OpenSpiel's solvers are run with their defaults, without brackets.")
        return library, names, SolverConfig.from_specs(*OPENSPIEL[library][names])
    chosen = NAMED.get(names) or tuple(piece.strip() for piece in names.split("/"))
    if library or chosen[0].partition("(")[0].strip() not in ESTIMATORS or len(chosen) > 3 or not all(chosen):
        near = difflib.get_close_matches(text, KNOWN, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"there is none.{hint} Known are {', '.join(KNOWN)}; estimator/minimizer/average; [batch=8].")
    for name in options:
        if name not in _OPTIONS:
            raise ConfigError(f"option {name!r} is not known. Give one of {', '.join(_OPTIONS)}.")
    return OURS, "", SolverConfig.from_specs(*chosen, **options)
