"""Compiled loops compute what the same loops compute as Python, bit by bit; on lazy trees, what they do on whole ones.

Other tests run loops as Python. Each combination is compiled here, so that most of them are slow tests.
"""

import naive
import pairs_game  # noqa: F401  (registers it)
import pytest
from combinations import covering
from interpreted import plain_solver
from lazy_trees import differences, lazy_solver

from mccfr_plus import Solver

_EACH = 20  # of so many combinations one is run by default


def bytes_of(solver):
    engine = solver._engine
    names = ("strategy", "tables", "average", "baselines")
    found = {name: getattr(engine, name) for name in names} | {"average strategy": solver.average_strategy()}
    for thread, scratch in enumerate(engine.scratches):
        found |= {f"generator of thread {thread}": scratch.rng, f"counts of thread {thread}": scratch.counts}
    return {name: array.tobytes() for name, array in found.items()}


def runs(game, combination, iterations):
    """Returns a solver whose loop ran as Python, and one whose loop is compiled; after a run."""
    *components, options = combination
    options = {name: value for name, value in options.items() if name != "tree"} | {"seed": 5}
    plain = plain_solver(naive.tree_of(game), *components, **options).run(iterations)
    if "tree" in combination.options:
        return plain, lazy_solver(naive.game(game), *components, **options).run(iterations)
    return plain, Solver(naive.tree_of(game), *components, **options).run(iterations)


COMBINATIONS = [
    pytest.param(each, id="-".join(map(str, each)), marks=pytest.mark.slow if number % _EACH else ())
    for number, each in enumerate(covering())
]


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_compiled_loops_give_the_bits_of_python(combination):
    for game, iterations in (("kuhn_poker", 4), ("kuhn_poker(players=3)", 2)):
        # With three players the stochastic average is another kernel, and there is no average of drawn actions.
        if (game, combination.averaging) == ("kuhn_poker(players=3)", "sampled"):
            continue
        plain, compiled = runs(game, combination, iterations)
        if compiled.tree.kind != "compiled":
            assert differences(plain, compiled) == []
            continue
        ours, theirs = bytes_of(compiled), bytes_of(plain)
        assert [name for name in ours if ours[name] != theirs[name]] == []
        assert compiled.nodes_touched == plain.nodes_touched > 0


def test_a_compiled_loop_uses_symmetries_as_python_does():
    plain, compiled = (make("pairs_game", "outcome", symmetry=True, seed=1).run(20) for make in (plain_solver, Solver))
    assert (plain.average_strategy() == compiled.average_strategy()).all()
    assert plain.nodes_touched == compiled.nodes_touched
