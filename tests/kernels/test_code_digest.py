"""The digest of a kernel's code: the same for the same code, another after any change of what it depends on."""

import json
import math
import os
import subprocess
import sys
import types
from typing import NamedTuple

import numba
import numpy as np
import pytest

import mccfr_plus
from mccfr_plus.kernels.disk_cache import digest_of

MODULE = """
import enum, math
from typing import NamedTuple
import numba
import numpy as np
from numba.extending import intrinsic, overload
from numpy import add, zeros

WHOLE = 3
FLOAT = 0.0
TEXT = "text"
ARRAY = np.array([1, 2, 3])
WIDE = np.array([[1.0, 2.0]])
PAIR = (1, (2.0, "x"))
REAL = numba.float64

class Colour(enum.Enum):
    RED = 1
    BLUE = 2
    def __repr__(self):
        return self.name

class Number(enum.IntEnum):
    ONE = 1
    TWO = 2

class Sizes(NamedTuple):
    rows: int
    columns: int = 4

SIZES = Sizes(2, 3)
MEMBER = Colour.RED

def make(step):
    @numba.njit
    def closed(x, times=2):
        return x + step * times
    return closed

closed = make(5)

@numba.njit
def deepest(x):
    return x + 1.5

@numba.njit(error_model="numpy")
def deeper(x):
    return deepest(x) * 2.0

def keyword(x, *, times=2):
    return x * times

def replaced(x):
    return x

@overload(replaced)
def _replaced_in_kernel(x):
    return lambda x: x + 7.0

@intrinsic
def emitted(typing_context, x):
    def build(context, builder, signature, arguments):
        return builder.fadd(arguments[0], arguments[0])
    return x(x), build

@numba.njit
def outer(x):
    x = replaced(x) * emitted(x)
    y = deeper(x) + WHOLE + FLOAT + ARRAY[0] + WIDE[0, 1] + PAIR[0] + SIZES.rows + Number.TWO + closed(x) + keyword(x)
    colour = Colour.BLUE
    if MEMBER == colour or TEXT == "other":
        return REAL(y) + len(zeros(2)) + abs(int(math.sqrt(4.0))) + add(1.0, 2.0) + Sizes(1).columns
    return np.abs(y)
"""

CHANGES = {
    "body two calls deep": ("return x + 1.5", "return x - 1.5"),
    "constant two calls deep": ("x + 1.5", "x + 2.5"),
    "name two calls deep": ("return deepest(x) * 2.0", "return keyword(x) * 2.0"),
    "what stands in for a function": ("x: x + 7.0", "x: x + 8.0"),
    "code that an intrinsic emits": ("builder.fadd", "builder.fsub"),
    "options of a kernel": ('error_model="numpy"', 'error_model="python"'),
    "fast mathematics": ('error_model="numpy"', 'error_model="numpy", fastmath=True'),
    "whole number": ("WHOLE = 3", "WHOLE = 4"),
    "kind of number": ("WHOLE = 3", "WHOLE = 3.0"),
    "truth value": ("WHOLE = 3", "WHOLE = True"),
    "sign of zero": ("FLOAT = 0.0", "FLOAT = -0.0"),
    "text": ('TEXT = "text"', 'TEXT = "test"'),
    "entry of an array": ("[1, 2, 3]", "[1, 2, 4]"),
    "length of an array": ("[1, 2, 3]", "[1, 2]"),
    "kind of an array": ("[1, 2, 3]", "[1, 2, 3], np.int32"),
    "shape of an array": ("[[1.0, 2.0]]", "[[1.0], [2.0]]"),
    "entry of a tuple": ('(1, (2.0, "x"))', '(1, (2.0, "y"))'),
    "nesting of tuples": ('(1, (2.0, "x"))', '((1, 2.0), "x")'),
    "member of an enumeration": ("RED = 1", "RED = 3"),
    "member that is not named": ("BLUE = 2", "BLUE = 5"),
    "which member": ("MEMBER = Colour.RED", "MEMBER = Colour.BLUE"),
    "member of an enumeration of numbers": ("TWO = 2", "TWO = 3"),
    "names of fields": ("rows: int\n    columns", "columns: int\n    rows"),
    "default of a field": ("columns: int = 4", "columns: int = 5"),
    "values of fields": ("Sizes(2, 3)", "Sizes(2, 4)"),
    "closure": ("make(5)", "make(6)"),
    "default": ("def closed(x, times=2)", "def closed(x, times=3)"),
    "keyword's default": ("*, times=2", "*, times=3"),
    "type": ("REAL = numba.float64", "REAL = numba.float32"),
    "function of NumPy": ("import add, zeros", "import multiply as add, zeros"),
    "attribute of a module": ("np.abs(y)", "np.sin(y)"),
}


