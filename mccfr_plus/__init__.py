"""Monte Carlo counterfactual regret minimization for any OpenSpiel game.

    pyspiel.Game --compile--> GameTree --> estimator --gradient--> minimizer --> strategy --> averaging --> policy
                              (flat        samples a part          next strategy at   (table)   average      OpenSpiel
                               arrays)     of the tree             touched infosets      |      strategy     Policy
                                  ^                 ^------------------------------------'                     |
                                  '---------------- evaluation: best response, exploitability <----------------'

Examples:
    >>> import mccfr_plus
    >>> solver = mccfr_plus.Solver("kuhn_poker", estimator="external", minimizer="rm", seed=1)
    >>> solver.run(20_000).exploitability() < 0.05
    True

If the tree does not fit into memory, `Solver` traverses the game by its compiled rules, or expands it lazily, and
policies are `KeyedPolicy`. `evaluate_by_rules` is exact in the first case; in the second, `estimate_quality`,
`head_to_head` and the bounds of `mccfr_plus.evaluation` replace exact evaluation.
"""

import importlib
import importlib.util
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mccfr_plus.public import *

__version__ = version("mccfr_plus")


def __getattr__(name: str) -> Any:
    """Returns a subpackage or a public name, loaded on first use: each module of the package imports this one."""
    if importlib.util.find_spec(f"{__name__}.{name}"):
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__all__" or not name.startswith("_"):
        module = vars(importlib.import_module(f"{__name__}.public"))
        public = {each: value for each, value in module.items() if not each.startswith("_")}
        globals().update(public, __all__=list(public))
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the public names, without submodules and the imports of this module."""
    return [*__getattr__("__all__"), "__version__"]
