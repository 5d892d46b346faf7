"""Every error of `SolverConfig`: what was given, what is allowed."""

import os
import re
from dataclasses import dataclass

import naive
import pytest

from mccfr_plus import BestResponseOpponent, ConfigError, Estimator, ExternalSampling
from mccfr_plus.averages.average import METHODS, PowerAverage
from mccfr_plus.solver import config
from mccfr_plus.solver.config import ESTIMATORS, MINIMIZERS, SolverConfig
from mccfr_plus.trees import needs


@dataclass(frozen=True)
class WithoutBaselines(ExternalSampling):
    short_name = "mine"

    def kernel_with_baseline(self, expected):
        return Estimator.kernel_with_baseline(self, expected)


ALL_PLAYERS = "outcome(update_all_players=True)"

# Arguments of `SolverConfig.from_specs`, and what the error says.
CASES = [
    ({"batch": 0}, "batch=0: must be an integer, at least 1"),
    ({"batch": 1.5}, "batch=1.5: must be an integer"),
    ({"batch": True}, "batch=True: must be an integer"),
    ({"estimator": "full", "batch": 2}, "batch=2 with estimator='full': it does not sample"),
    ({"symmetry": True, "tree": "lazy"}, "symmetry=True does not work with tree='lazy'"),
    ({"estimator": "outcome", "tree": "public"}, "tree='public' with estimator='outcome': it has no kernel for public"),
    ({"tree": "grown"}, "tree='grown': give one of auto, compiled, lazy, rules"),
    ({"memory": "much"}, "memory='much': give a positive number of bytes, such as 4GB"),
    ({"thread_mode": "quick"}, "thread_mode='quick': give one of deterministic, fast"),
    ({"alternating": "no"}, "alternating='no': must be True or False"),
    ({"threads": 0}, "threads=0: must be an integer, at least 1"),
    ({"threads": True}, "threads=True: must be an integer"),
    ({"threads": 10_000}, "threads=10000: give at most 2, the number of cores"),
    ({"threads": 2, "estimator": "best_response"}, "threads=2 with estimator='best_response': it does not sample"),
    ({"threads": 2, "baseline": True}, "threads=2 with a baseline: traversals change the values"),
    ({"threads": 2, "estimator": "escher"}, "threads=2 with estimator='escher': traversals change the"),
    ({"estimator": "full", "baseline": True}, "a baseline with estimator='full': it does not sample"),
    ({"estimator": "escher", "baseline": True}, "a baseline with estimator='escher': it already learns values"),
    ({"estimator": ALL_PLAYERS, "baseline": True}, "a baseline with estimator='outcome': with update_all_players"),
    ({"estimator": WithoutBaselines(), "baseline": True}, "a baseline with estimator='mine': it has no kernel for"),
    ({"estimator": "escher", "minimizer": "omd"}, "minimizer='omd' with estimator='escher': it estimates regrets"),
    ({"minimizer": "mmd"}, "it samples, but exact gradients at all information states"),
    (
        {"estimator": BestResponseOpponent(), "alternating": False},
        "with alternating=False: it must update players in turn",
    ),
    ({"estimator": ALL_PLAYERS, "alternating": True}, "alternating=True with estimator='outcome'"),
    ({"estimator": "external(prune_below=-1)", "minimizer": "rm+"}, "minimizer='rm+': it keeps no negative regrets"),
    ({"estimator": "average_strategy", "averaging": "last"}, "with averaging='last': there is no average strategy"),
    ({"estimator": ALL_PLAYERS, "averaging": "sampled"}, "averaging='sampled' with estimator='outcome': with update"),
    ({"estimator": "chance", "averaging": "sampled"}, "averaging='sampled' with estimator='chance': it draws no"),
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
    with pytest.raises(ConfigError, match="threads=2 does not work with estimator='full' and 3 players"):
        SolverConfig.from_specs("full", threads=2).shares_parts(naive.tree_of("kuhn_poker(players=3)"))


def test_every_message_is_in_the_table():
    found = []
    for arguments, _ in CASES:
        with pytest.raises(ConfigError) as raised:
            SolverConfig.from_specs(**arguments)
        found.append(str(raised.value))
    messages = {need for need, (_, message) in config.MESSAGES.items() if any(message in text for text in found)}
    assert messages == set(config.MESSAGES)


def test_what_is_needed_can_be_provided():
    """Each word that a component needs is one of trees, or has a message, and some component provides it."""
    of_trees = {needs.HISTORIES, needs.NODES, needs.INFOSETS, needs.PERFECT_RECALL, needs.TWO_PLAYERS, needs.ZERO_SUM}
    estimators, minimizers = ([make() for make in table.values()] for table in (ESTIMATORS, MINIMIZERS))
    averages = [PowerAverage(method=method) for method in METHODS]
    needed = {word for each in (*estimators, *minimizers, *averages) for word in each.needs}
    provided = {word for each in (*estimators, *minimizers, *averages) for word in each.provides} | {needs.ALTERNATION}
    assert needed <= of_trees | set(config.MESSAGES)
    assert set(config.MESSAGES) <= provided
