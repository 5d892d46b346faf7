"""Every error of `SolverConfig`: what was given, what is allowed."""

import ast
import os
import re
from dataclasses import dataclass
from pathlib import Path

import naive
import pytest

from mccfr_plus import BestResponseOpponent, ConfigError, Estimator, ExternalSampling
from mccfr_plus.solver import config
from mccfr_plus.solver.config import SolverConfig


@dataclass(frozen=True)
class WithoutBaselines(ExternalSampling):
    short_name = "mine"

    def kernel_with_baseline(self, expected):
        return Estimator.kernel_with_baseline(self, expected)


ALL_PLAYERS = "outcome(update_all_players=True)"

# Arguments of `SolverConfig.from_specs`, and what the error says.
CASES = [
    ({"batch": 0}, "batch=0: must be a whole number, at least 1"),
    ({"batch": 1.5}, "batch=1.5: must be a whole number"),
    ({"batch": True}, "batch=True: must be a whole number"),
    ({"estimator": "full", "batch": 2}, "batch=2 with estimator='full': it samples nothing"),
    ({"symmetry": True, "tree": "lazy"}, "symmetry=True with tree='lazy'"),
    ({"tree": "grown"}, "tree='grown': give one of auto, compiled, lazy, rules"),
    ({"memory": "much"}, "memory='much': give a positive number of bytes, such as 4GB"),
    ({"thread_mode": "quick"}, "thread_mode='quick': give one of deterministic, fast"),
    ({"alternating": "no"}, "alternating='no': must be True or False"),
    ({"threads": 0}, "threads=0: must be a whole number, at least 1"),
    ({"threads": True}, "threads=True: must be a whole number"),
    ({"threads": 10_000}, "threads=10000: this machine has 2 cores"),
    ({"threads": 2, "estimator": "full"}, "threads=2 with estimator='full': it samples nothing"),
    ({"threads": 2, "baseline": True}, "threads=2 with a baseline: traversals write to it"),
    ({"threads": 2, "estimator": "escher"}, "threads=2 with estimator='escher', whose values: traversals write to it"),
    ({"estimator": "full", "baseline": True}, "a baseline with estimator='full': it samples nothing"),
    ({"estimator": "escher", "baseline": True}, "a baseline with estimator='escher': it keeps values"),
    ({"estimator": ALL_PLAYERS, "baseline": True}, "a baseline with estimator='outcome': not with update_all_players"),
    ({"estimator": WithoutBaselines(), "baseline": True}, "a baseline with estimator='mine': it has no kernel that"),
    ({"estimator": "escher", "minimizer": "omd"}, "estimator='escher' with minimizer='omd': it estimates regrets"),
    ({"minimizer": "mmd"}, "it changes all information states in every iteration, so that it needs exact gradients"),
    ({"estimator": BestResponseOpponent(), "alternating": False}, "alternating=False with estimator='best_response'"),
    ({"estimator": ALL_PLAYERS, "alternating": True}, "alternating=True with estimator='outcome'"),
    ({"estimator": "external(prune_below=-1)", "minimizer": "rm+"}, "minimizer='rm+' keeps none: use rm, linear"),
    ({"estimator": "average_strategy", "averaging": "last"}, "samples by the average strategy, and averaging='last'"),
    ({"estimator": ALL_PLAYERS, "averaging": "sampled"}, "averaging='sampled' with update_all_players=True"),
    ({"estimator": "chance", "averaging": "sampled"}, "averaging='sampled' counts the actions drawn for opponents"),
]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


@pytest.mark.parametrize(("arguments", "message"), CASES, ids=[str(arguments) for arguments, _ in CASES])
def test_errors(arguments, message):
    with pytest.raises(ConfigError, match=re.escape(message)) as raised:
        SolverConfig.from_specs(**arguments)
    assert "\n" not in str(raised.value)
    if "estimator" not in arguments:  # what is wrong alone is wrong with any estimator that samples
        with pytest.raises(ConfigError, match=re.escape(message)):
            SolverConfig.from_specs("opponent", **arguments)


def test_an_average_of_two_players_is_refused_for_three():
    with pytest.raises(ConfigError, match="averaging='sampled' on a game with 3 players"):
        SolverConfig.from_specs(averaging="sampled").check_game(naive.tree_of("kuhn_poker(players=3)"))


def test_every_error_is_in_the_table():
    """Compares the lines that raise a ConfigError with those that the table reaches."""
    source = ast.parse(Path(config.__file__).read_text(encoding="utf-8"))
    raising = [node for node in ast.walk(source) if isinstance(node, ast.Raise) and "ConfigError" in ast.dump(node)]
    reached = set()
    for arguments, _ in CASES:
        with pytest.raises(ConfigError) as raised:
            SolverConfig.from_specs(**arguments)
        reached |= {entry.lineno + 1 for entry in raised.traceback if entry.path == Path(config.__file__)}
    missing = {node.lineno for node in raising if not reached & set(range(node.lineno, node.end_lineno + 1))}
    check_game = next(n for n in ast.walk(source) if isinstance(n, ast.FunctionDef) and n.name == "check_game")
    assert missing <= set(range(check_game.lineno, check_game.end_lineno + 1))  # the test above
    assert len(raising) - len(missing) >= 18


def test_what_is_allowed():
    for arguments in (
        {"batch": 7},
        {"memory": "1GB", "tree": "lazy"},
        {"threads": 2},
        {"threads": 2, "thread_mode": "fast", "baseline": True},
        {"threads": 2, "thread_mode": "fast", "estimator": "escher"},
        {"threads": 8},  # more than twice the cores of a small machine
        {"estimator": "outcome", "baseline": "mean(rate=0.5)"},
        {"estimator": "external(prune_below=-1)", "minimizer": "dcfr"},
        {"estimator": "average_strategy", "averaging": "lazy"},
        {"estimator": "outcome", "averaging": "sampled"},
    ):
        found = SolverConfig.from_specs(**arguments)
        assert SolverConfig(**{name: getattr(found, name) for name in found.__dataclass_fields__}) == found
