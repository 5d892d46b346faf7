"""Average strategies: which iteration weighs how much (`power`), and how the sums are formed (`methods`)."""

from mccfr_plus.averages.methods import AverageMethod
from mccfr_plus.averages.power import PowerAverage, ScheduledAverage, linear, uniform

__all__ = ["AverageMethod", "PowerAverage", "ScheduledAverage", "linear", "uniform"]
