"""Loads games, and records them within a budget: every error that a game causes names game, history and action."""

import contextlib
import difflib
import importlib
import logging
import math
import os
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyspiel
from tqdm.auto import tqdm

import mccfr_plus.games  # noqa: F401 - registers this package's games
from mccfr_plus.errors import GameError, MccfrPlusError
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.trial import try_out, without_places

logger = logging.getLogger("mccfr_plus")

_EXPLICIT = (pyspiel.GameType.ChanceMode.DETERMINISTIC, pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC)
Outcomes = tuple[tuple[int, float], ...]

_MAX_LENGTH = 100_000  # of a game, in moves of players and chance: the longest of OpenSpiel by default has 72,922
_TOLERANCE = 1e-6  # of the sum of a chance node's probabilities
_CHECK_EVERY = 1024  # nodes between two checks of the budget

# Bytes of a compiled tree; recording a game counts with them, too.
COMPILED_BYTES_PER_NODE = 21  # 16 in the tree, 5 in the recording
COMPILED_BYTES_PER_INFOSET = 250  # key object, dictionary entries, list entries, array rows; its text comes on top


def load_game(game: pyspiel.Game | str) -> pyspiel.Game:
    """Returns the turn-based game of a game or a game string.

    Simultaneous games are turned into turn-based ones by OpenSpiel's own conversion, with a logged line.

    Args:
        game: A `pyspiel.Game`, or a string such as ``"leduc_poker"`` or ``"kuhn_poker(players=3)"``.

    Raises:
        GameError: If the game is unknown (with the nearest names), its parameters are not accepted, or it is of a
            kind that cannot be solved here: mean field, sampled chance, no information states, no end in sight.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.load_game("kuhn_poker(players=3)").num_players()
        3
    """
    if isinstance(game, str):
        game = game_of_name(game)
    if not isinstance(game, pyspiel.Game):
        raise GameError(f"game={game!r} is a {type(game).__name__}: give a pyspiel.Game or a game string.")
    kind = game.get_type()
    name = kind.short_name
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise GameError(
            f"{name} is a mean-field game: its states depend on a population, which CFR does not model. "
            "See open_spiel.python.mfg for algorithms that do."
        )
    if kind.chance_mode not in _EXPLICIT:
        raise GameError(
            f"{name} samples its chance events inside the game (sampled stochasticity), so that their outcomes and "
            "probabilities cannot be listed. Choose a game, or parameters of it, with explicit chance."
        )
    if not kind.provides_information_state_string:
        raise GameError(
            f"{name} provides no information_state_string, which is what tells a player's information sets apart. "
            "Observations alone do not: their recall is imperfect. Choose a game with information states."
        )
    length = game.max_game_length() + max(game.max_chance_nodes_in_history(), 0)
    if length > _MAX_LENGTH:
        raise GameError(
            f"one game of {game} can have {length:,} moves, more than {_MAX_LENGTH:,}: choose smaller parameters."
        )
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        with quiet_openspiel():
            game = pyspiel.convert_to_turn_based(game)
        logger.info("%s has simultaneous moves: in turns, as turn_based_simultaneous_game(game=%s(...))", name, name)
    return game


def game_of_name(text: str) -> pyspiel.Game:
    """Returns the game of a game string as it is, simultaneous moves included.

    Raises:
        GameError: If the game is unknown (with the nearest names), or its parameters are not accepted or too much for
            OpenSpiel.
    """
    name = text.split("(", 1)[0].strip()
    names = pyspiel.registered_names()
    if name not in names:
        # Games written in Python are there only once this module is imported (0.2 s).
        importlib.import_module("open_spiel.python.games")
        names = pyspiel.registered_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [n for n in names if name and name in n][:3]
        hint = f"did you mean {', '.join(near)}?" if near else "pyspiel.registered_names() lists them all."
        hint += " A user-defined game must be imported first (--import=MODULE on the command line)."
        raise GameError(f"{name!r} is no game of OpenSpiel: {hint}")
    try:
        with quiet_openspiel():
            if "(" in text:
                try_out(text)
            return pyspiel.load_game(text)
    except GameError:
        raise
    except Exception as error:  # pyspiel raises RuntimeError, SpielError and ValueError here
        raise GameError(f"OpenSpiel does not accept the game string {text!r}: {without_places(str(error))}") from None


