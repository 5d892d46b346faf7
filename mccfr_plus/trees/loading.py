"""Loads games by OpenSpiel's game strings, and records them: every error names game, history and action."""

import contextlib
import difflib
import functools
import importlib
import logging
import math
import os
import re
import signal
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel
from tqdm.auto import tqdm

import mccfr_plus.games  # registers this package's games
from mccfr_plus.errors import GameError, MccfrPlusError, shortened
from mccfr_plus.games.openspiel import TURN_BASED
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.arrays import INFOSET, NODE, Shape
from mccfr_plus.trees.flattening import FlatTree, flatten
from mccfr_plus.trees.tree import Tree

logger = logging.getLogger("mccfr_plus")

Outcomes = tuple[tuple[int, float], ...]
_Check = Callable[[int, int], None]

_EXPLICIT = (pyspiel.GameType.ChanceMode.DETERMINISTIC, pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC)
_MAX_LENGTH = 100_000  # of a game, in moves of players and chance: the longest of OpenSpiel by default has 72,922
_TOLERANCE = 1e-6  # of the sum of a chance node's probabilities
_CHECK_EVERY = 1024  # nodes between two checks of the budget

# Bytes of a compiled tree, and of a recording.
COMPILED_BYTES_PER_NODE = 20  # 16 in the tree, and a quarter more while the array grows
COMPILED_BYTES_PER_INFOSET = 250  # key object, dictionary entries, list entries, array rows; its text comes on top

_IN_MEMORY = " was made in memory"

_USUAL = re.compile(r"[a-z_]*|[1-8]", re.IGNORECASE)  # values of parameters
_TRIAL_SECONDS, _TRIAL_BYTES = 5, 4 << 30  # CPU time and memory of the process that tries others

# Plays one game. What it prints last is what OpenSpiel says.
_TRIAL = """
import contextlib, random, sys, pyspiel
with contextlib.suppress(ImportError, ValueError, OSError):
    import resource  # not on Windows
    for kind, limit in (("CPU", int(sys.argv[2])), ("AS", int(sys.argv[3])), ("CORE", 0)):
        resource.setrlimit(getattr(resource, "RLIMIT_" + kind), (limit, limit + (kind == "CPU")))
try:
    game = pyspiel.load_game_as_turn_based(sys.argv[1])
except Exception as error:  # the caller will learn it, or it is written in Python
    sys.exit("it needs too much memory" if isinstance(error, MemoryError) else 0)
state, rng = game.new_initial_state(), random.Random(0)
while not state.is_terminal():
    if not state.is_chance_node() and game.get_type().provides_information_state_string:
        state.information_state_string()
    state.apply_action(rng.choice(state.legal_actions()))
"""


def load_game(game: pyspiel.Game | str | Tree) -> pyspiel.Game:
    """Returns a given game, or the game named by a game string, as a turn-based game.

    Games with simultaneous moves are converted to turn-based games by OpenSpiel, and a log message says so.

    Args:
        game: A `pyspiel.Game`, a string such as ``"leduc_poker"`` or ``"kuhn_poker(players=3)"``, or a tree.

    Raises:
        GameError: If the game is unknown (the message suggests similar names), its parameters are not accepted, or it
            cannot be solved by this package (because it is a mean-field game, has sampled chance outcomes, has no
            information states, or has no bound on its length).

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.load_game("kuhn_poker(players=3)").num_players()
        3
    """
    if isinstance(game, Tree):
        return game.game
    game = game_as_given(game)
    kind, fault = game.get_type(), ""
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        fault = "is a mean-field game, which CFR does not model: see open_spiel.python.mfg for algorithms that do"
    elif kind.chance_mode not in _EXPLICIT:
        fault = "draws chance events by itself: choose a game, or parameters, that list outcomes with probabilities"
    elif not kind.provides_information_state_string:
        fault = "provides no information_state_string, which tells information sets apart: choose a game that does"
    elif (length := game.max_game_length() + max(game.max_chance_nodes_in_history(), 0)) > _MAX_LENGTH:
        fault = f"can have {length:,} moves, more than {_MAX_LENGTH:,}: choose smaller parameters"
    if fault:
        raise GameError(f"{game} {fault}.")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        with quiet_openspiel():
            game = pyspiel.convert_to_turn_based(game)
        name = kind.short_name
        logger.info(
            "%s has simultaneous moves, so it is solved as turn_based_simultaneous_game(game=%s(...))", name, name
        )
    return game


def is_converted(given: pyspiel.Game | str | Tree, game: pyspiel.Game) -> bool:
    """Returns whether `load_game` has turned the game given, with simultaneous moves, into the turn-based `game`."""
    return game.get_type().short_name == TURN_BASED and not text_of(given).startswith(TURN_BASED)