@pytest.fixture(autouse=True)
def own_module(monkeypatch):
    # What is not the code of an imported module has no digest.
    monkeypatch.setitem(sys.modules, "own_module", types.ModuleType("own_module"))


def test_code_of_no_module_has_no_digest(monkeypatch):
    monkeypatch.delitem(sys.modules, "own_module")
    assert digest_of(outer_of(MODULE)) is None


def outer_of(source):
    namespace = {"__name__": "own_module"}
    exec(compile(source, "own_module.py", "exec"), namespace)
    return namespace["outer"]


def test_the_same_code_has_the_same_digest():
    digest = digest_of(outer_of(MODULE))
    assert digest is not None
    assert len(digest) == 16
    assert digest == digest_of(outer_of(MODULE))
    assert digest == digest_of(outer_of(MODULE.replace("x + 1.5", "x + 1.5  # a comment")))
    assert digest == digest_of(outer_of(MODULE + "\nUNUSED = 1\n"))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_another_digest(change):
    before, after = CHANGES[change]
    assert MODULE.count(before) == 1
    changed = digest_of(outer_of(MODULE.replace(before, after)))
    assert changed is not None
    assert changed != digest_of(outer_of(MODULE))


def test_every_change_is_a_digest_of_its_own():
    digests = [digest_of(outer_of(MODULE.replace(*change))) for change in CHANGES.values()]
    assert len(set(digests)) == len(digests)


def first(x):
    return x + 1


def second(x):
    return x + 2


def three(x):
    return one_part(x) + other_part(x) + third_part(x)  # noqa: F821


@pytest.mark.parametrize("compiled", [False, True])
def test_which_of_two_functions_is_called_again_matters(compiled):
    parts = [numba.njit(f) for f in (first, second)] if compiled else [first, second]
    digests = set()
    for number in range(8):
        one, other, third = (parts[number >> shift & 1] for shift in range(3))
        parts_of = {"__name__": __name__, "one_part": one, "other_part": other, "third_part": third}
        function = type(three)(three.__code__, parts_of)
        digests.add(digest_of(function))
    assert len(digests) == 8


def test_the_names_of_a_tuples_fields_matter():
    one, other = (NamedTuple("Sizes", [(name, int) for name in names]) for names in (("a", "b"), ("b", "a")))
    assert digest_of(with_global(one(2, 3))) != digest_of(with_global(other(2, 3)))
    assert digest_of(with_global(one(2, 3))) != digest_of(with_global((2, 3)))
    assert digest_of(with_global(one(2, 3))) == digest_of(with_global(one(2, 3)))


def ping(n):
    return pong(n - 1) if n else 0


def pong(n):
    return ping(n - 1) if n else 1


def countdown(n):
    return countdown(n - 1) if n else 0


def test_functions_that_call_each_other_are_read_once():
    assert digest_of(ping) is not None
    assert digest_of(countdown) is not None
    assert digest_of(ping) != digest_of(pong)


class Custom:
    pass


def with_global(value):
    def reads():
        return something  # noqa: F821

    return type(reads)(reads.__code__, {"__name__": __name__, "something": value})


def with_closure(value):
    def reads():
        return value

    return reads


def unset():
    def reads():
        return later

    if reads is None:
        later = 1
    return reads


@numba.vectorize
def universal(x):
    return x + 1


