"""The desk of a comparison on a cluster: each thing once, in order, and from nobody who was shut out."""

import math

import pytest

from mccfr_plus import compile_game
from mccfr_plus.experiments import run_loop as races
from mccfr_plus.experiments.cluster_runs import _Clerk
from mccfr_plus.experiments.collected_records import DeskLedger
from mccfr_plus.experiments.comparison import Comparison, Directory
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.record import Point, read_record
from mccfr_plus.experiments.result_collector import CHECKPOINT, END, HEADER, LOST, POINT, Desk, Shelf
from mccfr_plus.experiments.run_loop import race
from mccfr_plus.experiments.runner import OurRunner

KEY = ("kuhn_poker", "external", 1)
FIRST, SECOND = (Point(target, 1, 1, 0.0, 0.5, (0.0, 0.0)) for target in (10.0, 20.0))


@pytest.fixture
def desk(cluster):
    return Desk({0: Shelf(), 1: Shelf()})


def kinds(desk, known=0):
    return [entry.kind for entry in desk.fetch(known)[0]]


def test_a_point_that_comes_twice_is_taken_once(desk):
    attempt = desk.begin(0).attempt
    assert all(desk.hand_in(0, attempt, POINT, point) for point in (FIRST, FIRST, SECOND, FIRST))
    assert [entry.value for entry in desk.fetch(0)[0]] == [FIRST, SECOND]


def test_an_answer_that_was_lost_can_be_had_again(desk):
    attempt = desk.begin(0).attempt
    desk.hand_in(0, attempt, HEADER, {})
    desk.hand_in(0, attempt, POINT, FIRST)
    assert kinds(desk) == kinds(desk) == [HEADER, POINT]
    assert kinds(desk, 1) == kinds(desk, 1) == [POINT]
    desk.hand_in(0, attempt, POINT, SECOND)
    assert kinds(desk, 2) == [POINT]
    assert kinds(desk, 3) == []


def test_who_begins_again_gets_what_there_was_and_shuts_the_other_out(desk, cluster):
    old = desk.begin(0).attempt
    desk.hand_in(0, old, POINT, FIRST)
    desk.hand_in(0, old, CHECKPOINT, b"state")
    begun = desk.begin(0)
    assert begun.points == [FIRST]
    assert cluster.ray.get(begun.checkpoint) == b"state"
    assert begun.is_wanted
    assert begun.problem is None
    assert not desk.hand_in(0, old, POINT, SECOND)
    assert not desk.hand_in(0, old, END, {})
    assert not desk.tell(0, old, 0.5)
    assert desk.hand_in(0, begun.attempt, POINT, SECOND)
    assert kinds(desk) == [POINT, CHECKPOINT, LOST, POINT]
    assert desk.tell(0, begun.attempt, 0.5)
    assert desk.fetch(4) == ([], {0: 0.5})


def test_a_run_that_has_ended_stays_ended(desk):
    desk.hand_in(0, desk.begin(0).attempt, END, {"seconds": 1.0})
    begun = desk.begin(0)
    assert begun.ended == {"seconds": 1.0}
    assert not desk.hand_in(0, begun.attempt, POINT, FIRST)


def test_a_run_that_kills_its_workers_is_given_up(desk):
    for _ in range(5):
        assert desk.begin(0).problem is None
    desk.hand_in(0, desk.begin(0).attempt, POINT, FIRST)  # something new: they are counted anew
    for _ in range(10):
        assert desk.begin(0).problem is None
    assert "lost 11 times without anything new" in desk.begin(0).problem


def test_stop_and_drop(desk):
    attempts = [desk.begin(run).attempt for run in (0,)]
    desk.drop(0)
    assert not desk.tell(0, attempts[0], 0.1)
    assert desk.begin(1).is_wanted
    assert desk.stop() == {0, 1}
    assert not desk.tell(1, 1, 0.1)
    assert not desk.begin(1).is_wanted
    assert not desk.hand_in(1, 2, POINT, FIRST)
    assert kinds(desk)[-1] == POINT  # what was found by then is taken all the same


@pytest.fixture
def directory(tmp_path):
    with Directory(tmp_path / "out", Comparison(KEY[:1], KEY[1:2], (1,), Limit("nodes", 2e5), 12)) as directory:
        yield directory


def test_a_lost_run_goes_on_from_its_checkpoint(cluster, directory, tmp_path, monkeypatch):
    """In this process: what the second attempt restores is what the first one has handed in."""
    tree = compile_game("kuhn_poker")
    run = directory.run_of(*KEY, directory.comparison.points_of(tree))
    clerk = _Clerk(cluster.ray, {0: (directory, KEY)})
    clerk.open()
    monkeypatch.setattr(races, "CHECKPOINT_SECONDS", -1.0)  # one at each point
    monkeypatch.setattr(races, "SAVING_SHARE", math.inf)
    restored, restore = [], OurRunner.restore
    monkeypatch.setattr(
        OurRunner, "restore", lambda self, path: restored.append(restore(self, path) or self.iterations)
    )

    def attempt(lose_after):
        ledger = DeskLedger(clerk.desk, 0, cluster.ray.get(clerk.desk.begin.remote(0)))
        add, count = ledger.add, len(ledger.points)

        def lose(point):
            if len(ledger.points) == lose_after:
                raise KeyboardInterrupt
            add(point)

        monkeypatch.setattr(ledger, "add", lose)
        assert len(ledger.points) == count
        return race(run, tree, {}, ledger.tell, ledger.stop, lambda _, header: ledger.open(header) or ledger)

    for lose_after in (5, 8):
        with pytest.raises(KeyboardInterrupt):
            attempt(lose_after)
        clerk.write()
        assert len(read_record(run.record)[1]) == lose_after
        assert run.checkpoint.exists()
    points = read_record(run.record)[1]
    assert restored == [points[4].iterations]
    assert attempt(None)
    assert restored == [points[4].iterations, points[7].iterations]
    clerk.write()
    clerk.write()
    assert not run.checkpoint.exists()
    _, points, ended = read_record(run.record)
    assert [point.target for point in points] == list(run.points)
    assert ended["seconds"] == points[-1].seconds
    assert run.policy.exists()


def test_a_program_that_begins_again_hands_out_what_is_in_its_files(cluster, directory):
    tree = compile_game("kuhn_poker")
    run = directory.run_of(*KEY, directory.comparison.points_of(tree))
    looks = iter([False] * 8)
    assert not race(run, tree, {}, lambda progress: None, lambda: next(looks, True))
    points = read_record(run.record)[1]
    assert points
    clerk = _Clerk(cluster.ray, {0: (directory, KEY)})
    clerk.open()
    begun = cluster.ray.get(clerk.desk.begin.remote(0))
    assert begun.points == points
    assert cluster.ray.get(begun.checkpoint) == run.checkpoint.read_bytes()
