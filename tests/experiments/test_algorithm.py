"""Names of algorithms: what they stand for, and what is refused."""

import pytest

from mccfr_plus import ConfigError, compile_game, load_game
from mccfr_plus.experiments.algorithm import CPP, KNOWN, NAMED, NEURAL, OPENSPIEL, OURS, PYTHON, algorithm_of
from mccfr_plus.experiments.solvers import solver_of
from mccfr_plus.neural import BatchedESCHERConfig
from mccfr_plus.solver.config import SolverConfig


@pytest.mark.parametrize(
    ("text", "components", "options"),
    [
        ("external", ("external", "rm", None), {}),
        ("outcome(epsilon=0.3)/rm+/linear", ("outcome(epsilon=0.3)", "rm+", "linear"), {}),
        ("external[symmetry=True]", ("external", "rm", None), {"symmetry": True}),
        ("external[batch=8, baseline=True]", ("external", "rm", None), {"batch": 8, "baseline": True}),
        ("full/dcfr/power(gamma=3.0)[alternating=False]", ("full", "dcfr", "power(gamma=3.0)"), {"alternating": False}),
        (" cfr+ ", ("full", "rm+", None), {}),
    ],
)
def test_ours(text, components, options):
    algorithm = algorithm_of(text)
    assert (algorithm.library, algorithm.name) == (OURS, "")
    assert algorithm.config == SolverConfig.from_specs(*components, **options)
    assert algorithm.text == text.strip()


def test_openspiels():
    assert (algorithm_of("openspiel:cfr+").library, algorithm_of("openspiel:cfr+").name) == (CPP, "cfr+")
    assert (algorithm_of("openspiel_python:dcfr").library, algorithm_of("openspiel_python:dcfr").name) == (
        PYTHON,
        "dcfr",
    )


def test_neural():
    algorithm = algorithm_of("neural:batched_escher[traversals=1e3,hidden_layers=(8,)]")
    assert (algorithm.library, algorithm.name) == (NEURAL, "batched_escher")
    assert algorithm.config == BatchedESCHERConfig(traversals=1000, hidden_layers=(8,))
    tree = compile_game("kuhn_poker")
    solver = solver_of(tree, algorithm, seed=1)
    assert (solver.config, solver.seed) == (algorithm.config, 1)
    assert solver.whole_tree() is tree


@pytest.mark.parametrize(
    "name", ["neural:dream", "openspiel:cfr", "openspiel:cfr+", "openspiel_python:cfr", "openspiel_python:dcfr"]
)
def test_what_needs_a_compiled_tree(name):
    with pytest.raises(ConfigError, match=r"needs a compiled tree, and that of phantom_ttt\(\) does not fit"):
        solver_of(load_game("phantom_ttt"), algorithm_of(name), seed=1)


_TABULAR = [name for name in KNOWN if not name.startswith(NEURAL)]


@pytest.mark.parametrize("name", [name for name in _TABULAR if name != "average_strategy"])
def test_every_name_runs(name):
    """The average policy of each is closer to an equilibrium after some iterations than uniform play is (0.458)."""
    solver = solver_of(compile_game("kuhn_poker"), algorithm_of(name), seed=1)
    solver.run(3)
    solver.run(2000 if algorithm_of(name).is_random else 60)
    assert solver.nodes_touched > solver.iterations >= 63
    assert solver.evaluate().exploitability < 0.2
    assert solver.seconds > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("externl", "Did you mean 'external'.*Known are full, chance"),
        ("external/rm/linear/more", "there is none"),
        ("external//linear", "there is none"),
        ("", "there is none"),
        ("external[batch=8", "there is none"),
        ("external/rmm", "minimizer='rmm' is not known"),
        ("external[8]", "write options as name=value"),
        ("external[speed=8]", "option 'speed' is not known. Give one of alternating, batch"),
        ("external[batch=0.5]", "batch=0.5: must be a whole number"),
        ("external[batch=True]", "batch=True: must be a whole number"),
        ("external[batch=0]", "batch=0"),
        ("full[batch=2]", "batch"),
        ("openspiel:dcfr", "'openspiel:dcfr': there is none.*openspiel:cfr"),
        ("litefg:cfr", "'litefg:cfr': there is none"),
        ("openspiel:cfr[batch=2]", "without brackets"),
        ("neural:cfr", "'neural:cfr': there is none"),
        ("neural:dream[traversal=2]", "no setting 'traversal'. Did you mean 'traversals'"),
        ("neural:dream[traversals=0]", "algorithm 'neural:dream.*': traversals=0"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        algorithm_of(text)


def test_what_depends_on_the_seed():
    fixed = [*NAMED, "full/rm", "openspiel:cfr", "openspiel_python:lcfr"]
    drawn = ["external", "chance", "full/rm/stochastic", "openspiel:external", "openspiel_python:outcome"]
    assert [algorithm_of(name).is_random for name in (*fixed, *drawn)] == [False] * len(fixed) + [True] * len(drawn)


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


def test_a_solver_stops_when_told():
    solver = solver_of(compile_game("leduc_poker"), algorithm_of("openspiel:external"), seed=1)
    solver.run(10**9, callback=lambda _: solver.iterations > 100)
    assert 100 < solver.iterations < 10**6
