"""Follow the regularized leader on whole sequences; the kernel is in `dilated`."""

from dataclasses import dataclass
from typing import ClassVar

from mccfr_plus.minimizers.dilated import Dilated


@dataclass(frozen=True)
class FTRL(Dilated):
    """Follow the regularized leader with dilated entropy, on whole sequences (Farina, Kroer, Sandholm 2020).

    The next strategy maximizes eta <G, x> - d(x) over sequence-form strategies x, with the sum G of all gradients and
    the dilated entropy d.

    The average is that of the sequence-form strategies, as with every minimizer; see `mccfr_plus.averages`.

    Args:
        eta: Step size, in 1 / payoff, above 0; constant. The recursive weights grow with the depth of the game, and so
            do good step sizes: 10 on Kuhn and Leduc poker, 100 on liar's dice.
        weights: Of the regularizer at each infoset: ``"kroer"``, the recursive scheme of Kroer et al. 2020, or
            ``"constant"``, 1 everywhere.
        optimistic: Count the last gradient twice.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.FTRL(eta=10.0))
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "ftrl"
