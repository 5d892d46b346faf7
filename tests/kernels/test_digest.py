"""The digest of a kernel's code: the same for the same code, another after any change of what it depends on."""

import json
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

import mccfr_plus
from mccfr_plus.kernels import compile as compile_module
from mccfr_plus.kernels.compile import digest_of, package_digest
from mccfr_plus.kernels.slots import Constant

THIRD = """
import numba

@numba.njit
def third(x):
    return x * 2.5
"""

HELPER = """
import numba
from own_third import third

LIMIT = 3

@numba.njit
def deepest(x):
    return x + 1.5
"""

MODULE = """
import numba
import numpy as np
import own_helper
from mccfr_plus.kernels.slots import Constant
from numba.extending import overload

ARRAY = np.array([1, 2, 3])
SWITCH = Constant("SWITCH", 2)

def make(step):
    @numba.njit
    def closed(x, times=2):
        return x + step * times
    return closed

closed = make(5)

def replaced(x):
    return x

@overload(replaced)
def _replaced_in_kernel(x):
    return lambda x: x + 7.0

@numba.njit(error_model="numpy")
def outer(x):
    return replaced(x) + own_helper.deepest(own_helper.third(x)) + own_helper.LIMIT + ARRAY[0] + closed(x) + SWITCH()
"""

FILES = {"own_third": THIRD, "own_helper": HELPER, "own_module": MODULE}
CHANGES = {
    "a constant of a helper module": ("LIMIT = 3", "LIMIT = 4"),
    "the body of a helper": ("x + 1.5", "x - 1.5"),
    "what a helper imports": ("x * 2.5", "x / 2.5"),
    "a frozen array": ("[1, 2, 3]", "[1, 2, 4]"),
    "the kind of an array": ("[1, 2, 3]", "[1, 2, 3], np.int32"),
    "a constant": ('"SWITCH", 2', '"SWITCH", 3'),
    "a closure": ("make(5)", "make(6)"),
    "a default": ("times=2", "times=3"),
    "an overload": ("x + 7.0", "x + 8.0"),
    "options": ('error_model="numpy"', 'error_model="python"'),
}


@pytest.fixture
def digest_in(tmp_path, monkeypatch):
    """Returns a function that imports the modules, perhaps changed, and returns the digest of `outer`."""
    monkeypatch.syspath_prepend(tmp_path)

    def of(before="", after=""):
        for name, text in FILES.items():
            (tmp_path / f"{name}.py").write_text(text.replace(before, after) if before else text)
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        import own_module

        return digest_of(own_module.outer)

    return of


def test_every_change_is_a_digest_of_its_own(digest_in):
    plain = digest_in()
    assert plain is not None
    assert len(plain) == 16
    assert digest_in() == plain
    digests = {what: digest_in(*change) for what, change in CHANGES.items()}
    assert None not in digests.values()
    assert len({plain, *digests.values()}) == 1 + len(CHANGES)


def test_the_package_counts(monkeypatch):
    before = digest_of(mccfr_plus.RegretMatching.kernel)
    monkeypatch.setattr("mccfr_plus.kernels.compile.package_digest", lambda: "another version")
    assert digest_of(mccfr_plus.RegretMatching.kernel) not in (None, before)
    assert len(package_digest()) == 64


def test_a_file_that_was_edited_after_the_import_does_not_hide_the_code(tmp_path, monkeypatch):
    """Its text is that of new code, and the kernel is the old one."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_edited.py").write_text("def rule(x):\n    return x + 1\n")
    import own_edited

    (tmp_path / "own_edited.py").write_text("def rule(x):\n    return x + 20\n")
    compile_module._texts.clear()
    old = digest_of(own_edited.rule)
    monkeypatch.delitem(sys.modules, "own_edited")
    import own_edited as new

    assert digest_of(new.rule) != old


def countdown(n):
    return countdown(n - 1) if n else 0


class Custom:
    """Has a source, and its objects have none."""


def with_global(value):
    def reads():
        return something  # noqa: F821

    return type(reads)(reads.__code__, {"__name__": __name__, "something": value})


def with_closure(value):
    def reads():
        return value

    return reads


@pytest.mark.parametrize(
    "value", [Custom(), {"a": 1}, {1, 2}, np.array([Custom()]), (1, Custom())], ids=lambda value: type(value).__name__
)
def test_values_without_a_source_have_no_digest(value):
    for kernel in (with_global(value), with_closure(value), with_global(lambda: value)):
        assert digest_of(kernel) is None


def test_code_of_no_module_and_of_no_file_has_no_digest():
    for name in (__name__, "no_such_module"):
        names = {"__name__": name}
        exec(compile("def rule(x): return x + 1", "<typed in>", "exec"), names)
        assert digest_of(names["rule"]) is None


@pytest.mark.parametrize("value", [None, 1.5, "x", (), frozenset([1]), Custom, json, np.sum, np.dtype("i4"),
    numba.int64, Constant("A", 1), countdown], ids=lambda value: type(value).__name__)  # fmt: skip
def test_values_with_a_source_have_a_digest(value):
    assert digest_of(with_global(value)) is not None
    assert digest_of(with_global(value)) == digest_of(with_global(value))
    assert digest_of(with_global(value)) != digest_of(with_global("something else"))


def run(code, folder, **environment):
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout)


BASE = """
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import optional_slot

@optional_slot
def RULE(x):
    return 0

@kernel
def outer(x):
    return RULE(x) + 1
"""

PART = """
import numba

@numba.njit
def helper(x):
    return 2 * x

@numba.njit
def part(x):
    return helper(x) + 10
"""

BOUND = """
import json, own_base, own_part
from mccfr_plus.kernels.slots import bind
bound = bind(own_base.outer, {own_base.RULE: own_part.part})
value = bound(3)
stats = getattr(bound, "stats", None)
print(json.dumps([value, stats and sum(stats.cache_hits.values()), stats and sum(stats.cache_misses.values())]))
"""


def test_bound_kernels_are_kept_until_a_component_changes_or_a_file_is_damaged(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "own_base.py").write_text(BASE)
    (tmp_path / "own_part.py").write_text(PART)
    assert run(BOUND, tmp_path, **cache) == [17, 0, 1]
    for path in (tmp_path / "cache").rglob("*.nbc"):
        os.truncate(path, path.stat().st_size // 2)
    assert run(BOUND, tmp_path, **cache) == [17, 0, 1]
    assert run(BOUND, tmp_path, **cache) == [17, 1, 0]  # the file is whole again
    (tmp_path / "own_part.py").write_text(PART.replace("2 * x", "33 * x"))
    assert run(BOUND, tmp_path, **cache) == [110, 0, 1]
