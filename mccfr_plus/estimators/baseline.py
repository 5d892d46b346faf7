"""Baselines: guesses of nodes' values that reduce the variance of sampled gradients."""

from dataclasses import dataclass
from typing import ClassVar

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import check_number


@dataclass(frozen=True)
class Baseline:
    """A running mean of each history's value, as a control variate for any sampling estimator (Schmid et al. 2019).

    The gradient stays unbiased whatever the baselines are; see `mccfr_plus.estimators.control_variates`.

    Args:
        rate: Weight of the newest value in the mean, in (0, 1]. Small rates average noise, of which expected values
            have none. Large rates follow the changing strategies faster.
        backup: Which values are averaged: ``"expected"``, the expectation over the children's baselines (Davis et al.
            2020), or ``"sampled"``, the value that the traversal sampled (Schmid et al. 2019, there with a rate of
            0.5).

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "outcome", baseline=mccfr_plus.Baseline(), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    rate: float = 1.0
    backup: str = "expected"
    short_name: ClassVar[str] = "mean"
    references: ClassVar[tuple[str, ...]] = ("schmid2019variance", "davis2020low")

    def __post_init__(self) -> None:
        check_number("rate", self.rate, 0, 1, "the rate of a baseline must be a number above 0 and at most 1")
        if self.backup not in ("expected", "sampled"):
            raise ConfigError(f"backup={self.backup!r}: give expected or sampled.")
