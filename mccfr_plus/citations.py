"""BibTeX entries for the components that a solver uses, read from ``references.bib``."""

from __future__ import annotations

import re
from importlib import metadata, resources
from typing import TYPE_CHECKING

from mccfr_plus.errors import ConfigError

if TYPE_CHECKING:
    from mccfr_plus.solver.solver import Solver

_ALWAYS = ("lanctot2019openspiel",)  # cited for every solver

_ENTRY = re.compile(r"^@\w+\{(\w+),\n.*?^\}$", re.MULTILINE | re.DOTALL)
_PACKAGE = r"""@software{{mccfr_plus,
  author = {{{{The mccfr\_plus authors}}}},
  title = {{{{mccfr\_plus}}: {{Monte Carlo}} Counterfactual Regret Minimization for any {{OpenSpiel}} Game}},
  version = {{{version}}},
}}"""

# BibTeX entries by key; components name keys in a class attribute `references`.
_TEXT = (resources.files("mccfr_plus") / "references.bib").read_text(encoding="utf-8")
BIBLIOGRAPHY = {entry[1]: entry[0] for entry in _ENTRY.finditer(_TEXT)}


def cite(solver: Solver) -> str:
    """Returns BibTeX entries for the components of a solver, for OpenSpiel and for this package.

    A user-defined component is cited if its class has an attribute ``references`` that contains keys of `BIBLIOGRAPHY`
    or complete BibTeX entries, which begin with ``@``.

    Raises:
        ConfigError: If the argument is not a solver, or a component has an unknown reference.

    Examples:
        >>> import mccfr_plus
        >>> text = cite(mccfr_plus.Solver("kuhn_poker", "external", "rm"))
        >>> "OpenSpiel" in text
        True
    """
    config = getattr(solver, "config", None)
    if config is None:
        raise ConfigError(f"cite({solver!r}): give a solver, such as mccfr_plus.Solver('kuhn_poker').")
    components = (getattr(config, name, None) for name in ("estimator", "baseline", "minimizer", "averaging"))
    used = (solver, config, *components)  # neural solvers and their configs have references of their own
    entries = []
    for key in [*(key for component in used for key in getattr(component, "references", ())), *_ALWAYS]:
        if not key.lstrip().startswith("@") and key not in BIBLIOGRAPHY:
            known = ", ".join(BIBLIOGRAPHY)
            raise ConfigError(
                f"unknown reference {key!r}: give a complete BibTeX entry, starting with @, or one of {known}."
            )
        entries.append(BIBLIOGRAPHY.get(key, key.strip()))
    entries.append(_PACKAGE.format(version=metadata.version("mccfr_plus")))
    return "\n\n".join(dict.fromkeys(entries)) + "\n"
