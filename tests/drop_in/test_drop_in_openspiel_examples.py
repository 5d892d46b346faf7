"""OpenSpiel's own examples with nothing changed but the import, and this package's versions of two of them."""

import re

import numpy as np
import pyspiel
import pytest

_ALGORITHMS = "from open_spiel.python.algorithms import {}"
_OURS = "from mccfr_plus.drop_in import {}"
_PYSPIEL = {"import pyspiel": _OURS.format("pyspiel")}
_CFR = {_ALGORITHMS.format("cfr"): _OURS.format("cfr")}
_DISCOUNTED = {_ALGORITHMS.format("discounted_cfr"): _OURS.format("discounted_cfr")}
_SAMPLING = {
    _ALGORITHMS.format(name): _OURS.format(name) for name in ("external_sampling_mccfr", "outcome_sampling_mccfr")
}
_GOOFSPIEL = "--game=turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,points_order=descending))"

_UNIFORM_NASH_CONV = 11 / 12  # of the uniform policy in Kuhn poker, where every run begins


def _numbers(output: str, after: str) -> np.ndarray:
    return np.array([float(number) for number in re.findall(rf"(?:{after}):? (-?\d[-\d.e]*)", output)])


@pytest.mark.parametrize(
    ("name", "imports", "arguments", "after", "count"),
    [
        ("cfr_example", _CFR, ["--iterations=31"], "exploitability", 4),
        ("discounted_cfr", _DISCOUNTED, ["--iterations=11", _GOOFSPIEL], "exploitability", 2),
        ("kuhn_poker_cfr", _CFR, [], "player 0 value", 2),
    ],
)
def test_prints_what_openspiel_prints(rewrite, run_script, name, imports, arguments, after, count):
    theirs = _numbers(run_script(rewrite(f"examples/{name}.py", {}), *arguments), after)
    ours = _numbers(run_script(rewrite(f"examples/{name}.py", imports), *arguments), after)
    assert len(theirs) == count
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("flag", "solver"), [("cfr", pyspiel.CFRSolver), ("cfrplus", pyspiel.CFRPlusSolver)])
def test_cfr_cpp_example(rewrite, run_script, flag, solver):
    # The expected numbers are those of a run without the example's pickling in the middle: OpenSpiel's CFRPlusSolver
    # forgets the number of the iteration when it is pickled, and with it the weights of its average.
    game = pyspiel.load_game("kuhn_poker")
    reference = solver(game)
    expected = []
    for _ in range(20):
        reference.evaluate_and_update_policy()
        expected.append(pyspiel.exploitability(game, reference.average_policy()))
    output = run_script(rewrite("examples/cfr_cpp_example.py", _PYSPIEL), f"--solver={flag}")
    np.testing.assert_allclose(_numbers(output, "exploitability"), expected, rtol=0, atol=6e-7)  # six digits printed
    np.testing.assert_allclose(_numbers(output, "loaded model"), expected[9:10], rtol=0, atol=6e-7)
    assert set(_numbers(output, "length")) == {12}


@pytest.mark.parametrize("sampling", ["external", "outcome"])
def test_mccfr_example(rewrite, run_script, sampling):
    script = rewrite("examples/mccfr_example.py", _SAMPLING)
    output = run_script(script, f"--sampling={sampling}", "--iterations=5001", "--print_freq=2500")
    nash_conv = _numbers(output, "exploitability")
    assert len(nash_conv) == 3
    assert nash_conv[-1] < _UNIFORM_NASH_CONV


@pytest.mark.parametrize("sampling", ["external", "outcome"])
def test_mccfr_cpp_example(rewrite, run_script, sampling):
    script = rewrite("examples/mccfr_cpp_example.py", _PYSPIEL)
    output = run_script(script, f"--sampling={sampling}", "--iterations=200")
    exploitability = _numbers(output, "exploitability")
    assert len(exploitability) == 200
    np.testing.assert_allclose(_numbers(output, "nashconv"), 2 * exploitability, rtol=0, atol=1.5e-6)
    assert _numbers(output, "loaded model") == exploitability[99]
    assert exploitability[-1] < _UNIFORM_NASH_CONV / 2  # exploitability is NashConv / 2
