"""How items of papers are computed in tests: one process, nothing shown."""

import contextlib

import pytest

from mccfr_plus.experiments.comparison import about_here
from mccfr_plus.experiments.papers.item import Setting


class Silent:
    def show(self, news):
        pass


@pytest.fixture
def setting(tmp_path):
    pytest.importorskip("matplotlib")
    return Setting("small", tmp_path, about_here("a test"), 1, lambda _: contextlib.nullcontext(Silent()))
