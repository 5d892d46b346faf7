"""Results of a table of combinations are those of 0.1.0, whose one kernel held all components."""

import pytest
from golden import CASES, EXPECTED, numbers_of

TABLE = list(zip(CASES, EXPECTED, strict=True))


@pytest.mark.parametrize(("case", "expected"), TABLE, ids=lambda value: str(value)[:60])
def test_numbers_are_those_of_the_former_kernel(case, expected):
    # Sums of products and exponentials round differently on other processors; nodes are counted.
    found = numbers_of(case)
    assert found[0] == expected[0]
    assert found[1:] == pytest.approx(expected[1:], rel=1e-9, abs=1e-9)
