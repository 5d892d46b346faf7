"""Gibson et al. 2012: verdicts by hand, and each kind of figure on small settings."""

import numpy as np
import pytest

from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.papers import gibson2012
from mccfr_plus.experiments.papers.gibson2012 import ALGORITHMS, AVERAGE_STRATEGY, LABELS, verdict_rows
from mccfr_plus.experiments.record import Point


def curve(algorithm, *ends):
    """Returns a curve of one point, with an exploitability per seed."""
    return Curve("game", algorithm, tuple((Point(1e6, 10, 10**6, 1.0, 2 * end, (0.0, 0.0)),) for end in ends), 2)


def verdict(ours, external, outcome=(9.0, 9.0)):
    found = verdict_rows(
        "g",
        {
            "external": curve("external", *external),
            "outcome": curve("outcome", *outcome),
            AVERAGE_STRATEGY: curve(AVERAGE_STRATEGY, *ours),
        },
    )
    return found[-1].here, found[-1].verdict


def test_verdicts_on_average_strategy_sampling():
    assert verdict((1.0, 1.0), (2.0, 2.0)) == ("2.00", "agrees, clearly")
    assert verdict((2.0, 2.0), (1.0, 1.0)) == ("0.50", "differs, clearly")
    assert verdict((1.0, 3.0), (2.0, 3.0)) == ("1.25", "agrees, bands overlap")
    assert verdict((2.0, 3.0), (1.0, 3.0)) == ("0.80", "differs, bands overlap")
    # The best of the others is what it is compared with, whichever that is.
    assert verdict((1.0, 1.0), (2.0, 2.0), outcome=(0.5, 0.5)) == ("0.50", "differs, clearly")


def test_rows_give_half_of_b1_plus_b2():
    rows = verdict_rows("g", {"external": curve("external", 0.25, 0.25), AVERAGE_STRATEGY: curve("as", 0.5, 0.5)})
    assert rows[0].here == "0.25 (0.25 .. 0.25)"


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ({0.05: (1.0, 1.1), 1.0: (2.0, 2.1)}, ("0.05, 1.00 times", "agrees")),
        ({0.05: (1.0, 2.2), 1.0: (2.0, 2.1)}, ("0.05, 1.00 times", "agrees, but 1 others are within")),
        ({0.05: (3.0, 3.0), 1.0: (2.0, 2.0)}, ("1, 1.50 times", "differs")),
        ({0.05: (2.0, 3.0), 1.0: (1.0, 3.0)}, ("1, 1.25 times", "not told apart by these seeds")),
    ],
)
def test_verdicts_on_parameters(ends, expected):
    values = {value: str(value) for value in ends}
    row = gibson2012._choice("what", 0.05, {str(value): np.array(end) for value, end in ends.items()}, values)
    assert row.here == expected[0]
    assert row.verdict.startswith(expected[1])


def inked(path):
    """Returns the share of a picture that is not white."""
    from matplotlib import image

    return float((image.imread(path)[:, :, :3] < 0.9).any(axis=2).mean())


@pytest.mark.parametrize(("compute", "name"), [(gibson2012.epsilon, "figure1a"), (gibson2012.tau, "figure1b")])
def test_parameters(setting, monkeypatch, compute, name):
    monkeypatch.setattr(gibson2012, "SIZE", {"small": ("nl_holdem_buckets(stack=4)", 2e4, 2)})
    monkeypatch.setattr(gibson2012, "EPSILONS", (0.05, 1.0))
    monkeypatch.setattr(gibson2012, "TAUS", (1.0, 1e3))
    monkeypatch.setattr(gibson2012, "BETAS", (1e3,))
    result = compute(setting, name)
    assert len(result.rows) == 2 + 1
    values = [float(row.here.split()[0]) for row in result.rows[:2]]
    assert values[0] != values[1]
    assert all(0 < value < 4 for value in values)  # stacks of 4
    assert [path.name for path in result.pictures] == [f"{name}.png", f"{name}.svg"]
    assert inked(result.pictures[0]) > 0.02


def test_curves(setting, monkeypatch):
    small = ("bluff(dice1=2,dice2=1,faces=2)", 2e4, 2, "A note.")
    monkeypatch.setitem(gibson2012.CURVES, ("figure3b", "small"), small)
    result = gibson2012.curve_figure(setting, "figure3b")
    assert len(result.rows) == len(ALGORITHMS) + 2
    assert [row.what.partition(": ")[2] for row in result.rows[: len(ALGORITHMS)]] == list(LABELS.values())
    assert inked(result.pictures[0]) > 0.02


def test_stacks(setting, monkeypatch):
    monkeypatch.setattr(gibson2012, "STACKS", {"small": ((4, 5), 1e4, 2)})
    result = gibson2012.stack_sizes(setting, "figure2b")
    assert len(result.rows) == 2 * (len(ALGORITHMS) + 2)
    assert inked(result.pictures[0]) > 0.02
