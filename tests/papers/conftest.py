"""Items of papers in tests: computed in this process, without a view."""

import contextlib

import pytest
from mccfr_plus.experiments.papers import item

from mccfr_plus.experiments.comparison import about_here
from mccfr_plus.experiments.run_all import RunEvent, in_order
from mccfr_plus.experiments.run_loop import outcome_of


class Silent:
    def show(self, event):
        pass


def run_here(directories, about, processes, cluster):
    for number, run in enumerate(in_order(directories)):
        yield RunEvent(number, 1.0, outcome_of(run, about, lambda progress: None, lambda: False))


@pytest.fixture
def setting(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(item, "run_all", run_here)  # processes take seconds to start
    return item.Setting("small", tmp_path, about_here("a test"), 1, lambda _: contextlib.nullcontext(Silent()))
