"""Types of arguments, and how numbers are printed."""

import argparse

import pytest

from mccfr_plus.cli.command import duration, memory_size, positive, specs, whole


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (whole(), "12", 12),
        (whole(), "1e6", 1_000_000),
        (whole(0), "0", 0),
        (whole(), "1_000", 1000),
        (positive, "1e-3", 0.001),
        (duration, "90", 90),
        (duration, "5m", 300),
        (duration, "1.5h", 5400),
        (duration, " 0.5s ", 0.5),
        (memory_size, "2GB", 2_000_000_000),
        (specs, "external(batch=2,epsilon=0.1), cfr+", ["external(batch=2,epsilon=0.1)", "cfr+"]),
    ],
)
def test_values(kind, text, value):
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (whole(1, 10), ["0", "11", "", "1.5", "nan", "x", "9" * 400]),
        (positive, ["0", "-1", "nan", "inf", "x"]),
        (duration, ["", "s", "0", "-5m", "5d", "nan", "infh", "m5"]),
        (memory_size, ["lots", "0", ""]),
        (specs, ["", "external(", "a,,b"]),
    ],
)
def test_bad_values(kind, texts):
    for text in texts:
        with pytest.raises(argparse.ArgumentTypeError):
            kind(text)
