"""Every public name has an example in its docstring and an entry in the API pages; the examples of all modules run."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import mccfr_plus

ROOT = Path(mccfr_plus.__file__).parent
PAGES = (Path(__file__).parent.parent / "docs" / "api").glob("*.md")
ENTRIES = "".join(path.read_text(encoding="utf-8") for path in PAGES)
FILES = [path for path in sorted(ROOT.rglob("*.py")) if "    >>> " in path.read_text(encoding="utf-8")]
MODULES = [".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__") for path in FILES]
NEEDS = {"mccfr_plus.neural": "torch", "mccfr_plus.cluster": "ray"}  # a package -> what it needs to be installed


@pytest.mark.parametrize("name", mccfr_plus.__all__)
def test_public_names_have_an_entry_and_an_example(name):
    value = getattr(mccfr_plus, name)
    if value.__module__.startswith("mccfr_plus"):
        # A function of a module of the same name is found by its whole path alone.
        path = "mccfr_plus" if value.__module__.rpartition(".")[2] != name else value.__module__
        assert f"::: {path}.{name}\n" in ENTRIES
        assert re.search(r"^Examples:\n +>>> ", inspect.getdoc(value), re.MULTILINE)
    else:  # OpenSpiel's own, which the page describes
        assert re.search(rf"^### {name}$[^#]*^```python$[^#]*mccfr_plus\.{name}", ENTRIES, re.MULTILINE)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name):
    for package, needed in NEEDS.items():
        if name.startswith(package):
            pytest.importorskip(needed)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failures = []
    finder, given = doctest.DocTestFinder(exclude_empty=True), {"mccfr_plus": mccfr_plus}
    for test in finder.find(importlib.import_module(name), name, extraglobs=given):
        runner.run(test, out=failures.append)
    assert runner.tries > 0
    assert not runner.failures, "".join(failures)
