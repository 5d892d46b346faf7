"""The user-defined algorithm of `examples/neural_algorithm.py` is DREAM with baselines 0, in both representations."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from absl import flags

pytest.importorskip("torch")
from mccfr_plus.neural import corrected_regrets

EXAMPLE = Path(__file__).parents[2] / "examples" / "neural_algorithm.py"


@pytest.mark.parametrize("representation", ["tree", "batched"])
def test_outcome_sampled_deep_cfr(representation, monkeypatch):
    for name in ("string", "integer", "enum"):
        monkeypatch.setattr(flags, f"DEFINE_{name}", lambda *_, **__: None)
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 80
    solver = runpy.run_path(str(EXAMPLE))["new_solver"]("kuhn_poker", representation).run(5)
    assert solver.exploitability() < 0.458  # of uniform play
    for player in range(2):
        (paths,) = solver.representation.sample(solver._histories(player), 50, 50)
        own = paths.players == player
        expected = corrected_regrets(paths, np.zeros(paths.masks.shape), player)
        np.testing.assert_allclose(solver.regrets(paths, player)[own], expected[own], atol=1e-12)
        np.testing.assert_allclose(solver.weights(paths, player), paths.importance((player,)))
        assert np.abs(expected[own]).max() > 0.5
