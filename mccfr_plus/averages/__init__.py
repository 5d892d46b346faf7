"""Average strategies: which iteration weighs how much, and how the sums are formed."""

from mccfr_plus.averages.average import AverageMethod, Mechanism, PowerAverage, ScheduledAverage, linear, uniform

__all__ = ["AverageMethod", "Mechanism", "PowerAverage", "ScheduledAverage", "linear", "uniform"]