def text_of(given: pyspiel.Game | str | Tree) -> str:
    """Returns the text of a game as it was given, not of what `load_game` turns it into."""
    return str(given.game if isinstance(given, Tree) else given)


@functools.cache
def file_name_of(text: str) -> str:
    """Returns the text of a game that files keep: the game string; where none makes it, one that says so."""
    with contextlib.suppress(Exception), quiet_openspiel():  # of many kinds, as in `game_as_given`
        pyspiel.load_game(text)
        return text
    return text + _IN_MEMORY


def game_as_given(given: pyspiel.Game | str) -> pyspiel.Game:
    """Returns a game, or that of a game string, as it is, simultaneous moves included; see `load_game` for errors."""
    if isinstance(given, pyspiel.Game):
        return given
    if not isinstance(given, str):
        raise GameError(f"game={given!r} has type {type(given).__name__}: give a pyspiel.Game or a game string.")
    if given.endswith(_IN_MEMORY):
        raise GameError(f"{given}, so no game string describes it: give the game itself, as game=.")
    name = given.split("(", 1)[0].strip()
    if name not in pyspiel.registered_names():
        importlib.import_module("open_spiel.python.games")  # registers games written in Python, in 0.2 s
    if name not in (names := pyspiel.registered_names()):
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [n for n in names if name and name in n][:3]
        hint = f"did you mean {', '.join(near)}?" if near else "pyspiel.registered_names() lists them all."
        hint += " A user-defined game must be imported first (--import=MODULE on the command line)."
        raise GameError(f"OpenSpiel has no game {name!r}: {hint}")
    try:
        with quiet_openspiel():
            if "(" in given:
                try_out(given)
            return pyspiel.load_game(given)
    except GameError:
        raise
    except Exception as error:  # pyspiel raises RuntimeError, SpielError and ValueError here
        said = shortened(without_places(str(error)), 250)
        raise GameError(f"OpenSpiel does not accept the game string {given!r}: {said}") from None


@functools.cache
def try_out(text: str) -> None:
    """Plays one game of a string with an unusual parameter in another process, as OpenSpiel may end it, or never end.

    If it fails, or needs more than five seconds or 4 GiB, that is a GameError.
    """
    if all(_USUAL.fullmatch(value.strip()) for value in re.findall(r"=([^=,()]*)", text)):
        return
    # -P: no module is taken from the working directory
    command = [sys.executable, "-P", "-c", _TRIAL, text, str(_TRIAL_SECONDS), str(_TRIAL_BYTES)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * _TRIAL_SECONDS, check=False)
    except subprocess.TimeoutExpired:  # it waits, or no limit could be set
        said = f"OpenSpiel fails on {text!r}: one game does not end in {_TRIAL_SECONDS} seconds"
        raise GameError(f"{said}: choose other parameters.") from None
    if done.returncode:
        how = f" ({signal.Signals(-done.returncode).name})" if done.returncode < 0 else ""
        said = without_places(done.stderr.strip().rpartition("\n")[2])
        said = said or f"one game does not end in {_TRIAL_SECONDS} seconds"
        raise GameError(f"OpenSpiel fails on {text!r}{how} ({said}): choose other parameters.")


def without_places(message: str) -> str:
    """Returns an error message of OpenSpiel's in one line, without the places in its source code."""
    return re.sub(r"\S+\.(cc|h):\d+ ", "", " ".join(message.split()))


def action_name(game: pyspiel.Game, player: int, action: int) -> str:
    """Returns what OpenSpiel calls an action, or its number where that depends on the state."""
    if isinstance(game, mccfr_plus.games.PyspielGame):
        return game.rules_game.action_text(player, action)
    try:
        name = game.action_to_string(player, action)
    except (RuntimeError, AttributeError):
        return str(action)
    return str(action) if name.startswith("Action(id=") else name  # that is what a game says that has no names


