"""The shape of the package: rooms, the order of imports, public names, and what importing does."""

import ast
import functools
import inspect
import json
import os
import pydoc
import subprocess
import sys
from pathlib import Path

import mccfr_plus

ROOT = Path(mccfr_plus.__file__).parent

# A module belongs to the longest name here that its own begins with. It imports from its own line and those above.
LAYERS = """
    errors
    specs
    display
    user_modules
    parameters
    kernels
    files.atomic_write
    games
    trees
    estimators
    minimizers
    averages
    files
    policies
    evaluation
    solver
    online drop_in bounds checks citations search
    solver.cce
    public
    neural
    cluster
    experiments
    cli
    __main__
"""
LAYER_OF = {name: number for number, line in enumerate(LAYERS.split("\n")) for name in line.split()}

ROOMS = {
    "averages", "bounds", "checks", "cli", "cluster", "drop_in", "estimators", "evaluation",
    "experiments", "files", "games", "kernels", "minimizers", "neural", "online", "policies", "search", "solver",
    "trees",
}  # fmt: skip
FILES = {
    "__init__.py", "__main__.py", "citations.py", "display.py", "errors.py", "parameters.py", "public.py",
    "py.typed", "references.bib", "specs.py", "user_modules.py",
}  # fmt: skip


PUBLIC = {
    "AsymmetricPredictive", "AverageStrategySampling", "BalancedOutcomeSampling", "Baseline", "BestResponse",
    "BestResponseOpponent", "CoarseCorrelatedEquilibrium",
    "BudgetError", "ChanceSampling", "CheckError", "CheckpointError", "ConfigError", "Discounted", "Equilibrium",
    "Escher", "Estimate", "Estimator", "Evaluation", "ExternalSampling", "FTRL", "Full", "GameError", "GameTree",
    "GameValue", "HeadToHead", "Hedge", "InfoStatePolicy", "KeyedPolicy", "MagneticMirrorDescent", "MatchResult",
    "MccfrPlusError", "Minimizer", "OMD", "OnlineOutcomeSampling", "OpponentSampling", "OutcomeSampling",
    "PolicyError", "PolicyFileError", "PowerAverage", "PredictiveDiscounted", "PredictiveRegretMatching",
    "PublicChanceSampling",
    "PredictiveRegretMatchingPlus", "Progress", "Quality", "RegretBound", "RegretMatching", "RegretMatchingPlus",
    "RegularizedMirrorDescent", "RewardTransformation", "ScheduledAverage", "ScheduledDiscounted", "SizeEstimate",
    "SmoothPredictive", "Solver",
    "Statistics", "TreePolicy", "abstract", "best_response", "check_average", "check_estimator", "check_game",
    "check_minimizer", "cite", "compile_game", "estimate_quality", "estimate_size", "evaluate", "evaluate_by_rules",
    "expected_values", "exploitability", "exploitability_lower_bound", "game_value", "head_to_head", "load_game",
    "load_policy", "local_best_response", "measured_regret", "nash_conv", "play_games", "regret_bound",
    "sampled_best_response", "save_policy", "solve_cce", "solve_lp",
}  # fmt: skip

# Classes with OpenSpiel's names, from `mccfr_plus.drop_in`.
DROP_IN = {
    "AverageType", "CFRBRSolver", "CFRPlusSolver", "CFRSolver", "DCFRSolver", "ExternalSamplingSolver", "LCFRSolver",
    "OutcomeSamplingSolver",
}  # fmt: skip


def name_of(path):
    """Returns the dotted name of a module without `mccfr_plus.`; a package is its `__init__`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py")) if "__pycache__" not in path.parts}


def imports_of(path):
    """Returns the names in `MODULES` that a file imports, at its top or later."""
    return imported_by(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported_by(nodes):
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, inner = name.partition(".")
            if package == "mccfr_plus":
                first, _, _ = inner.rpartition(".")
                candidates = (inner, f"{inner}.__init__", first, f"{first}.__init__", "__init__")
                found.add(next(candidate for candidate in candidates if candidate in MODULES))
    return found


def layer_of(module):
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in LAYER_OF), None)


def test_rooms():
    entries = {path.name for path in ROOT.iterdir() if path.name != "__pycache__"}
    assert entries == ROOMS | FILES
    assert len(ROOMS) <= 19


def test_imports_point_one_way():
    wrong = []
    for module, path in MODULES.items():
        own = layer_of(module)
        if module == "__init__":
            continue
        assert own, f"{module} has no place in the order of rooms: add it to LAYERS"
        for name in imports_of(path):
            other = layer_of(name)
            if name == "__init__" or (other != own and LAYER_OF[other] > LAYER_OF[own]):
                wrong.append(f"{module} imports {name}")
    assert not wrong, "\n".join(["imported from a later room, or from the package itself:", *sorted(wrong)])


def test_no_circular_imports():
    uses = {module: imports_of(path) - {module} for module, path in MODULES.items()}
    while free := {name for name, others in uses.items() if not others & set(uses)}:
        uses = {name: others for name, others in uses.items() if name not in free}
    assert not uses, f"these modules import one another in a circle: {sorted(uses)}"


def test_public_names():
    assert set(mccfr_plus.__all__) == PUBLIC | DROP_IN
    assert set(dir(mccfr_plus)) == PUBLIC | DROP_IN | {"__version__"}
    assert {name for name in vars(mccfr_plus.public) if name[0] != "_"} == PUBLIC | DROP_IN
    assert not hasattr(mccfr_plus, "Slver")


def public_objects():
    """Yields name and value of every public name and of the public members of these classes, OpenSpiel's left out."""
    for name in sorted(PUBLIC | DROP_IN):
        value = getattr(mccfr_plus, name)
        if not value.__module__.startswith("mccfr_plus"):
            continue
        yield name, value
        if inspect.isclass(value):
            for member in dir(value):
                static = inspect.getattr_static(value, member)
                is_documented = callable(getattr(value, member)) or isinstance(static, property)
                ours = any(member in vars(base) for base in value.__mro__ if base.__module__.startswith("mccfr_plus"))
                if not member.startswith("_") and is_documented and ours:
                    yield f"{name}.{member}", static


