"""Every part of the package passes the checks that parts of others have to pass: one table."""

import naive
import pytest

from mccfr_plus import CheckError, check_average, check_estimator, check_minimizer
from mccfr_plus.checks.estimator import exact_means
from mccfr_plus.checks.games import SPANS, THREE, tiny_trees, tree_of_text
from mccfr_plus.estimators import Baseline
from mccfr_plus.minimizers import FTRL, OMD, Hedge
from mccfr_plus.solver import config as parts
from mccfr_plus.solver.config import SolverConfig

SAMPLES = 3_000

ESTIMATORS = (
    *((name, {}) for name in naive.UNBIASED),
    ("full(traversal=True)", {}),
    ("full(pruning=True)", {}),
    ("opponent(sample_per_infoset=True)", {}),
    ("external(sample_per_infoset=True)", {}),
    ("external(prune_below=-1.0, prune_probability=0.3)", {}),
    ("average_strategy(sample_per_infoset=True, tau=10.0, beta=1.0)", {}),
    ("outcome(epsilon=1.0)", {}),
    ("outcome(update_all_players=True)", {}),
    ("balanced(epsilon=0.5)", {}),
    ("external", {"batch": 2}),
    ("outcome(update_all_players=True)", {"batch": 2}),
    *((name, {"baseline": Baseline(0.5)}) for name in naive.UNBIASED if name != "full"),
    ("external(prune_below=-1.0, prune_probability=0.3)", {"baseline": True}),
    ("outcome", {"baseline": True, "batch": 2}),
)
BACKED_UP_BY_SAMPLES = [(name, {"baseline": Baseline(0.3, "sampled")}) for name in naive.UNBIASED if name != "full"]

# Slow ones are compared with their definitions in `minimizers` and `averages`. The others: a local one, a dilated one
# with a step size, one that needs `full`.
FAST = ("rm", "ftrl", "rtcfr+")
SLOW = (
    *(name for name in parts.MINIMIZERS if name not in FAST),
    *(Hedge(optimistic=True), Hedge(eta=0.03, decay=0.0)),
    *(FTRL(eta=0.1), FTRL(optimistic=True), FTRL(weights="constant"), FTRL(weights="least")),
    *(OMD(eta=0.1), OMD(optimistic=True), OMD(decay=0.5)),
)
MINIMIZERS = (*FAST, *(pytest.param(minimizer, marks=pytest.mark.slow) for minimizer in SLOW))

FAST_AVERAGES = (
    ("exact", "full"),
    ("lazy(gamma=1.0)", "chance"),
    ("stochastic", "external(sample_per_infoset=True)"),
    ("stochastic", "outcome(update_all_players=True)"),
    ("sampled", "outcome"),
    ("uniform", "external"),
    ("linear", "full"),
    ("power", "chance"),
    ("last", "external"),
)
SLOW_AVERAGES = {
    *(("exact", name) for name in naive.ESTIMATORS if name != "best_response"),
    *(("lazy(gamma=1.0)", name) for name in naive.ESTIMATORS if name not in ("full", "best_response")),
    *(("stochastic", name) for name in naive.ESTIMATORS if name != "best_response"),
    ("stochastic", "average_strategy(epsilon=0.3, tau=1.0, beta=0.0)"),
    *(("sampled", name) for name in ("opponent", "external", "average_strategy", "balanced")),
}.difference(FAST_AVERAGES)
AVERAGES = (*FAST_AVERAGES, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in sorted(SLOW_AVERAGES)))

# Batches and control variates multiply the outcomes.
FEW_OUTCOMES = [tree_of_text(SPANS), tree_of_text(THREE)]


def enumerated(report_lines):
    return [line for line in report_lines if line.check == "exact mean" and ", largest error" in line.result]


@pytest.mark.parametrize(("name", "options"), [*ESTIMATORS, *BACKED_UP_BY_SAMPLES], ids=str)
def test_exact_means_of_estimators(name, options):
    """As Python; `test_estimators_by_many_samples` compiles each, and `test_forms` most of them."""
    config = SolverConfig.from_specs(name, averaging="stochastic", **options)
    trees = tiny_trees()[1:]  # without Kuhn poker, whose outcomes are many
    if "batch" in options:  # whose outcomes are squares of those
        trees = FEW_OUTCOMES if "all_players" in name else FEW_OUTCOMES[:1]
    assert enumerated(exact_means(config, trees, 0))


@pytest.mark.parametrize(("name", "options"), [("external", {}), ("outcome", {"baseline": True, "batch": 2})], ids=str)
def test_estimators(name, options):
    report = check_estimator(name, samples=SAMPLES, games=FEW_OUTCOMES if options else None, **options)
    assert enumerated(report.lines)
    assert any(line.check == "z-test" for line in report.lines)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), ESTIMATORS, ids=str)
def test_estimators_by_many_samples(name, options):
    check_estimator(name, exact=False, seed=3, **options)


@pytest.mark.parametrize("minimizer", MINIMIZERS, ids=str)
def test_minimizers(minimizer):
    report = check_minimizer(minimizer)
    assert {line.check for line in report.lines} >= {"distribution", "permuted actions", "regret", "whole game"}


@pytest.mark.parametrize(("averaging", "estimator"), AVERAGES, ids=str)
def test_averages(averaging, estimator, interpreted_loops):  # of solvers: what is compiled replays two strategies
    report = check_average(averaging, estimator)
    assert report.lines


def test_the_optimistic_average_is_biased_and_the_report_says_how_much():
    report = check_average("optimistic")
    assert report.figures["bias"] > 0.02
    assert "off by up to" in str(report)
    with pytest.raises(CheckError, match="is biased"):
        check_average("optimistic", unbiased=True)