@contextlib.contextmanager
def quiet_openspiel() -> Iterator[None]:
    """Keeps OpenSpiel's C++ from printing its own copy of an exception, past `sys.stderr`."""
    try:
        saved = os.dup(2)
    except OSError:  # no standard error at all, as in some GUI processes
        yield
        return
    try:
        with open(os.devnull, "w") as sink:
            os.dup2(sink.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


# --- what a game may answer ---


class WrongAnswerError(Exception):
    """Something that no game may return, such as a payoff that is not a number. `game_error` adds where it occurred."""


def game_error(game: pyspiel.Game | str, history: Sequence[int], problem: Exception) -> MccfrPlusError:
    """Returns the GameError to raise for a problem after a history; errors of this package are returned as they are."""
    if isinstance(problem, MccfrPlusError):
        return problem
    where = f"at history {list(history[:-1])}, action {history[-1]}" if history else "at history []"
    if isinstance(problem, WrongAnswerError):
        return GameError(f"{game}, {where}: {problem}.")
    remedy = ""
    if "make_py_observer" in str(problem):  # OpenSpiel makes missing texts of states with it
        remedy = ": give its states information_state_string(player), or the game make_py_observer"
    error = GameError(f"{game} raised {type(problem).__name__} {where}: {problem}{remedy}")
    error.__cause__ = problem
    return error


def checked_outcomes(outcomes: Sequence[tuple[int, float]]) -> Outcomes:
    """Returns the outcomes of a chance node without those of probability 0, which no play reaches."""
    possible = tuple((action, probability) for action, probability in outcomes if probability != 0)
    probabilities = [probability for _, probability in possible]
    if not all(0 <= probability < math.inf for probability in probabilities):
        raise WrongAnswerError(f"chance probabilities must be finite and at least 0, not {probabilities}")
    total = math.fsum(probabilities)
    if abs(total - 1.0) > _TOLERANCE:
        raise WrongAnswerError(f"the chance probabilities sum to {total:.9g} instead of 1")
    return possible


def checked_returns(returns: Sequence[float], num_players: int) -> tuple[float, ...]:
    """Returns the payoffs of all players: one finite number each."""
    payoffs = tuple(returns)
    if len(payoffs) != num_players or not all(map(math.isfinite, payoffs)):
        raise WrongAnswerError(f"returns() must be {num_players} finite numbers, not {list(payoffs)}")
    return payoffs


def checked_actions(actions: list[int], most: int) -> list[int]:
    """Returns the legal actions of a decision node: between 1 and `most`, all of them different."""
    if not 0 < len(actions) <= most:
        raise WrongAnswerError(
            f"a decision node has {len(actions)} legal actions, but num_distinct_actions() allows 1 to {most}"
        )
    if len(set(actions)) < len(actions):
        raise WrongAnswerError(f"the legal actions {actions} of a decision node are not all different")
    return actions


def read_node(game: pyspiel.Game, state: pyspiel.State) -> tuple[int, list[int], list[float]]:
    """Returns who moves at a state, the actions, and their probabilities in random play; no actions at the end."""
    player = int(state.current_player())
    if player >= 0:
        actions = checked_actions(state.legal_actions(), game.num_distinct_actions())
        return player, actions, [1 / len(actions)] * len(actions)
    if player == CHANCE:
        outcomes = checked_outcomes(state.chance_outcomes())
        return player, [action for action, _ in outcomes], [probability for _, probability in outcomes]
    if player != TERMINAL:
        raise unknown_mover(player)
    checked_returns(state.returns(), game.num_players())
    return player, [], []


def require_end(game: pyspiel.Game, num_moves: int) -> None:
    """Raises WrongAnswerError if a history is much longer than the game says."""
    length, chances = game.max_game_length(), max(game.max_chance_nodes_in_history(), 0)
    if num_moves > 10 * (length + chances) + 1000:
        raise WrongAnswerError(
            f"a game has not ended after {num_moves:,} moves, but max_game_length() is {length:,} and "
            f"max_chance_nodes_in_history() is {chances:,}: check that moves change the state"
        )


def unknown_mover(player: int) -> WrongAnswerError:
    return WrongAnswerError(f"a node that is not a decision, chance or terminal node (current player {player})")


def different_actions(info_state: str, player: int, known: Sequence[int], found: Sequence[int]) -> WrongAnswerError:
    return WrongAnswerError(
        f"information state {info_state!r} of player {player} has two sets of legal actions, {list(known)} and "
        f"{list(found)}: it does not tell apart what the player can tell apart"
    )


# --- recording ---


def compiling_bar(progress: bool | None) -> tqdm:
    """Returns a progress bar for work over a second; None shows it if standard error is a terminal."""
    disable = None if progress is None else not progress
    return tqdm(desc="compiling the tree", unit=" nodes", unit_scale=True, delay=1.0, disable=disable, leave=False)


def show_fraction(bar: tqdm, num_nodes: int, num_actions: Sequence[int], num_taken: Sequence[int]) -> None:
    """Updates the bar of a traversal, given the actions of each node on the path and how many of them were taken."""
    if bar.disable:
        return
    # The fraction of the tree before the current path, if all children of a node had subtrees of one size.
    fraction = ((np.array(num_taken) - 1.0) / np.cumprod(num_actions, dtype=float)).sum()
    bar.total = round(num_nodes / max(fraction, 1e-9))
    bar.update(num_nodes - bar.n)


def record(game: pyspiel.Game, check_budget: _Check, progress: bool | None) -> tuple[FlatTree, list[str]]:
    """Returns the tree of a turn-based game and its information states; `check_budget` is `game_tree.Budget.check`."""
    path: list[list[Any]] = []
    with compiling_bar(progress) as bar:
        try:
            info_states, *recording = _traverse(game, path, check_budget, bar)
        except MccfrPlusError:
            raise
        except Exception as error:
            raise game_error(game, [actions[taken - 1] for taken, actions, *_ in path], error) from error
    tree = flatten(*recording)
    return tree, [info_states[infoset] for infoset in tree.order]


def _traverse(game: pyspiel.Game, path: list[list[Any]], check_budget: _Check, bar: tqdm) -> tuple:
    """Returns information states and the arguments of `flatten`.

    `path` gets inner nodes: actions taken, actions, state, mover, first child, first slot, mover's slot before it.
    """
    num_players, infosets, infoset_actions = game.num_players(), dict[tuple[int, str], int](), list[list[int]]()
    records, num_slots, key_bytes = list[tuple[int, int, int, int]](), [0] * num_players, 0  # of INFOSET
    distributions, distribution_of = list[Outcomes](), dict[Outcomes, int]()
    payoffs: dict[tuple[float, ...], int] = {}
    state, nodes, node, num_nodes, num_visited = game.new_initial_state(), array("i", bytes(NODE.itemsize)), 0, 1, 0
    last_slots = [-1] * (num_players + 1)  # the last entry is chance's
    waiting, moves, max_depth, max_stack, max_moves, perfect_recall = 1, 0, 0, 1, 0, True

    def check() -> None:
        num_bytes = num_nodes * COMPILED_BYTES_PER_NODE + len(infosets) * COMPILED_BYTES_PER_INFOSET + key_bytes
        check_budget(num_nodes, num_bytes)
        show_fraction(bar, num_visited, [len(actions) for _, actions, *_ in path], [taken for taken, *_ in path])
        require_end(game, len(path))

    while True:
        num_visited += 1
        if num_visited % _CHECK_EVERY == 0:
            check()
        player, actions = int(state.current_player()), []
        if player >= 0:
            key, actions = state.information_state_string(), state.legal_actions()
            infoset = infosets.setdefault((player, key), len(infosets))
            if infoset == len(records):
                key_bytes += len(key)
                infoset_actions.append(checked_actions(actions, game.num_distinct_actions()))
                records.append((num_slots[player], len(actions), last_slots[player], player))
                num_slots[player] += len(actions)
            elif actions != infoset_actions[infoset]:
                raise different_actions(key, player, infoset_actions[infoset], actions)
            payload, _, parent, _ = records[infoset]
            perfect_recall = perfect_recall and parent == last_slots[player]
        elif player == TERMINAL:
            returns = tuple(state.returns())
            if returns not in payoffs:
                payoffs[checked_returns(returns, num_players)] = len(payoffs)
            payload = payoffs[returns]
        elif player == CHANCE:
            outcomes = tuple(state.chance_outcomes())
            if outcomes not in distribution_of:
                possible = checked_outcomes(outcomes)
                distribution_of[outcomes] = distribution_of.setdefault(possible, len(distributions))
                if distribution_of[outcomes] == len(distributions):
                    distributions.append(possible)
            payload = distribution_of[outcomes]
            actions = [action for action, _ in distributions[payload]]
        else:
            raise unknown_mover(player)
        place, count = 4 * node, len(actions)
        nodes[place], nodes[place + 3] = player, payload
        if count:
            nodes[place + 1], nodes[place + 2] = count, num_nodes
            path.append([0, actions, state, player, num_nodes, payload, last_slots[player]])
            num_nodes, waiting, moves = num_nodes + count, waiting + count - 1, moves + (player >= 0)
            nodes.frombytes(bytes(NODE.itemsize * count))
            if len(path) > max_depth:  # calls of `max` would take a fifth of the time
                max_depth = len(path)
            if waiting > max_stack:
                max_stack = waiting
            if moves > max_moves:
                max_moves = moves
        while path and path[-1][0] == len(path[-1][1]):
            _, actions, _, mover, _, _, last_slots[mover] = path.pop()
            waiting, moves = waiting - len(actions) + 1, moves - (mover >= 0)
        if not path:
            break
        taken, actions, state, mover, first_child, first_slot, _ = path[-1]
        node, last_slots[mover] = first_child + taken, first_slot + taken
        path[-1][0] = taken + 1
        if taken + 1 < len(actions):
            state = state.child(actions[taken])
        else:
            state.apply_action(actions[taken])  # the parent's state has served
    check()
    shape = Shape(max_depth, max_stack, perfect_recall, max_moves)
    slot_action = np.array([action for actions in infoset_actions for action in actions], np.int64)
    table = np.array(list(payoffs), np.float64).reshape(-1, num_players)
    found = np.frombuffer(nodes, NODE), np.array(records, INFOSET), slot_action, distributions, table
    return [key for _, key in infosets], shape, *found
