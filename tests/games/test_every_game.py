"""What holds for every game of the package: citizenship in OpenSpiel, and one set of rules behind state and tree."""

import itertools
import random

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots, mcts
from open_spiel.python.observation import make_observation

import mccfr_plus
from mccfr_plus.checks import rules
from mccfr_plus.games import GAMES, compiled_rules

# Small enough to be traversed by OpenSpiel's own Python.
SMALL = [
    "one_card_poker(deck_size=4)",
    "bluff(dice1=1,dice2=1,faces=3)",
    "bluff(dice1=2,dice2=1,faces=2)",
    "bid_goofspiel(num_cards=3)",
    "bid_goofspiel(num_cards=3,reveal=bids,prizes=random,utility=point_difference)",
    "princess_and_monster(rows=2,columns=2,horizon=4)",
    "princess_and_monster(rows=2,columns=2,horizon=4,stay=True,same_start=True,first=monster,shift=-2.0)",
    "nl_holdem_buckets(stack=4)",
    "leduc_ranks(ranks=2,suits=2)",
    "search_game(moves=2)",
    "search_game(moves=2,crossing=True,wait=False)",
    "perfect_recall_dark_hex(num_rows=2,num_cols=2)",
    "perfect_recall_dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "holdem_subgame(board=4s3h2s2h4d,pot=20,stack=20,ranks=3,bets=100%)",
]

LARGE = ["latent_tic_tac_toe", "latent_tic_tac_toe(win=disclosure,full=disclosed_board)"]

every_game = pytest.mark.parametrize("name", SMALL + LARGE)
every_small_game = pytest.mark.parametrize("name", SMALL)


def a_state(game, moves, seed=0):
    rng, state = random.Random(seed), game.new_initial_state()
    for _ in range(moves):
        if state.is_terminal():
            break
        outcomes = [a for a, _ in state.chance_outcomes()] if state.is_chance_node() else state.legal_actions()
        state.apply_action(rng.choice(outcomes))
    return state


def checks_of_plays(name):
    return ["contract", "simulation", "states", *(["symmetries"] if "dark_hex" in name else [])]


def test_every_game_is_tested():
    assert {name.split("(")[0] for name in SMALL + LARGE} == {game.short_name for game in GAMES}


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.short_name)
def test_registered_with_its_defaults(game):
    loaded = pyspiel.load_game(game.short_name)
    assert loaded.get_type().short_name in pyspiel.registered_names()
    assert dict(loaded.rules_game.given) == dict(game.defaults)
    assert dict(loaded.get_type().parameter_specification) == dict(game.defaults)
    explained = pyspiel.load_game(str(loaded))
    assert str(explained.rules_game) == str(loaded.rules_game)


@every_small_game
@pytest.mark.parametrize("plays", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_keeps_the_contract(name, plays, monkeypatch):
    monkeypatch.setattr(rules, "_MARGIN", 1 << 10)  # kernels write to arrays of some hundred entries
    report = mccfr_plus.check_game(name, plays=plays)
    assert [line.check for line in report.lines] == [*checks_of_plays(name), "tree", "recall", "codes", "tensors"]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.short_name)
def test_keeps_the_contract_at_full_size(game, monkeypatch):
    monkeypatch.setattr(rules, "_MARGIN", 1 << 10)
    game = mccfr_plus.load_game(game.short_name)
    lines, checks = rules._lines(game, compiled_rules(game), 20, 1000, seed=0), checks_of_plays(str(game))
    assert [line.check for line in itertools.islice(lines, len(checks))] == checks


@every_small_game
def test_openspiel_solves_it_as_the_package_does(name):
    game = pyspiel.load_game(name)
    theirs = pyspiel.CFRSolver(game)
    ours = mccfr_plus.CFRSolver(game)
    for _ in range(2):
        theirs.evaluate_and_update_policy()
        ours.evaluate_and_update_policy()
    expected = pyspiel.exploitability(game, theirs.average_policy())
    assert mccfr_plus.exploitability(game, theirs.average_policy()) == pytest.approx(expected, abs=1e-10)
    if not name.startswith(("princess_and_monster", "perfect_recall_dark_hex")):
        # Not on square boards: regrets cancel there, and rounding decides.
        assert mccfr_plus.exploitability(game, ours.average_policy()) == pytest.approx(expected, abs=1e-10)
    sampled = pyspiel.ExternalSamplingMCCFRSolver(game, seed=1)
    sampled.run_iteration()
    assert mccfr_plus.nash_conv(game, sampled.average_policy()) >= 0


