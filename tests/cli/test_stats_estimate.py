"""`mccfr-plus stats GAME --estimate`: what it prints, and what it recommends for games of which size."""

from dataclasses import replace

import pytest

from mccfr_plus.solver import defaults
from mccfr_plus.solver.defaults import recommend
from mccfr_plus.trees.game_tree import DEFAULT_MAX_BYTES
from mccfr_plus.trees.sizes.size import InfosetBounds, Interval
from mccfr_plus.trees.sizes.size_estimate import estimate_size


@pytest.fixture(scope="module")
def kuhn():
    return estimate_size("kuhn_poker", seed=1)


def test_a_small_game_is_counted(command):
    outcome = command("stats", "kuhn_poker", "--estimate", "--json")
    assert outcome.code == 0
    lines = {line.split("  ")[0]: line.split() for line in outcome.out.splitlines()}
    assert lines["histories"] == ["histories", "58"]
    assert lines["information sets of player 1"][-1] == "6"
    assert lines["external"][1] == "14.5"
    assert "All histories were counted" in outcome.out
    assert "recommended: compile the tree, --estimator=full --minimizer=pdcfr+" in outcome.out
    result = outcome.json
    assert result["game"] == "kuhn_poker"
    assert result["is_exact"] is True
    assert result["recommendation"]["estimator"] == "full"
    assert set(result["nodes_per_iteration"]) == {"full", "chance", "external", "outcome"}
    assert outcome.err == ""


def test_a_large_game_has_limits(command):
    outcome = command(
        "stats", "phantom_ttt", "--estimate", "--sample_size=10000", "--seed=1", "--confidence=0.9", "--json"
    )
    assert outcome.code == 0
    lines = {line.split("  ")[0]: line.split("  ") for line in outcome.out.splitlines()}
    assert sum("billion" in cell for cell in lines["histories"]) == 3
    assert "Limits with 90% confidence" in outcome.out
    assert "recommended: traverse the game by its rules" in outcome.out
    found = outcome.json["histories"]
    assert found["low"] < found["log10"] < found["high"]
    assert all(len(line) <= 120 for line in outcome.out.splitlines()[:-1])


@pytest.mark.parametrize("limit", ["--sample_size=1e3", "--seconds=0.000001"])
def test_a_game_beyond_all_numbers(command, limit):
    outcome = command("stats", "chess", "--estimate", limit, "--seed=1", "--json")
    assert outcome.code == 0
    assert "nan" not in outcome.out.replace("--", "")
    assert outcome.json["histories"]["high"] is None
    assert outcome.json["recommendation"]["estimator"] == "outcome"


def test_the_budgets_error_says_what_to_do(command):
    command("stats", "chess", "--max_nodes=1000").assert_one_line_error("--estimate", "10^")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["kuhn_pokr"], "did you mean kuhn_poker"),
        (["kuhn_poker", "--seconds=0"], "must be a positive number"),
        (["kuhn_poker", "--confidence=1"], "must be above 0 and below 1"),
        (["kuhn_poker", "--seed=-1"], "whole number"),
        (["mfg_crowd_modelling"], "mean-field"),
    ],
)
def test_bad_input(command, arguments, text):
    command("stats", "--estimate", *arguments).assert_one_line_error(text)


def sized(estimate, log10, external=2.0):
    """Returns the estimate with other numbers of histories and of histories on a traversal of external sampling."""
    return replace(
        estimate,
        game="chess()",  # which has no compiled rules
        histories=Interval(log10, log10, log10),
        infosets=tuple(InfosetBounds(6, 6.0, 1.0) for _ in estimate.infosets),
        external=tuple(Interval(external, external, external) for _ in estimate.external),
    )


@pytest.mark.parametrize(
    ("log10", "external", "tree", "estimator"),
    [
        (7.0, 2.0, "compiled", "full"),
        (7.6, 2.0, "compiled", "full"),
        (7.8, 2.0, "lazy", "external"),  # over 50 million
        (12.0, 4.9, "lazy", "external"),
        (12.0, 5.1, "lazy", "outcome"),
        (900.0, 450.0, "lazy", "outcome"),
    ],
)
def test_what_is_recommended_for_which_size(kuhn, log10, external, tree, estimator):
    found = recommend(sized(kuhn, log10, external), None, DEFAULT_MAX_BYTES)
    assert (found.tree, found.estimator) == (tree, estimator)
    assert found.minimizer == ("pdcfr+" if estimator == "full" else "rm")


DARK_HEX = "perfect_recall_dark_hex(num_rows=2,num_cols=2)"


@pytest.mark.parametrize(("external", "estimator"), [(6.9, "external"), (7.1, "outcome")])
def test_compiled_rules_are_recommended_where_there_are_some(kuhn, external, estimator):
    for game, symmetry in (("kuhn_poker()", False), (DARK_HEX, True)):
        large = replace(sized(kuhn, 12.0, external), game=game)
        found = recommend(large, None, 1)  # no room for a payoff matrix
        assert (found.tree, found.estimator, found.minimizer) == ("rules", estimator, "rm")
        assert found.symmetry is symmetry


@pytest.mark.parametrize(
    ("game", "symmetry", "is_full"),
    [("kuhn_poker()", False, True), (DARK_HEX, True, True), ("kuhn_poker(players=3)", False, False)],
)
def test_full_iterations_by_rules_are_recommended_where_their_matrix_fits(kuhn, monkeypatch, game, symmetry, is_full):
    large = replace(sized(kuhn, 12.0), game=game)
    found = recommend(large, None, DEFAULT_MAX_BYTES)
    assert (found.tree, found.symmetry) == ("rules", symmetry)
    assert (found.estimator, found.minimizer) == (("full", "pdcfr+") if is_full else ("external", "rm"))
    monkeypatch.setattr(defaults, "estimated_seconds_to_begin", lambda *_: 1000.0)  # too long for minutes
    assert recommend(large, None, DEFAULT_MAX_BYTES).estimator == "external"


def test_full_traversals_are_recommended_up_to_a_second(kuhn):
    larger = {"max_nodes": 10**9, "max_bytes": 1 << 40}
    assert recommend(sized(kuhn, 7.99), **larger).estimator == "full"
    found = recommend(sized(kuhn, 8.01), **larger)
    assert (found.tree, found.estimator) == ("compiled", "external")
    rules = replace(sized(kuhn, 8.5), has_compiled_rules=True)
    assert recommend(rules, None, 1 << 40).tree == "compiled"


def test_memory_decides_too(kuhn):
    assert recommend(sized(kuhn, 7.0), None, 1 << 30).tree == "compiled"
    assert recommend(sized(kuhn, 7.0), None, 100_000_000).tree == "lazy"


def test_imperfect_recall_leaves_outcome_sampling(kuhn):
    found = recommend(replace(kuhn, perfect_recall=False), None, DEFAULT_MAX_BYTES)
    assert (found.tree, found.estimator) == ("compiled", "outcome")
    assert "imperfect recall" in found.reason
