"""BibTeX: all components have references, a solver cites only those of its components."""

import re
from types import SimpleNamespace

import pytest

from mccfr_plus import ConfigError, cite
from mccfr_plus.citations import BIBLIOGRAPHY
from mccfr_plus.solver.config import AVERAGES, BASELINES, ESTIMATORS, MINIMIZERS


def keys_of(solver):
    return re.findall(r"^@\w+\{([^,\s]+),$", cite(solver), re.MULTILINE)


def test_every_component_has_references():
    for table in (ESTIMATORS, MINIMIZERS, AVERAGES, BASELINES):
        for name, factory in table.items():
            references = factory().references
            assert references or name == "last", name
            assert set(references) <= set(BIBLIOGRAPHY), name


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
