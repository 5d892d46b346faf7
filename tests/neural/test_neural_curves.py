"""Exploitability of the defaults on Leduc poker after some iterations, with a margin: seeds differ by a third."""

import pytest

pytest.importorskip("torch")
from mccfr_plus import neural

# Uniform play is exploitable by 2.37. A solver whose average, weights or targets are wrong stays above these.
RUNS = {
    "Deep CFR": (lambda: neural.DeepCFR("leduc_poker", seed=1), 110, 0.16),
    "Deep CFR, DCFR+": (
        lambda: neural.DeepCFR("leduc_poker", neural.DeepCFRConfig(minimizer="dcfr+"), seed=1), 120, 0.16
    ),
    "Deep CFR, PDCFR+": (
        lambda: neural.DeepCFR("leduc_poker", neural.DeepCFRConfig(minimizer="pdcfr+"), seed=1), 110, 0.16
    ),
    "Deep CFR, reservoir": (
        lambda: neural.DeepCFR("leduc_poker", neural.DeepCFRConfig(memory="reservoir"), seed=1), 60, 0.5
    ),
    "DREAM": (lambda: neural.DREAM("leduc_poker", seed=1), 84, 0.25),
    "DREAM, reservoir": (
        lambda: neural.DREAM("leduc_poker", neural.DREAMConfig(memory="reservoir"), seed=1), 60, 1.0
    ),
    "ESCHER": (lambda: neural.ESCHER("leduc_poker", seed=1), 50, 0.5),
    "ESCHER, exact values": (
        lambda: neural.ESCHER("leduc_poker", neural.ESCHERConfig(values="exact"), seed=1), 120, 0.15
    ),
    "NFSP": (lambda: neural.NFSP("leduc_poker", seed=1), 60, 0.8),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_leduc_poker(name):
    make, iterations, bar = RUNS[name]
    solver = make().run(iterations)
    assert solver.exploitability() < bar
