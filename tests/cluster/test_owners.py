"""Tables that are split among owners hold the same bits as those that are not."""

import os
import signal

import numpy as np
import pytest
from solver_bits import bits

from mccfr_plus import ConfigError, compile_game
from mccfr_plus.cluster import DistributedSolver
from mccfr_plus.cluster.split import split
from mccfr_plus.errors import ClusterError

KINDS = {
    "lazy": ("external", "rm", None, None),
    "simultaneous": ("external", "rm+", None, False),
    "visits": ("external", "dcfr", "stochastic", None),
    "drawn": ("external(sample_per_infoset=True)", "linear", "sampled", None),
    "update_all_players": ("outcome(update_all_players=True)", "prm+", None, None),
    "balanced": ("balanced", "hedge", None, None),
    "no average": ("outcome", "prm", "last", None),
}


def solver_of(kind="lazy", game="leduc_poker", **changes):
    estimator, minimizer, averaging, alternating = KINDS[kind]
    arguments = {"alternating": alternating, "chunks": 3, "traversals": 20, "seed": 3, "cluster": "local"}
    return DistributedSolver(game, estimator, minimizer, averaging, **arguments | changes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("owners", [1, 3])
def test_the_same_bits_with_owners(kind, owners):
    with solver_of(kind) as whole, solver_of(kind, owners=owners) as parts:
        assert bits(parts.run(5)) == bits(whole.run(5))
        assert (parts.current_strategy() == whole.current_strategy()).all()
        state = "JJ" if whole.tree.infoset("JJ") else whole.tree.info_states[7]
        assert parts.regrets(state) == whole.regrets(state)


@pytest.mark.parametrize("game", ["kuhn_poker(players=3)", "goofspiel(num_cards=4,imp_info=True)", "matrix_rps"])
def test_the_same_bits_in_other_games(game):
    if game == "matrix_rps":
        game = "turn_based_simultaneous_game(game=matrix_rps())"
    with solver_of(game=game) as whole, solver_of(game=game, owners=2) as parts:
        assert bits(parts.run(5)) == bits(whole.run(5))


@pytest.mark.parametrize(("owners", "workers"), [(1, 1), (2, 2)])
def test_the_same_bits_on_a_cluster(cluster, owners, workers):
    with solver_of() as whole, solver_of(owners=owners, workers=workers, cluster=cluster) as parts:
        assert bits(parts.run(4)) == bits(whole.run(4))


def test_every_slot_has_one_owner_and_parts_are_about_equal():
    tree = compile_game("leduc_poker")
    places, parts = split(tree.arrays, 4)
    found = np.concatenate([part.slots for part in parts])
    assert sorted(found.tolist()) == list(range(tree.num_slots))
    for number, part in enumerate(parts):
        assert (places.part[part.slots] == number).all()
        assert (places.slot[part.slots] == np.arange(len(part.slots))).all()
    sizes = [len(part.slots) for part in parts[1:]]
    assert max(sizes) < 1.5 * min(sizes)
    assert len(parts[0].slots) < 0.2 * tree.num_slots


def test_checkpoints_fit_any_number_of_owners(cluster, tmp_path):
    file = tmp_path / "leduc.checkpoint"
    with solver_of() as whole:
        expected = bits(whole.run(9))
    with solver_of() as first:
        first.run(3, checkpoint=file)
    with DistributedSolver.from_checkpoint(file, owners=2, workers=1, cluster=cluster) as second:
        second.run(3, checkpoint=file)
    with DistributedSolver.from_checkpoint(file, owners=1, cluster="local") as third:
        third.run(2, checkpoint=file)
    with DistributedSolver.from_checkpoint(file, cluster="local") as last:
        assert bits(last.run(1)) == expected


def test_it_may_be_closed_and_run_on():
    with solver_of() as whole, solver_of(owners=2) as parts:
        parts.run(2)
        parts.close()
        assert bits(parts.run(2)) == bits(whole.run(4))


def test_a_lost_owner_is_an_error_that_a_checkpoint_mends(cluster, tmp_path):
    file = tmp_path / "leduc.checkpoint"
    with solver_of() as whole:
        expected = bits(whole.run(4))
    with solver_of(owners=2, workers=1, cluster=cluster) as parts:
        parts.run(2, checkpoint=file)
        owner = parts._engine._split_crew.owners[0]
        os.kill(cluster.ray.get(owner.where.remote())[1], signal.SIGKILL)
        with pytest.raises(ClusterError, match="checkpoint"):
            parts.run(2)
        with pytest.raises(ClusterError):
            parts.average_strategy()
        parts.restore(file)
        assert bits(parts.run(2)) == expected


@pytest.mark.parametrize(
    ("estimator", "minimizer", "averaging", "named"),
    [
        ("external", "ftrl", None, "minimizer='ftrl'"),
        ("external", "rm", "exact", "averaging='exact'"),
        ("external", "rm", "optimistic", "averaging='optimistic'"),
        ("average_strategy", "rm", None, "estimator='average_strategy'"),
    ],
)
def test_parts_that_need_the_whole_table(estimator, minimizer, averaging, named):
    with pytest.raises(ConfigError, match=f"owners=2 with {named}"):
        DistributedSolver("kuhn_poker", estimator, minimizer, averaging, owners=2, cluster="local")


@pytest.mark.parametrize("owners", [-1, 256, True, 1.5])
def test_numbers_of_owners_that_make_no_sense(owners):
    with pytest.raises(ConfigError, match="from 0, where the tables stay here, to 255"):
        solver_of(owners=owners)
