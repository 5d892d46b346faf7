"""BibTeX: all components have references, a solver cites only those of its components."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import mccfr_plus
from mccfr_plus import ConfigError, Solver, cite
from mccfr_plus.citations import BIBLIOGRAPHY, entries
from mccfr_plus.solver.registry import AVERAGES, BASELINES, ESTIMATORS, MINIMIZERS


def keys_of(solver):
    return re.findall(r"^@\w+\{([^,\s]+),$", cite(solver), re.MULTILINE)


def test_entries_have_their_key_an_author_a_title_and_a_year():
    for key, text in BIBLIOGRAPHY.items():
        assert re.match(rf"@\w+\{{{key},\n", text)
        assert text.count("{") == text.count("}")
        for name in ("author", "title", "year"):
            assert f"  {name} = {{" in text, key


def test_every_component_has_references():
    for table in (ESTIMATORS, MINIMIZERS, AVERAGES, BASELINES):
        for name, factory in table.items():
            references = factory().references
            assert references or name == "last", name
            assert set(references) <= set(BIBLIOGRAPHY), name


def test_keys_that_the_source_names_exist():
    source = "".join(path.read_text() for path in Path(mccfr_plus.__file__).parent.rglob("*.py"))
    named = set(re.findall(r'"([a-z]+(?:19|20)\d\d[a-z]+)"', source))
    assert len(named) > 15
    assert named <= set(BIBLIOGRAPHY)


@pytest.mark.parametrize(
    ("estimator", "minimizer"),
    [*((estimator, "rm") for estimator in ESTIMATORS), *(("full", minimizer) for minimizer in MINIMIZERS)],
)
def test_cites_the_components_in_use_once(estimator, minimizer):
    solver = Solver("kuhn_poker", estimator, minimizer)
    keys = keys_of(solver)
    components = (solver.estimator, solver.minimizer, solver.averaging)
    expected = {key for component in components for key in component.references}
    assert set(keys) == expected | {"lanctot2019openspiel", "mccfr_plus"}
    assert len(keys) == len(set(keys))
    assert keys[0] == solver.estimator.references[0]


def test_cfr_by_hand():
    assert keys_of(Solver("kuhn_poker", "full", "rm")) == [
        "zinkevich2007regret",
        "hart2000simple",
        "lanctot2019openspiel",
        "mccfr_plus",
    ]


def test_user_defined_components():
    def solver(**attributes):
        component = SimpleNamespace(**attributes)
        components = {"estimator": component, "baseline": None, "minimizer": component, "averaging": SimpleNamespace()}
        return SimpleNamespace(config=SimpleNamespace(**components))

    assert keys_of(solver()) == ["lanctot2019openspiel", "mccfr_plus"]
    own = "@misc{me2026,\n  author = {Me},\n  title = {Mine},\n}"
    assert keys_of(solver(references=(own, "hoda2010smoothing"))) == [
        "me2026",
        "hoda2010smoothing",
        "lanctot2019openspiel",
        "mccfr_plus",
    ]
    with pytest.raises(ConfigError, match="'unknown1900key'"):
        cite(solver(references=("unknown1900key",)))


def test_neural_solvers():
    neural = pytest.importorskip("mccfr_plus.neural")
    pytest.importorskip("torch")
    assert keys_of(neural.DREAM("kuhn_poker"))[0] == "steinberger2020dream"
    config = neural.DeepCFRConfig(minimizer="pdcfr+")
    assert keys_of(neural.DeepCFR("kuhn_poker", config))[:2] == ["brown2019deep", "xu2025deep"]
    for name in neural.ALGORITHMS.values():
        assert set(getattr(neural, name).references) <= set(BIBLIOGRAPHY)
        assert getattr(neural, name).references


def test_what_is_no_solver():
    with pytest.raises(ConfigError, match="give a solver"):
        cite("reg_cfr")


def test_keys_are_kept_in_order_and_once():
    found = entries(["hart2000simple", "freund1997decision", "hart2000simple"])
    assert found == [BIBLIOGRAPHY["hart2000simple"], BIBLIOGRAPHY["freund1997decision"]]