def faults_of_docstring(name, value):
    """Yields what is wrong with the text that `help` shows of a public object."""
    function = getattr(value, "__func__", value)  # of static methods and class methods
    text = inspect.getdoc(getattr(function, "py_func", function))
    if not text:
        yield f"{name} has no docstring"
        return
    shown = pydoc.plain(pydoc.render_doc(f"mccfr_plus.{name}"))
    lines = [line.strip() for line in text.splitlines()]
    if not lines[0].endswith((".", ":")):
        yield f"{name}: the first line is no sentence: {lines[0]!r}"
    yield from (f"{name}: help does not show {line!r}" for line in lines if line not in shown)
    if text.count("`") % 2:
        yield f"{name}: a backtick without its partner"
    if set(text) & {"\t", "\b"}:
        yield f"{name}: a backslash sequence in a docstring that is not raw"


def test_help_shows_every_public_docstring():
    objects = dict(public_objects())
    assert len(objects) > 500
    assert [fault for name, value in objects.items() for fault in faults_of_docstring(name, value)] == []


def test_modules_have_docstrings():
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in MODULES.items()}
    assert [module for module, tree in trees.items() if tree.body and not ast.get_docstring(tree)] == []


def test_only_one_module_owns_the_compilers_options():
    for module, path in MODULES.items():
        if module != "kernels.compile":
            assert "njit" not in path.read_text(encoding="utf-8").replace("numba.njit`", ""), module


def test_only_one_module_imports_torch():
    for module, path in MODULES.items():
        names = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in ([node.module] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
        }
        assert "torch" not in names or module == "neural.network", module


@functools.cache
def needs_torch():
    found = {"neural.network"}
    uses = {module: imports_of(path) for module, path in MODULES.items() if module != "neural.__init__"}
    while more := {module for module, used in uses.items() if used & found} - found:
        found |= more
    return found


IMPORT_ALL = """
import gc, importlib, json, logging, os, random, signal, sys, warnings
import numpy as np
from absl import flags
import numba, open_spiel.python.policy, pyspiel, scipy.optimize, tqdm.auto

def settings():
    return {
        "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "garbage collection": [gc.isenabled(), gc.get_freeze_count()],
        "environment": dict(os.environ),
        "warnings": [str(each) for each in warnings.filters],
        "logging": [str(logging.getLogger(name).handlers) for name in ("", "mccfr_plus")],
        "random numbers": [random.getstate(), np.random.get_state()[1].tolist()],
        "flags": sorted(flags.FLAGS),
        "heavy modules": sorted({"torch", "matplotlib", "pandas", "ray"} & set(sys.modules)),
        "hooks": [str(each) for each in (sys.excepthook, sys.unraisablehook)],
    }

before, games = settings(), set(pyspiel.registered_names())
for name in sys.argv[1:]:
    importlib.import_module(name)
changed = [name for name, value in settings().items() if value != before[name]]
print(json.dumps([changed, sorted(set(pyspiel.registered_names()) - games)]))
"""


def test_importing_has_no_side_effects():
    modules = [module for module in MODULES if module not in needs_torch()]
    names = [f"mccfr_plus.{module}".removesuffix(".__init__") for module in modules]
    result = subprocess.run([sys.executable, "-c", IMPORT_ALL, *names], capture_output=True, text=True, check=True)
    own_games = sorted(game.short_name for game in mccfr_plus.games.GAMES)
    assert json.loads(result.stdout) == [[], own_games]
    assert result.stderr == ""


def test_the_command_refuses_bad_variables_of_numba():
    environment = os.environ | {"NUMBA_NUM_THREADS": "0"}
    command = [sys.executable, "-m", "mccfr_plus", "stats", "kuhn_poker"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("mccfr-plus: error: cannot start Numba: ")
    assert result.stderr.count("\n") == 1


FILES_PASSED = """
import gc, json, sys
from numba.core.dispatcher import Dispatcher
from mccfr_plus.cli.command import main
called, imports = set(), []

def note(frame, event, _):
    if event == "call" and frame.f_code.co_name == "<module>":
        imports.append(frame)
    elif event == "return" and imports and frame is imports[-1]:
        imports.pop()
    elif event == "call" and not imports:
        called.add(frame.f_code)

sys.setprofile(note)
code = main(sys.argv[1:])
sys.setprofile(None)
kernels = {each.py_func.__code__ for each in gc.get_objects() if isinstance(each, Dispatcher)}
print(json.dumps(sorted({each.co_filename for each in called - kernels})))
sys.exit(code)
"""


def test_a_solve_passes_few_files():
    """Files with a function that runs, where kernels and what is done by importing do not count."""
    command = ["solve", "leduc_poker", "--estimator=external", "--seconds=0.3"]
    for program in (["-m", "mccfr_plus"], ["-c", FILES_PASSED]):  # the second process finds the kernels on disk
        result = subprocess.run([sys.executable, *program, *command], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    passed = [path for path in json.loads(result.stdout.splitlines()[-1]) if path.startswith(str(ROOT))]
    assert len(passed) <= 18, "\n".join(passed)
