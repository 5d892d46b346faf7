"""Algorithms: what specs and objects mean, and what is refused."""

import pytest

from mccfr_plus import ConfigError, Solver, compile_game, load_game
from mccfr_plus.experiments.algorithms import CPP, KNOWN, NEURAL, OPENSPIEL, OURS, PYTHON, USER, algorithm_of, solver_of
from mccfr_plus.solver.config import SolverConfig


@pytest.mark.parametrize(
    ("text", "components", "options"),
    [
        ("external", ("external", "rm", None), {}),
        ("outcome(epsilon=0.3, minimizer=rm+, averaging=linear)", ("outcome(epsilon=0.3)", "rm+", "linear"), {}),
        ("outcome(minimizer=hedge(eta=0.5), batch=3)", ("outcome", "hedge(eta=0.5)", None), {"batch": 3}),
        ("external(symmetry=True)", ("external", "rm", None), {"symmetry": True}),
        ("external(batch=8, baseline=True)", ("external", "rm", None), {"batch": 8, "baseline": True}),
        (" cfr+(alternating=False) ", ("full", "rm+", None), {"alternating": False}),
        ("escher", ("escher", "rm", None), {}),
    ],
)
def test_specs_of_our_solvers(text, components, options):
    algorithm = algorithm_of(text)
    assert (algorithm.library, algorithm.text) == (OURS, text.strip())
    assert algorithm.config == SolverConfig.from_specs(*components, **options)


def test_specs_of_other_solvers():
    assert algorithm_of("openspiel:cfr+").library == CPP
    assert algorithm_of("openspiel_python:dcfr").library == PYTHON
    for text in ("dream(traversals=200)", "neural:dream(traversals=200)"):
        algorithm = algorithm_of(text)
        assert (algorithm.library, algorithm.name) == (NEURAL, "dream")
    assert algorithm_of("neural:escher(traversals=1000)").library == NEURAL
    solver = solver_of(compile_game("kuhn_poker"), algorithm, seed=1)
    assert (solver.config.traversals, solver.seed) == (200, 1)


def test_configs_solvers_and_factories():
    config = SolverConfig.from_specs("external", "rm+", batch=2)
    template = Solver("leduc_poker", "external", "rm+", batch=2)
    assert algorithm_of(config).config == algorithm_of(template).config == config
    tree = compile_game("kuhn_poker")
    assert solver_of(tree, algorithm_of(template), seed=3).run(10).nash_conv() == (
        Solver(tree, "external", "rm+", batch=2, seed=3).run(10).nash_conv()
    )
    algorithm = algorithm_of(lambda game, seed: Solver(game, seed=seed))
    assert (algorithm.library, algorithm.is_random) == (USER, True)
    assert solver_of(tree, algorithm, seed=4).seed == 4
    with pytest.raises(ConfigError, match="returned a int without 'run'"):
        solver_of(tree, algorithm_of(lambda game, seed: seed), seed=4)


def test_algorithms_that_need_a_compiled_tree():
    for name in ("dream", "openspiel:cfr", "openspiel_python:dcfr"):
        with pytest.raises(ConfigError, match=r"needs a compiled tree, but the tree of phantom_ttt\(\) does not fit"):
            solver_of(load_game("phantom_ttt"), algorithm_of(name), seed=1)


_TABULAR = [name for name in KNOWN if algorithm_of(name).library != NEURAL]


# Average strategy sampling takes longer to converge; public chance has kernels of its own, which its own tests compile.
@pytest.mark.parametrize("name", [name for name in _TABULAR if name not in ("average_strategy", "public_chance")])
def test_every_name_runs(name):
    """The average policy is closer to an equilibrium after some iterations than uniform play is (0.458)."""
    solver = solver_of(compile_game("kuhn_poker"), algorithm_of(name), seed=1)
    solver.run(3)
    solver.run(2000 if algorithm_of(name).is_random else 60)
    assert solver.nodes_touched > solver.iterations >= 63
    assert solver.evaluate().exploitability < 0.2
    assert solver.seconds > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("externl", "Did you mean 'external'.*Give one of full, chance"),
        ("external(batch=8", "does not have the form name"),
        ("cfr+(minimizer=rm)", "unknown parameter 'minimizer'"),
        ("openspiel:dcfr", "unknown name 'openspiel:dcfr'.*openspiel:cfr"),
        (3, "give a name, a Solver"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        algorithm_of(given)


@pytest.mark.parametrize(
    "name", [f"{library}:{name}" for library, names in OPENSPIEL.items() for name in names if name.endswith("cfr")]
)
def test_nodes_of_openspiels_full_traversals(name):
    """58 histories of Kuhn poker, once for each player."""
    solver = solver_of(compile_game("kuhn_poker"), algorithm_of(name), seed=1)
    solver.run(7)
    assert (solver.iterations, solver.nodes_touched) == (7, 7 * 2 * 58)


def test_nodes_of_openspiels_sampling_are_those_of_our_solver():
    tree = compile_game("leduc_poker")
    theirs, ours = (solver_of(tree, algorithm_of(name), seed=5) for name in ("openspiel:external", "external"))
    for count in (1, 10, 100):
        theirs.run(count)
        ours.run(count)
        assert theirs.nodes_touched == ours.nodes_touched