def action_name(game: pyspiel.Game, player: int, action: int) -> str:
    """Returns what OpenSpiel calls an action, or its number where that depends on the state."""
    try:
        name = game.action_to_string(player, action)
    except (RuntimeError, AttributeError):
        return str(action)
    return str(action) if name.startswith("Action(id=") else name  # that is what a game says that has no names


@contextlib.contextmanager
def quiet_openspiel() -> Iterator[None]:
    """Keeps OpenSpiel's C++ from printing its own copy of an exception to standard error.

    Works on the file descriptor, as C++ does not know of `sys.stderr`.
    """
    try:
        sys.stderr.flush()
        saved = os.dup(2)
    except (OSError, ValueError, AttributeError):  # no standard error at all, as in some GUI processes
        yield
        return
    try:
        with open(os.devnull, "w") as sink:
            os.dup2(sink.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


class WrongAnswerError(Exception):
    """Something that no game may return, such as a payoff that is not a number. `game_error` adds where it occurred."""


def game_error(game: pyspiel.Game | str, history: Sequence[int], problem: Exception) -> MccfrPlusError:
    """Returns the error to raise for a problem with a game: a `GameError` that says where it occurred.

    Args:
        game: The game, or its string.
        history: The actions that lead to the node at which the problem occurred.
        problem: What the game has raised, or a `WrongAnswerError`; errors of this package are returned as they are.
    """
    if isinstance(problem, MccfrPlusError):
        return problem
    where = f"at history {list(history[:-1])}, action {history[-1]}" if history else "at history []"
    if isinstance(problem, WrongAnswerError):
        return GameError(f"{game}, {where}: {problem}.")
    error = GameError(f"{game} raised {type(problem).__name__} {where}: {problem}")
    error.__cause__ = problem
    return error


def checked_outcomes(outcomes: Sequence[tuple[int, float]]) -> Outcomes:
    """Returns the outcomes of a chance node without those of probability 0, which no play reaches.

    Raises:
        WrongAnswerError: If a probability is negative or not finite, or if they do not sum to 1.
    """
    possible = tuple((action, probability) for action, probability in outcomes if probability != 0)
    probabilities = [probability for _, probability in possible]
    if not all(0 <= probability < math.inf for probability in probabilities):
        raise WrongAnswerError(f"probabilities of chance must be finite and not negative, and not {probabilities}")
    total = math.fsum(probabilities)
    if abs(total - 1.0) > _TOLERANCE:
        raise WrongAnswerError(f"the probabilities of chance sum to {total:.9g} instead of 1")
    return possible


def checked_returns(returns: Sequence[float], num_players: int) -> tuple[float, ...]:
    """Returns the payoffs of all players.

    Raises:
        WrongAnswerError: Unless there is one finite number per player.
    """
    payoffs = tuple(returns)
    if len(payoffs) != num_players or not all(map(math.isfinite, payoffs)):
        raise WrongAnswerError(f"returns() must be {num_players} finite numbers, and not {list(payoffs)}")
    return payoffs


def checked_actions(actions: list[int], most: int) -> list[int]:
    """Returns the legal actions of a decision node.

    Raises:
        WrongAnswerError: If there are none, or more than `most`.
    """
    if not 0 < len(actions) <= most:
        raise WrongAnswerError(
            f"a decision node with {len(actions)} legal actions, where num_distinct_actions() allows 1 to {most}"
        )
    return actions


def require_end(game: pyspiel.Game, num_moves: int) -> None:
    """Raises WrongAnswerError if a history has no end in sight: it is much longer than the game says."""
    length, chances = game.max_game_length(), max(game.max_chance_nodes_in_history(), 0)
    if num_moves > 10 * (length + chances) + 1000:
        raise WrongAnswerError(
            f"no end after {num_moves:,} moves, where max_game_length() is {length:,} and "
            f"max_chance_nodes_in_history() {chances:,}: do moves change the state"
        )


def unknown_mover(player: int) -> WrongAnswerError:
    """Returns the error for a current player that is no player, chance or the end of the game."""
    return WrongAnswerError(f"a node of a kind that is no decision, chance or terminal node (current player {player})")


def different_actions(info_state: str, player: int, known: Sequence[int], found: Sequence[int]) -> WrongAnswerError:
    """Returns the error for an information state with two sets of legal actions."""
    return WrongAnswerError(
        f"information state {info_state!r} of player {player} has two sets of legal actions, {list(known)} and "
        f"{list(found)}: it does not tell apart what the player can tell apart"
    )


# --- recording ---


@dataclass
class Recording:
    """What a depth-first traversal saw, in this order."""

    num_players: int
    max_depth: int = 0  # longest history, in actions of players and chance
    kinds: array = field(default_factory=lambda: array("b"))  # per node: its player, CHANCE or TERMINAL
    payloads: array = field(default_factory=lambda: array("i"))  # per node: infoset, distribution or payoff index
    infoset_player: list[int] = field(default_factory=list)
    infoset_key: list[str] = field(default_factory=list)
    infoset_actions: list[list[int]] = field(default_factory=list)
    distributions: list[tuple[tuple[int, float], ...]] = field(default_factory=list)
    payoffs: list[tuple[float, ...]] = field(default_factory=list)


def compiling_bar(progress: bool | None) -> tqdm:
    """Returns a progress bar for work over a second; None shows it if standard error is a terminal."""
    disable = None if progress is None else not progress
    return tqdm(desc="compiling the tree", unit=" nodes", unit_scale=True, delay=1.0, disable=disable, leave=False)


def show_fraction(bar: tqdm, num_nodes: int, num_actions: Sequence[int], num_taken: Sequence[int]) -> None:
    """Updates the bar of a traversal.

    Args:
        bar: From `compiling_bar`.
        num_nodes: How many nodes were visited.
        num_actions: How many actions the nodes on the path have.
        num_taken: How many of them were taken.
    """
    if bar.disable:
        return
    # The fraction of the tree before the current path, if all children of a node had subtrees of one size.
    fraction, width = 0.0, 1.0
    for actions, taken in zip(num_actions, num_taken, strict=True):
        width /= actions
        fraction += (taken - 1) * width
    bar.total = round(num_nodes / max(fraction, 1e-9))
    bar.update(num_nodes - bar.n)


def record(game: pyspiel.Game, check_budget: Callable[[int, int], None], progress: bool | None) -> Recording:
    """Returns the recording of a turn-based game.

    Args:
        check_budget: Called now and then with the numbers of nodes and bytes so far; see `memory.Budget.check`.
        progress: Whether to show a progress bar once the traversal takes over a second; None: if standard error is a
            terminal.

    Raises:
        BudgetError: What `check_budget` raises.
        GameError: If the game raises an error or contradicts itself; the text names history and action.
    """
    return _Recorder(game, check_budget, progress).run()


class _Recorder:
    """One depth-first traversal, which keeps one path of states in memory.

    It needs no child pointers: the order of visit and the number of children determine them.
    """

    def __init__(self, game: pyspiel.Game, check_budget: Callable[[int, int], None], progress: bool | None):
        self._game = game
        self._check = check_budget
        self._recording = Recording(game.num_players())
        self._infosets: list[dict[str, int]] = [{} for _ in range(game.num_players())]
        self._key_bytes = 0
        self._actions: list[list[int]] = []  # of the inner nodes on the path,
        self._position: list[int] = []  # and how many of these were taken
        self._bar = compiling_bar(progress)

    def run(self) -> Recording:
        with self._bar:
            try:
                self._traverse()
            except Exception as error:
                taken = zip(self._actions, self._position, strict=True)
                named = game_error(self._game, [actions[index - 1] for actions, index in taken], error)
                try:
                    raise named from named.__cause__
                finally:
                    del named  # or this frame and the error would keep one another, with all that was recorded
            self._check_budget()
        return self._recording

    def _traverse(self) -> None:
        # The loop body runs once per node; what it needs is in local names for speed.
        recording = self._recording
        add_kind, add_payload = recording.kinds.append, recording.payloads.append
        infosets, infoset_actions = self._infosets, recording.infoset_actions
        distributions: dict[tuple[tuple[int, float], ...], int] = {}
        payoffs: dict[tuple[float, ...], int] = {}
        path_actions, position = self._actions, self._position
        path: list[pyspiel.State] = []
        state = self._game.new_initial_state()
        countdown, max_depth = _CHECK_EVERY, 0
        while True:
            countdown -= 1
            if not countdown:
                countdown = _CHECK_EVERY
                self._check_budget()
                show_fraction(self._bar, len(recording.kinds), list(map(len, path_actions)), position)
            player = state.current_player()
            if player >= 0:
                key = state.information_state_string()
                actions = state.legal_actions()
                infoset = infosets[player].get(key)
                if infoset is None:
                    infoset = self._new_infoset(player, key, actions)
                elif actions != infoset_actions[infoset]:
                    raise different_actions(key, player, infoset_actions[infoset], actions)
                add_kind(player)
                add_payload(infoset)
            elif player == TERMINAL:
                returns = tuple(state.returns())
                payoff = payoffs.get(returns)
                if payoff is None:
                    payoff = payoffs[checked_returns(returns, recording.num_players)] = len(payoffs)
                add_kind(TERMINAL)
                add_payload(payoff)
                if len(path) > max_depth:
                    max_depth = len(path)
                while position and position[-1] == len(path_actions[-1]):
                    position.pop()
                    path_actions.pop()
                    path.pop()
                if not path:
                    break
                state, actions, index = path[-1], path_actions[-1], position[-1]
                position[-1] = index + 1
                if index + 1 < len(actions):
                    state = state.child(actions[index])
                else:
                    state.apply_action(actions[index])  # the parent's state has served
                continue
            elif player == CHANCE:
                outcomes = tuple(state.chance_outcomes())
                distribution = distributions.get(outcomes)
                if distribution is None:
                    possible = checked_outcomes(outcomes)
                    distribution = distributions.get(possible)
                    if distribution is None:
                        distribution = distributions[possible] = len(recording.distributions)
                        recording.distributions.append(possible)
                    distributions[outcomes] = distribution
                actions = [action for action, _ in recording.distributions[distribution]]
                add_kind(CHANCE)
                add_payload(distribution)
            else:
                raise unknown_mover(player)
            path.append(state)
            path_actions.append(actions)
            position.append(1)
            if len(path) % _CHECK_EVERY == 0:
                require_end(self._game, len(path))
            if len(actions) > 1:
                state = state.child(actions[0])
            else:
                state.apply_action(actions[0])
        recording.payoffs, recording.max_depth = list(payoffs), max_depth

    def _new_infoset(self, player: int, key: str, actions: list[int]) -> int:
        recording = self._recording
        index = len(recording.infoset_key)
        self._infosets[player][key] = index
        self._key_bytes += len(key)
        recording.infoset_player.append(player)
        recording.infoset_key.append(key)
        recording.infoset_actions.append(checked_actions(actions, self._game.num_distinct_actions()))
        return index

    def _check_budget(self) -> None:
        nodes, infosets = len(self._recording.kinds), len(self._recording.infoset_key)
        self._check(nodes, nodes * COMPILED_BYTES_PER_NODE + infosets * COMPILED_BYTES_PER_INFOSET + self._key_bytes)