@pytest.mark.parametrize(
    "value",
    [
        Custom(),
        Custom,
        {"a": 1},
        {1, 2},
        json,
        mccfr_plus,
        np.array([Custom()]),
        (1, Custom()),
        universal,
        np.random.default_rng(1),
        iter([1]),
        pytest.raises,
        lambda: UNREADABLE,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_read_has_no_digest(value):
    assert digest_of(with_global(value)) is None
    assert digest_of(with_closure(value)) is None
    assert digest_of(with_global(lambda: value)) is None


UNREADABLE = Custom()


def test_a_variable_that_is_not_set_yet_has_no_digest():
    assert digest_of(unset()) is None


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        2.5,
        1j,
        "x",
        b"x",
        (),
        [1, 2],
        frozenset([1]),
        len,
        range,
        math,
        math.sqrt,
        np,
        np.sum,
        np.add,
        np.float64,
        np.float64(1.5),
        np.dtype([("a", np.int32)]),
        np.zeros(3, [("a", np.int32)]),
        numba,
        numba.prange,
        numba.int64,
    ],
    ids=lambda value: f"{type(value).__name__} {value}"[:40],
)
def test_what_can_be_read_has_a_digest(value):
    assert digest_of(with_global(value)) is not None
    assert digest_of(with_global(value)) == digest_of(with_global(value))
    assert digest_of(with_global(value)) != digest_of(with_global("something else"))


# --- across processes ---


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


def test_the_digest_is_the_same_in_another_process(tmp_path):
    (tmp_path / "own_module.py").write_text(MODULE)
    code = "import json, own_module; from mccfr_plus.kernels.disk_cache import digest_of\n"
    code += "print(json.dumps(digest_of(own_module.outer)))"
    digests = {run(code, tmp_path, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert len(digests) == 1
    assert None not in digests


BASE = """
from mccfr_plus.kernels.compile import kernel

@kernel
def rule(x):
    return 0

@kernel
def outer(x):
    return rule(x) + 1
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

COMPOSED = """
import json, own_base, own_part
from mccfr_plus.kernels.compile import compose
composed = compose(own_base.outer, rule=own_part.part)
value = composed(3)
stats = getattr(composed, "stats", None)
print(json.dumps([value, stats and sum(stats.cache_hits.values()), stats and sum(stats.cache_misses.values())]))
"""


def test_composed_kernels_are_kept_on_disk_until_a_component_changes(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "own_base.py").write_text(BASE)
    (tmp_path / "own_part.py").write_text(PART)
    assert run(COMPOSED, tmp_path, **cache) == [17, 0, 1]
    assert run(COMPOSED, tmp_path, **cache) == [17, 1, 0]
    (tmp_path / "own_part.py").write_text(PART.replace("2 * x", "33 * x"))
    assert run(COMPOSED, tmp_path, **cache) == [110, 0, 1]
    assert run(COMPOSED, tmp_path, NUMBA_DISABLE_JIT="1", **cache) == [110, None, None]


def test_damaged_files_are_compiled_anew(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "own_base.py").write_text(BASE)
    (tmp_path / "own_part.py").write_text(PART)
    assert run(COMPOSED, tmp_path, **cache) == [17, 0, 1]
    for path in (tmp_path / "cache").rglob("*.nbc"):
        os.truncate(path, path.stat().st_size // 2)
    assert run(COMPOSED, tmp_path, **cache) == [17, 0, 1]
    assert run(COMPOSED, tmp_path, **cache) == [17, 1, 0]


TREE = """
import hashlib, json, mccfr_plus
from mccfr_plus.trees.by_rules import rules_tree
bits = hashlib.sha256()
for name in ("one_card_poker(deck_size=3)", "search_game(moves=1)"):
    tree = mccfr_plus.compile_game(name)
    for array in (*tree.arrays, tree.slot_action, tree.outcome_action):
        bits.update(array.tobytes())
    bits.update(repr((tree.shape, list(tree.info_states))).encode())
stats = getattr(rules_tree._traversal_of(tree.game.rules_game.rules), "stats", None)
counts = stats and [sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]
print(json.dumps([bits.hexdigest(), counts]))
"""


@pytest.mark.slow
def test_trees_are_built_without_the_compiler_and_from_the_disk_cache(tmp_path):
    expected, counts = run(TREE, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert counts == [0, 1]
    assert run(TREE, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")) == [expected, [1, 0]]
    assert run(TREE, tmp_path, NUMBA_DISABLE_JIT="1") == [expected, None]
