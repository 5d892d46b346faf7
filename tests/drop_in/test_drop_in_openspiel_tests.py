"""OpenSpiel's own tests of the classes that drop-ins stand in for, with nothing changed but the import."""

from pathlib import Path

import pytest

_ALGORITHMS = "from open_spiel.python.algorithms import {}"
_OURS = "from mccfr_plus.drop_in import {}"
_PYSPIEL = {"import pyspiel": _OURS.format("pyspiel")}
_CFR = {_ALGORITHMS.format("cfr"): _OURS.format("cfr")}
_CFR_OF_PACKAGE = {_ALGORITHMS.format("cfr"): "from mccfr_plus import drop_in as cfr"}

# What cfr_test.py takes long for is OpenSpiel's: best responses in Python on Leduc, distances to correlated equilibria.
_FAST = ("test__update", "zero_is_uniform", "cfr_kuhn", "cfr_plus", "simultaneous", "test_policy", "algorithm0")


def test_cfr_test(rewrite, run_script):
    script = rewrite("algorithms/cfr_test.py", _CFR | _PYSPIEL)
    selection = [argument for pattern in _FAST for argument in ("-k", pattern)]
    output = run_script(script, "--", *selection)
    assert output.rstrip().endswith("OK")
    assert "Ran 24 tests" in output


@pytest.mark.slow
@pytest.mark.parametrize("imports", [_CFR, _CFR | _PYSPIEL, _CFR_OF_PACKAGE], ids=["cfr", "pyspiel", "package"])
def test_whole_cfr_test(rewrite, run_script, imports):
    output = run_script(rewrite("algorithms/cfr_test.py", imports))
    assert output.rstrip().endswith("OK")
    assert "Ran 31 tests" in output


def test_discounted_cfr_test(rewrite, run_script):
    imports = {_ALGORITHMS.format("discounted_cfr"): _OURS.format("discounted_cfr")}
    output = run_script(rewrite("algorithms/discounted_cfr_test.py", imports))
    assert output.rstrip().endswith("OK")
    assert "Ran 2 tests" in output


@pytest.mark.parametrize(("module", "tests"), [("external_sampling_mccfr", 6), ("outcome_sampling_mccfr", 3)])
def test_sampling_test(rewrite, run_script, module, tests):
    script = rewrite(f"algorithms/{module}_test.py", {_ALGORITHMS.format(module): _OURS.format(module)})
    output = run_script(Path(__file__).with_name("repeat_tests.py"), str(script))
    assert f"passed: {tests}\n" in output
