"""What happens when a game, or its player, interrupts a traversal: the error says where, and the run can go on."""

import itertools
import math
import os
import signal
import threading
import time

import naive
import numpy as np
import pytest
from interpreted import plain_solver
from lazy_games import Fault, FaultyGame
from lazy_trees import differences, lazy_solver, pair

from mccfr_plus import GameError, Solver
from mccfr_plus.trees import lazy_tree
from mccfr_plus.trees.info_states import digest_of_text

METHODS = ["legal_actions", "information_state_string", "apply_action", "returns", "current_player"]


@pytest.fixture(autouse=True)
def no_fault():
    Fault.set("", 0)
    yield
    Fault.set("", 0)


def whole():
    Fault.set("", 0)
    return naive.tree_of("python_faulty(length=4)")


@pytest.mark.parametrize(
    ("estimator", "averaging", "threads", "options"),
    [("external", "stochastic", 2, {"batch": 2}), ("outcome", "lazy", 1, {"alternating": False})],
    ids=str,
)
@pytest.mark.parametrize("method", METHODS)
def test_a_game_that_raises(method, estimator, options, averaging, threads):
    """The run ends where it was, the error says where that is, and going on changes no bit."""
    arguments = (estimator, "rm", averaging)
    options = {**options, "threads": threads, "seed": 3}
    expected = plain_solver(whole(), *arguments, **options).run(60)
    solver = lazy_solver("python_faulty(length=4)", *arguments, **options)
    raised, causes = 0, []
    for countdown in (1, 2, 5, 40, 41, 300, 3, 1):
        Fault.set(method, countdown, ZeroDivisionError("on purpose"))
        before = solver.iterations
        try:
            for _ in range(solver.iterations, min(before + 8, 60)):
                solver.iteration()
        except GameError as error:
            raised += 1
            text = str(error)
            assert "python_faulty(length=4)" in text
            assert "ZeroDivisionError" in text
            assert "on purpose" in text
            assert "at history [" in text
            causes.append(type(error.__cause__))
            solver.average_policy()
        assert solver.iterations >= before
    assert causes == [ZeroDivisionError] * raised
    assert raised > 2
    Fault.set("", 0)
    solver.run(60 - solver.iterations)
    assert differences(expected, solver) == []


def test_histories_that_are_longer_than_the_game_says(monkeypatch):
    """Only traversals with baselines keep a frame per node of the history; others do not mind."""
    monkeypatch.setattr(FaultyGame, "moves_too_many", 12)
    assert lazy_solver("python_faulty", "outcome", seed=1).run(20).iterations == 20
    solver = lazy_solver("python_faulty", "external", baseline=True, seed=1)
    with pytest.raises(GameError, match="a history has more than 13 moves, the limit implied by max_game_length"):
        solver.run(20)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=["Ctrl-C", "exit"])
def test_what_is_raised_in_the_game_and_is_no_exception(error, threads):
    solver = lazy_solver("python_faulty", "external", seed=1, threads=threads)
    Fault.set("legal_actions", 9, error)
    with pytest.raises(type(error)):
        solver.run(100)
    iterations = solver.iterations
    assert solver.run(10).iterations == iterations + 10


@pytest.mark.integration
@pytest.mark.parametrize(("threads", "averaging"), [(1, "lazy"), (2, "stochastic")])
def test_ctrl_c_at_any_moment_changes_no_bit(threads, averaging):
    """Also where it comes while a kernel runs, so that Python handles it at the first line of the callback."""
    expected, solver = pair("leduc_poker", "external", "rm", averaging, batch=2, threads=threads, seed=3)
    stop = threading.Event()
    interrupted, deaf_until = 0, math.inf

    def interrupt(*_):
        nonlocal deaf_until
        if time.monotonic() > deaf_until:  # else it comes while the last one is dealt with, or after the test
            # Not for ever: Python swallows one that comes where nothing can be raised, such as in `__del__`.
            deaf_until = time.monotonic() + 0.3
            raise KeyboardInterrupt

    handler = signal.signal(signal.SIGINT, interrupt)

    def press():
        pause = 0.0
        while not stop.wait(0.001 + pause):
            pause = (pause + 0.0007) % 0.006
            os.kill(os.getpid(), signal.SIGINT)

    solver.run(1)
    thread = threading.Thread(target=press)
    try:
        thread.start()
        end = time.monotonic() + 200
        while interrupted < 15 and time.monotonic() < end:
            try:
                deaf_until = 0.0
                while True:
                    solver._engine.advance(50)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        deaf_until = math.inf
        stop.set()
        thread.join()
        signal.signal(signal.SIGINT, handler)
    assert interrupted == 15
    solver.run(10)
    assert differences(expected.run(solver.iterations), solver) == []


def test_an_average_that_is_interrupted_in_its_own_traversal_loses_nothing(monkeypatch):
    def run(at):
        count, solver = itertools.count(1), Solver("kuhn_poker(players=3)", averaging="stochastic", tree="lazy", seed=1)

        def interrupting(text):
            if next(count) == at:
                solver._engine.interrupt()
            return digest_of_text(text)

        monkeypatch.setattr(lazy_tree, "digest_of_text", interrupting)
        return solver.run(20).average_strategy()

    expected = run(0)
    assert all(np.array_equal(run(at), expected) for at in range(1, 40))
