"""Imports point one way, public names are a fixed list with docstrings, and importing has no side effects."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import mccfr_plus

ROOT = Path(mccfr_plus.__file__).parent

# Data flows downwards, imports point upwards. A name stands for a module or for a package with all that is in it;
# what stands on one line may not import one another, except within one package.
LAYERS = [
    {"errors"},
    {"code_digest"},
    {"_jit", "borrowed", "native", "interrupts"},
    {"rng"},
    {"games"},
    {"tree"},
    {"scratch"},
    {"estimators"},
    {"minimizers"},
    {"averaging"},
    {"shares"},
    {"team"},
    {"loop", "parts", "config"},
    {"policies", "keyed_policy", "tree_choice"},
    {"policy_file", "checkpoint_file"},
    {"checkpoint", "checkpoint_claim"},
    {"checkpoint_keeper"},
    {"evaluation"},
    {"approximate", "engine", "pacing"},
    {"solver", "online"},
    {"drop_in", "benchmark", "bounds", "checks", "citations", "zero_sum_value"},
    {"neural"},
    {"distributed"},
    {"experiments"},
    {"papers"},
    {"cli"},
    {"__main__"},
]
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}

PUBLIC = {
    "AverageStrategySampling", "BalancedOutcomeSampling", "Baseline", "BestResponse", "BudgetError",
    "ChanceSampling", "CheckError", "CheckpointError", "ConfigError", "Discounted", "Escher", "Estimate", "Estimator",
    "Evaluation", "ExternalSampling", "FTRL", "Full", "GameError", "GameTree", "GameValue", "HeadToHead", "Hedge",
    "InfoStatePolicy", "KeyedPolicy", "MatchResult", "MccfrPlusError", "Minimizer", "OMD", "OnlineOutcomeSampling",
    "OpponentSampling", "OutcomeSampling", "PolicyError", "PolicyFileError", "PowerAverage",
    "PredictiveRegretMatching", "PredictiveRegretMatchingPlus", "Progress", "Quality", "RegretBound",
    "RegretMatching", "RegretMatchingPlus", "SizeEstimate", "Solver", "Statistics", "TreePolicy", "best_response",
    "check_average", "check_estimator", "check_game", "check_minimizer", "cite", "compile_game", "estimate_quality",
    "estimate_size", "evaluate", "expected_values", "exploitability", "exploitability_lower_bound", "game_value",
    "head_to_head", "load_game", "load_policy", "local_best_response", "measured_regret", "nash_conv", "play_games",
    "regret_bound", "sampled_best_response", "save_policy",
}  # fmt: skip

# Classes with OpenSpiel's names, from `mccfr_plus.drop_in`.
DROP_IN = {
    "AverageType", "CFRPlusSolver", "CFRSolver", "DCFRSolver", "ExternalSamplingSolver", "LCFRSolver",
    "OutcomeSamplingSolver",
}  # fmt: skip


def modules():
    return sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)


def imports_of(path):
    """Yields the dotted names of the package's modules that a file imports, `mccfr_plus.` taken off."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module]
            if node.module == "mccfr_plus":
                names = [f"mccfr_plus.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("mccfr_plus.") for name in names if name.split(".")[0] == "mccfr_plus")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts == ("__init__",):
        return
    assert parts[0] in LAYER_OF, f"{parts[0]} has no place in the order of modules: add it to LAYERS"
    for name in imports_of(path):
        top = name.split(".")[0]
        if top not in LAYER_OF and top in PUBLIC | DROP_IN | {"mccfr_plus", "__version__"}:
            top = "solver"  # a public name, taken from the package itself
        if top != parts[0]:
            assert LAYER_OF[top] < LAYER_OF[parts[0]], f"{'.'.join(parts)} imports {name}, which comes later"


@pytest.mark.parametrize("package", sorted(p.parent.name for p in ROOT.glob("*/__init__.py")))
def test_no_circles_within_a_package(package):
    uses = {}
    for path in (ROOT / package).glob("*.py"):
        if path.stem != "__init__":
            uses[path.stem] = {n.split(".")[1] for n in imports_of(path) if n.startswith(package + ".")} - {path.stem}
    while uses:
        free = {name for name, others in uses.items() if not others & set(uses)}
        assert free, f"modules of {package} import one another in a circle: {uses}"
        uses = {name: others for name, others in uses.items() if name not in free}


def public_names():
    return {
        name for name, value in vars(mccfr_plus).items() if not name.startswith("_") and not inspect.ismodule(value)
    }


def test_public_names():
    assert public_names() == PUBLIC | DROP_IN


def test_public_names_have_docstrings():
    for name in public_names():
        value = getattr(mccfr_plus, name)
        if not value.__module__.startswith("mccfr_plus"):
            continue  # OpenSpiel's own AverageType
        assert (value.__doc__ or "").strip(), name
        if inspect.isclass(value):
            for method, function in vars(value).items():
                if method.startswith("_") or not (inspect.isfunction(function) or isinstance(function, property)):
                    continue
                assert inspect.getdoc(getattr(value, method)), f"{name}.{method}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_have_docstrings(path):
    tree = ast.parse(path.read_text())
    assert not tree.body or ast.get_docstring(tree)


def test_only_one_module_owns_the_compilers_options():
    for path in modules():
        if path.name != "_jit.py":
            assert "njit" not in path.read_text().replace("numba.njit`", ""), path


def needs_torch():
    """Returns the modules that import torch, also by way of others."""
    found = {"neural.backend"}
    uses = {".".join(path.relative_to(ROOT).with_suffix("").parts): set(imports_of(path)) for path in modules()}
    while more := {name for name, used in uses.items() if used & found and name != "neural.__init__"} - found:
        found |= more
    return found


def test_sampling_memories_and_features_do_without_torch():
    own = {".".join(p.relative_to(ROOT / "neural").with_suffix("").parts) for p in (ROOT / "neural").rglob("*.py")}
    free = own - {name.removeprefix("neural.") for name in needs_torch()}
    assert free == {
        "__init__",
        "choosing",
        "config",
        "discounted",
        "episodes",
        "features",
        "histories",
        "history",
        "batched.__init__",
        "batched.branches",
        "batched.config",
        "batched.estimates",
        "batched.observer",
        "batched.paths",
        "batched.reservoir",
        "matching",
        "memory",
        "nfsp_config",
        "path_sampling",
        "buffer",
        "sampling",
    }
    for path in modules():
        if path.stem != "backend":
            assert "import torch" not in path.read_text().replace("import torch_", "").replace(
                "backend import torch", ""
            )


def test_importing_has_no_side_effects():
    names = [
        ".".join(("mccfr_plus", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for path in modules()
        if path.stem != "__main__" and "cli" not in path.relative_to(ROOT).parts
    ]
    without = needs_torch()
    names = [name for name in names if name.removeprefix("mccfr_plus.") not in without]
    code = f"""
import importlib, json, random, sys
import numpy as np
from absl import flags
import open_spiel.python.policy, pyspiel
before = set(flags.FLAGS)
games = set(pyspiel.registered_names())
random.seed(1); np.random.seed(1)
states = random.getstate(), np.random.get_state()[1].tolist()
for name in {names!r}:
    importlib.import_module(name)
same = states == (random.getstate(), np.random.get_state()[1].tolist())
heavy = sorted({{"torch", "matplotlib", "pandas", "ray"}} & set(sys.modules))
print(json.dumps([sorted(set(flags.FLAGS) - before), same, heavy, sorted(set(pyspiel.registered_names()) - games)]))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own_games = sorted(game.short_name for game in mccfr_plus.games.GAMES)
    assert json.loads(result.stdout) == [[], True, [], own_games]
    assert result.stderr == ""
