"""Average strategies: which iteration weighs how much (`power`), and how the sums are formed (`mechanism`)."""

from mccfr_plus.averages.mechanism import AverageMethod, Mechanism
from mccfr_plus.averages.power import PowerAverage, ScheduledAverage, linear, uniform

__all__ = ["AverageMethod", "Mechanism", "PowerAverage", "ScheduledAverage", "linear", "uniform"]