@every_small_game
def test_bots_play_it(name):
    game = pyspiel.load_game(name)
    rng = np.random.RandomState(1)
    # Not OpenSpiel's Python PolicyBot: it returns an invalid action where action 0 is the only one.
    policy = pyspiel.TabularPolicy(dict(mccfr_plus.Solver(game, "external", seed=1).run(10).average_policy()))
    bots = [pyspiel.make_policy_bot(game, player, 1, policy) for player in (0, 1)]
    for seed in range(5):
        payoffs = pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)
        assert sum(payoffs) == pytest.approx(0.0)
    searcher = mcts.MCTSBot(game, 2.0, 5, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)
    payoffs = evaluate_bots.evaluate_bots(game.new_initial_state(), [searcher, bots[1]], rng)
    assert sum(payoffs) == pytest.approx(0.0)


@every_small_game
def test_policies_answer_by_state_and_by_text(name):
    game = pyspiel.load_game(name)
    tree = mccfr_plus.compile_game(game)
    policy = mccfr_plus.Solver(tree, "full").run(5).average_policy()
    for seed in range(20):
        state = a_state(game, seed % 8, seed)
        if state.current_player() >= 0:
            by_text = tree.infoset(state.information_state_string(), state.current_player())
            assert tree.infoset_of_state(state, state.current_player()) == by_text
            assert list(policy.action_probabilities(state)) == state.legal_actions()
    other = pyspiel.load_game("leduc_poker")
    with pytest.raises(mccfr_plus.PolicyError, match="does not occur"):
        policy.action_probabilities(a_state(other, 2))


@every_game
def test_bad_input_is_an_error_and_changes_nothing(name):
    game = pyspiel.load_game(name)
    state = a_state(game, 2)
    words = state.words.tolist()
    for action in (-2, 10**6):
        with pytest.raises(ValueError, match="is not legal in") as caught:
            state.apply_action(action)
        assert len(str(caught.value)) <= 400
    for text in ("nonsense\n", "99999\n", "-3\n0\n"):
        with pytest.raises((ValueError, pyspiel.SpielError, RuntimeError)):
            game.deserialize_state(text)
    for player in (-1, 2, 99):
        with pytest.raises((ValueError, pyspiel.SpielError)):
            state.information_state_string(player)
    with pytest.raises(ValueError, match="not a chance node"):
        a_state(game, 100).chance_outcomes()
    end = a_state(game, 100)
    assert end.is_terminal()
    assert end.legal_actions() == []
    with pytest.raises((ValueError, pyspiel.SpielError), match="over"):
        end.apply_action(0)
    assert state.words.tolist() == words
    with pytest.raises(ValueError, match="read-only"):
        state.words[0] = 5
    with pytest.raises((ValueError, pyspiel.SpielError)):
        pyspiel.load_game(f"{name.split('(')[0]}(no_such_parameter=1)")


@every_game
def test_observations_show_less_than_information_states(name):
    game = pyspiel.load_game(name)
    remembered = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    public = make_observation(
        game, pyspiel.IIGObservationType(perfect_recall=True, private_info=pyspiel.PrivateInfoType.NONE)
    )
    state = a_state(game, 4)
    for player in (0, 1):
        remembered.set_from(state, player)
        assert remembered.tensor.tolist() == state.information_state_tensor(player)
        assert remembered.string_from(state, player) == state.information_state_string(player)
        assert len(state.observation_tensor(player)) == game.observation_tensor_size()
        assert state.observation_string(player).startswith(f"player={player}")
    tensors = []
    for player in (0, 1):
        public.set_from(state, player)
        tensors.append(public.tensor[2:].tolist())
    assert tensors[0] == tensors[1]
    assert public.string_from(state, 0).split(" ", 1)[1:] == public.string_from(state, 1).split(" ", 1)[1:]
    with pytest.raises(ValueError, match="take no parameters"):
        make_observation(game, pyspiel.IIGObservationType(perfect_recall=True), {"a": 1})


def test_a_name_belongs_to_one_class():
    game = GAMES[0]
    same_name = type(game.__name__, (game,), {"__module__": __name__})
    for other in (same_name, type("Kuhn", (game,), {"short_name": "kuhn_poker"})):
        with pytest.raises(ValueError, match="already registered with OpenSpiel"):
            mccfr_plus.games.register_game(other)
    assert type(pyspiel.load_game(game.short_name).rules_game) is game
