"""Online mirror descent on whole sequences; the kernel is in `dilated`."""

from dataclasses import dataclass
from typing import ClassVar

from mccfr_plus.minimizers.dilated import Dilated


@dataclass(frozen=True)
class OMD(Dilated):
    """Online mirror descent with dilated entropy, on whole sequences (Farina, Kroer, Sandholm 2020).

    With a constant step size its iterates are those of `FTRL`; see `mccfr_plus.minimizers.dilated`.

    Args:
        eta: Step size, in 1 / payoff, above 0.
        weights: See `FTRL`.
        optimistic: Count the last gradient twice.
        decay: Exponent d of eta / t^d, in 0 .. 1; 0: constant.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.OMD(eta=10.0))
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    decay: float = 0.0
    short_name: ClassVar[str] = "omd"
