"""The tables of bucketed hold'em: exact counts that must fit one another, and the tool that makes them."""

import functools
import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from states import holdem_table, holdem_tables

TOOL = Path(__file__).parents[2] / "tools" / "make_holdem_tables.py"


def by_player(name):
    """Returns a table as [dealer's buckets of both rounds, big blind's buckets of both rounds]."""
    return holdem_table(name).reshape(5, 5, 5, 5).transpose(0, 2, 1, 3).reshape(25, 25)


def test_all_deals_are_counted():
    deals = holdem_table("deals")
    assert deals.shape == holdem_table("margins").shape == (25, 25)
    assert deals.sum() == math.comb(52, 2) * math.comb(50, 2) * math.comb(48, 3)
    assert deals.min() > 0
    assert np.all(np.abs(holdem_table("margins")) <= deals)


def test_players_may_be_exchanged():
    np.testing.assert_array_equal(by_player("deals"), by_player("deals").T)
    np.testing.assert_array_equal(by_player("margins"), -by_player("margins").T)


def test_each_players_buckets_have_the_mass_of_their_hands():
    hands, flops = holdem_table("round_1_hands"), holdem_table("round_2_hands_and_flops")
    assert hands.sum() == math.comb(52, 2)
    np.testing.assert_array_equal(flops.sum(axis=1), hands * math.comb(50, 3))
    np.testing.assert_array_equal(by_player("deals").sum(axis=1), flops.ravel() * math.comb(47, 2))
    # Percentiles, up to the mass of one value at a border: at most 12 hands in round 1.
    assert np.all(np.abs(np.cumsum(hands) - 1326 * np.arange(1, 6) / 5) <= 6)
    borders = np.cumsum(flops, axis=1) / flops.sum(axis=1, keepdims=True)
    assert np.all(np.abs(borders - np.arange(1, 6) / 5) < 0.03)


def own_strengths(flop, hands):
    """Ranks hands of five cards without any library."""
    cards = np.hstack([hands, np.tile(flop, (len(hands), 1))])
    ranks, suits = cards // 4, cards % 4
    copies = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=2)
    order = np.argsort(-(13 * copies + ranks), axis=1)
    ranks = np.take_along_axis(ranks, order, axis=1)
    # Pairs of equal cards, a card with itself included: nothing, a pair, two, three, full house, four.
    category = np.select([copies.sum(axis=1) == n for n in (5, 7, 9, 11, 13, 17)], [0, 1, 2, 3, 6, 7])
    wheel = np.all(ranks == [12, 3, 2, 1, 0], axis=1)
    ranks[wheel] = [3, 2, 1, 0, 0]
    straight = wheel | ((category == 0) & (ranks[:, 0] - ranks[:, 4] == 4))
    flush = np.all(suits == suits[:, :1], axis=1)
    category = np.where(straight & flush, 8, np.where(flush, 5, np.where(straight, 4, category)))
    return category * 13**5 + ranks @ 13 ** np.arange(4, -1, -1)


@functools.cache
def tool():
    spec = importlib.util.spec_from_file_location("make_holdem_tables", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_tables_made_again_with_another_evaluator_are_the_same():
    kept = {name: each for name, each in holdem_tables().items() if name != "about"}
    assert tool().make_tables(own_strengths) == kept
