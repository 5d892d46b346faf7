"""Estimators that are wrong on purpose: each is caught, and the message says what to look at."""

import functools
from dataclasses import dataclass

import numba
import numpy as np
import pytest
from texts import text_of_error

from mccfr_plus import CheckError, Estimator, check_estimator
from mccfr_plus.estimators.traversal import draw_action, draw_outcome, draw_uniform
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.intrinsics import next_double
from mccfr_plus.trees.scratch import at, enter, touch

FAULTS = {
    # fault: what the message must say
    "forgets 1 / q": "is biased: its mean over all",
    "wrong at chance": "is biased: its mean over all",
    "draws on-policy": "is biased: its mean over all",
    "never tries the last action": "is biased: its mean over all",
    "adds the other player's payoff": "is biased: its mean over all",
    "does not touch": "at an infoset that it did not touch",
    "touches children first": "touches an infoset before its parent",
    "touches without setting to 0": "without setting its gradient to 0",
    "lists twice": "lists an infoset twice|lists more infosets",
    "touches the opponent's": "lists as touched an infoset that is not the player's",
    "wrong parent": "wrong parent_slot",
    "wrong count": "wrong num_actions",
    "writes to the opponent's slots": "writes outside of its slots",
    "writes to the strategy": "wrote to `strategy`",
    "counts iterations": "writes to `scratch.counts.0...iteration..`",
    "NaN": "writes NaN or infinity",
    "divides by the strategy": "writes NaN or infinity|runs into ZeroDivisionError",
    "wrong index": "runs into IndexError",
}
NUMBERS = {name: number for number, name in enumerate(FAULTS, 1)}


@functools.cache
def walk_with(fault):
    """Returns the kernel of outcome sampling with uniform own actions, with one fault; 0: none.

    With a power, its parameter, it draws own actions by itself; with one other than 1 it favours the first ones.
    """

    @numba.njit(error_model="numpy")
    def traversal(parameters, sampling_weights, tree, strategy, scratch, player):
        rng, gradient, power = scratch.rng, scratch.gradient, parameters[0]
        slot, weight = tree.slot_range[-1] + player, 1.0
        record = tree.nodes[0]
        while record["kind"] != TERMINAL:
            kind, count, first = record["kind"], record["num_children"], record["payload"]
            if kind == player:
                if fault == 8:
                    enter(tree, scratch, player, first, count, slot, scratch.counts[0]["stamp"])
                elif fault == 11:
                    touch(tree, scratch, player, first, count, tree.slot_range[-1] + player)
                elif fault == 12:
                    touch(tree, scratch, player, first, count + 1, slot)
                elif fault != 6 and fault != 7:
                    touch(tree, scratch, player, first, count, slot)
                if fault == 9:
                    scratch.stamps[at(first)] = 0
                    touch(tree, scratch, player, first, count, slot)
                if power > 0.0:
                    index = int(next_double(rng) ** power * count)
                elif fault == 3:
                    index = draw_action(strategy, first, count, rng)
                elif fault == 4:
                    index = draw_uniform(max(count - 1, 1), rng)
                else:
                    index = draw_uniform(count, rng)
                slot = first + index
                if fault == 17:
                    weight *= strategy[slot] / strategy[slot]
                if fault != 1:
                    weight *= count
            elif kind == CHANCE:
                index = draw_uniform(count, rng) if fault == 2 else draw_outcome(tree.chance, first, count, rng)
            else:
                if fault == 10:
                    touch(tree, scratch, player, first, count, slot)
                if fault == 13:
                    gradient[first] = 1.0
                if fault == 14:
                    strategy[first] += 1e-3
                index = draw_action(strategy, first, count, rng)
            record = tree.nodes[record["first_child"] + index]
        if fault == 7:
            above = slot
            while above < tree.slot_range[-1]:
                infoset = 0
                while tree.infosets[infoset]["first_slot"] + tree.infosets[infoset]["num_actions"] <= above:
                    infoset += 1
                found = tree.infosets[infoset]
                touch(tree, scratch, player, found["first_slot"], found["num_actions"], found["parent_slot"])
                above = found["parent_slot"]
        owner = len(tree.slot_range) - 2 - player if fault == 5 else player
        payoff = tree.payoffs[record["payload"], owner]
        if fault == 15:
            scratch.counts[0]["iteration"] += 1
        if fault == 16:
            payoff = np.nan
        if fault == 18:
            slot = len(gradient)
        gradient[slot] += weight * payoff

    return traversal


@dataclass(frozen=True)
class Wrong(Estimator):
    fault: str = ""
    power: float = 0.0
    short_name = "wrong"

    def parameters(self):
        return np.array([self.power])

    @property
    def kernel(self):
        return walk_with(NUMBERS.get(self.fault, 0))


def test_without_a_fault_it_passes():
    report = check_estimator(Wrong(), samples=2_000)
    assert "outcomes, largest error" in str(report)


@pytest.mark.parametrize("fault", list(FAULTS))
def test_faults_are_caught(fault):
    text = text_of_error(lambda: check_estimator(Wrong(fault), samples=1_000), FAULTS[fault])
    assert text.startswith(f"Wrong(fault={fault!r}, power=0.0): ")
    assert "where: game" in text


def test_a_biased_mean_is_reported_with_its_place():
    text = text_of_error(lambda: check_estimator(Wrong("forgets 1 / q"), games=["kuhn_poker"], samples=100), "biased")
    for word in ("kuhn_poker()", "player 0", "information state", "action", "expected:", "found:", "1 / probability"):
        assert word in text


@numba.njit
def restless_walk(parameters, sampling_weights, tree, strategy, scratch, player):
    first = tree.infosets[tree.infoset_range[player]]
    touch(tree, scratch, player, first["first_slot"], first["num_actions"], first["parent_slot"])
    scratch.gradient[first["first_slot"]] += np.random.random()  # noqa: NPY002 - on purpose


def test_who_draws_directly_is_sampled_only_and_the_report_says_so():
    report = check_estimator(Wrong(power=1.0), samples=4_000)
    assert "draws by itself" in str(report)
    assert not any("largest error" in line.result for line in report.lines)


def test_the_z_test_sees_a_wrong_distribution():
    with pytest.raises(CheckError, match="standard errors away"):
        check_estimator(Wrong(power=1.5), samples=20_000)


def test_other_sources_of_random_numbers_are_caught():
    walks = type("Walks", (Estimator,), {"short_name": "walks", "kernel": staticmethod(restless_walk)})()
    with pytest.raises(CheckError, match="different gradients from the same random state"):
        check_estimator(walks, samples=100)
