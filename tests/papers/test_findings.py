"""Findings and verdicts of the scripts by hand."""

import common
import minimizers

from mccfr_plus.experiments import Interval


def test_orders_and_verdicts():
    assert common.order(Interval(1, 0.5, 1.5), Interval(3, 2, 4)) == "ahead"
    assert common.order(Interval(3, 2, 4), Interval(1, 0.5, 1.5)) == "behind"
    assert common.order(Interval(1, 0.5, 2.5), Interval(3, 2, 4)) == "intervals overlap"
    assert common.verdict(True, True) == "reproduced"
    assert common.verdict(True, False) == "reproduced at smaller scale"
    assert common.verdict(False, True) == common.verdict(False, False) == "not reproduced"


def test_ranks_and_ratios_of_minimizers():
    # a: ranks 1, 2.5 and 1; ratios 1, 4 and 1. b: 2, 1, 2.5; 10, 1, 1. c: 3, 2.5, 2.5 ...; below the floor is alike.
    ends = {
        "first": {"a": 1.0, "b": 10.0, "c": 100.0},
        "second": {"a": 0.4, "b": 0.1, "c": 0.4},
        "third": {"a": 1e-15, "b": 0.0, "c": 1e-9},
    }
    assert [(found.what, found.here, found.verdict) for found in minimizers.summary_of(ends)] == [
        ("b", "mean rank 1.5, 2.15 times the best", "best on 2 of 3 games"),
        ("a", "mean rank 1.7, 1.59 times the best", "best on 2 of 3 games"),
        ("c", "mean rank 2.8, 73.7 times the best", "best on 0 of 3 games"),
    ]
    assert minimizers.lines_of(ends)[2:] == [
        "| first | **1** | 10 | 1e+02 |",
        "| second | 0.4 | **0.1** | 0.4 |",
        "| third | **1e-15** | **0** | 1e-09 |",
    ]
