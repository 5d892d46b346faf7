"""Abstraction: a game whose players know a bucket instead of their private information; actions and payoffs stay.

Lanctot et al. 2009 name abstraction with imperfect recall as future work; Waugh et al. 2009 report that it pays.
"""

import hashlib
import pickle
import random
from collections.abc import Callable, Hashable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from mccfr_plus.errors import ConfigError, GameError, shortened
from mccfr_plus.games import RulesGame, compiled_rules
from mccfr_plus.games.abstract_rules import AbstractRules
from mccfr_plus.games.openspiel import why_no_rules
from mccfr_plus.games.rules import NOW
from mccfr_plus.kernels.compile import is_kernel, source_of
from mccfr_plus.parameters import check_choice
from mccfr_plus.trees.loading import load_game, quiet_openspiel, read_node
from mccfr_plus.trees.tree import Tree

IMPERFECT, PERFECT = "imperfect", "perfect"

_SAMPLED = 1_000  # decision nodes whose buckets make the digest
_COMPARED = 100_000  # information states whose legal actions are kept to compare them

BucketOf = Callable[[pyspiel.State, int], Hashable]


def abstract(
    game: pyspiel.Game | str | Tree, bucket: Any, recall: str = IMPERFECT, key: BucketOf | None = None
) -> "AbstractGame":
    """Returns a game with the actions, chance outcomes and payoffs of the real game, but in which players know less.

    With imperfect recall, an information state consists of the player's bucket and the history of public actions. With
    perfect recall, it also contains the player's earlier buckets and actions. The fields of the compiled rules or, if
    there are none, OpenSpiel's public observer define which actions are public.

    Policies of the result are also policies of the real game: ``mccfr_plus.evaluate(game, policy)`` evaluates them
    exactly in that game.

    Args:
        game: The real game; simultaneous moves are converted to sequential ones, as by `load_game`.
        bucket: A function ``bucket(state, player)`` that maps the real `pyspiel.State`, without changing it, to a
            number, a string or a tuple of these (or any hashable value whose `repr` identifies it). The result must
            depend only on the player's information. Alternatively, a Numba kernel ``bucket(parameters, table, view,
            player)`` that maps `view`, the output of `look` in the game's compiled rules, to a nonnegative integer
            below 2^62. The abstract game is then traversed with compiled rules, at full speed. With perfect recall, a
            state keeps a hash of each player's past.
        recall: ``"imperfect"`` or ``"perfect"``.
        key: A function like `bucket` whose result replaces the history of public actions.

    Raises:
        GameError: If the game cannot be loaded or does not define its public actions; if a bucket is not hashable,
            varies between calls or depends on hidden information; or if states with the same information state have
            different legal actions. The bucket function is called at 1,000 sampled states immediately, and at other
            states when they are needed.
        ConfigError: If an argument has the wrong type, or `bucket` is a kernel and the game has no compiled rules.

    Examples:
        >>> import mccfr_plus
        >>> def is_king(state, player):
        ...     return state.information_state_string(player)[0] == "2"
        >>> game = mccfr_plus.abstract("kuhn_poker", is_king)
        >>> solver = mccfr_plus.Solver(game, "full").run(1000)
        >>> solver.tree.num_infosets, round(solver.evaluate().nash_conv, 2)
        (8, 0.0)
        >>> round(mccfr_plus.evaluate("kuhn_poker", solver.average_policy()).nash_conv, 2)
        0.5
    """
    check_choice("recall", recall, (IMPERFECT, PERFECT))
    for name, given in (("bucket", bucket), ("key", key)):
        if not callable(given) and (name == "bucket" or given is not None):
            raise ConfigError(f"{name}={given!r} is not callable: give a function of (state, player).")
    return AbstractGame(load_game(game), bucket, recall, key)


class AbstractGame(pyspiel.Game):
    """The game of `abstract`.

    Attributes:
        real: The turn-based game.
        recall: ``"imperfect"`` or ``"perfect"``.
        rules_game: Its compiled rules; None if the bucket is not a kernel.
    """

    def __init__(self, real: pyspiel.Game, bucket: Any, recall: str, key: BucketOf | None):
        self.abstraction = _Abstraction(real, bucket, recall, key)
        self.real, self.recall, self.rules_game = real, recall, self.abstraction.rules_game
        self._made_of = real, bucket, recall, key
        names = ["num_distinct_actions", "max_chance_outcomes", "num_players", "min_utility", "max_utility"]
        names += ["utility_sum", "max_game_length"]
        info = pyspiel.GameInfo(**{name: getattr(real, name)() for name in names})
        # The digest is part of the text, so that files and other processes tell buckets apart.
        text = {"buckets": self.abstraction.digest(), "game": str(real), "recall": recall}
        super().__init__(_type_of(real.get_type()), info, text)

    def __reduce__(self) -> tuple:
        for name, given in zip(("bucket", "key"), (self._made_of[1], self._made_of[3]), strict=True):
            try:
                pickle.dumps(given)
            except Exception as error:  # whatever the object raises
                what = f"{self}: {name}={_name(given)} cannot be sent to another process ({type(error).__name__})"
                raise GameError(f"{what}: use a function defined at the top level of a module, not a lambda.") from None
        return _unpickled, (self._made_of, str(self))

    def new_initial_state(self) -> "AbstractState":
        """Returns the state at the start of the game."""
        return AbstractState(self)

    def lifted(self, state: pyspiel.State) -> pyspiel.State:
        """Returns the abstract state of a state of the real game, to be read only; an abstract one as it is."""
        if isinstance(state, AbstractState):
            return state
        result, position = AbstractState(self), self.abstraction.start()
        if self.recall == PERFECT:
            for action in state.history():
                position.play(action)
        result._position = _Position(self.abstraction, state, position.pasts)
        return result

    def make_py_observer(self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: Any = None) -> Any:
        """Returns the observer by which OpenSpiel's C++ code gets information states."""
        string_from = AbstractState.information_state_string  # there are only strings
        return SimpleNamespace(tensor=None, dict={}, set_from=lambda *_: None, string_from=string_from)

    def max_chance_nodes_in_history(self) -> int:
        """Returns the maximum number of chance nodes in a history."""
        return self.real.max_chance_nodes_in_history()


def _unpickled(made_of: tuple, name: str) -> AbstractGame:
    """Returns the game from another process; GameError if the function is another one here."""
    game = AbstractGame(*made_of)
    if str(game) != name:
        raise GameError(
            f"{name} has buckets other than those of {game}: use the same bucket function in both processes."
        )
    return game


def is_abstraction(game: Any, real: pyspiel.Game) -> bool:
    """Returns whether a game is an abstraction of another one."""
    return isinstance(game, AbstractGame) and str(game.real) == str(real)


def _type_of(real: pyspiel.GameType) -> pyspiel.GameType:
    return pyspiel.GameType(
        short_name="abstract",
        long_name=f"Abstraction of {real.long_name}",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=real.chance_mode,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=real.utility,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=real.max_num_players,
        min_num_players=real.min_num_players,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=False,
        provides_observation_tensor=False,
    )


def _of_real(name: str) -> Any:
    """Returns a method of states that does what it does in the real game."""
    return lambda self, *arguments: getattr(self._position.state, name)(*arguments)


class AbstractState(pyspiel.State):
    """A state of an `AbstractGame`: one of the real game, of which a player sees less."""

    def __init__(self, game: AbstractGame):
        super().__init__(game)
        self._position = game.abstraction.start()

    current_player, is_terminal, is_chance_node = map(_of_real, ("current_player", "is_terminal", "is_chance_node"))
    chance_outcomes, returns, history, __str__ = map(_of_real, ("chance_outcomes", "returns", "history", "__str__"))
    legal_actions = _legal_actions = _of_real("legal_actions")
    _action_to_string = _of_real("action_to_string")

    def _apply_action(self, action: int) -> None:
        self._position.play(action)

    def information_state_string(self, player: int | None = None) -> str:
        """Returns the bucket and what else a player knows as a text; None for the player to move."""
        return self._position.info_state(self.current_player() if player is None else player)


class _Abstraction:
    """What the states of an abstract game share. Not the game: OpenSpiel may put another object in its place."""

    def __init__(self, real: pyspiel.Game, bucket: Any, recall: str, key: BucketOf | None):
        self.real, self.recall, rules = real, recall, compiled_rules(real)
        self.rules_game: AbstractRules | None = None
        self._known: dict[tuple[int, str], tuple[list[int], list[int]]] = {}  # legal actions and history
        self._bucket: BucketOf = bucket
        given: RulesGame | None = rules
        # Without compilation, a kernel is a plain function.
        has_kernel = hasattr(bucket, "py_func") or hasattr(bucket, "kernel")
        if has_kernel or (is_kernel(bucket) and source_of(bucket).__code__.co_argcount == 4):
            if rules is None:
                raise ConfigError(f"{_name(bucket)} is a kernel, but {why_no_rules(real)} Give a plain function.")
            if key is not None:
                raise ConfigError(
                    "key= cannot be combined with a bucket that is a kernel: give a function bucket(state, player)."
                )
            given = self.rules_game = made = AbstractRules(rules, bucket, recall == PERFECT)
            self._bucket = lambda state, player: made.bucket_after(state.history(), player)
        self.has_key, self.public = key is not None, self._public_text(given, key)

    def start(self) -> "_Position":
        """Returns the initial position."""
        return _Position(self, self.real.new_initial_state(), ("",) * self.real.num_players())

    def bucket(self, state: pyspiel.State, player: int) -> str:
        return self._text(self._bucket, "bucket", state, player)

    def _text(self, function: BucketOf, name: str, state: pyspiel.State, player: int) -> str:
        """Returns a bucket or key as ``name=text``."""
        where = f"for player {player} of {self.real} at history {state.history()}"
        try:
            value = function(state, player)
        except Exception as error:
            raise GameError(f"{name} raised {type(error).__name__} {where}: {error}") from error
        text, fault = _repr(value), "" if isinstance(value, Hashable) else "is not hashable"
        fault = fault or ("has no text of its own" if " at 0x" in text else "")
        if fault:
            what = f"{name} returned {shortened(text)} {where}, which {fault}"
            raise GameError(f"{what}: return a number, a string, or a tuple of numbers and strings.")
        return f"{name}={text}"

    def _public_text(self, rules: RulesGame | None, key: BucketOf | None) -> Callable[[pyspiel.State, int], str]:
        """Returns the function that writes the player and what is public, or the key."""
        if key is not None:
            return lambda state, player: f"player={player} {self._text(key, 'key', state, player)}"
        if rules is not None:
            places = rules.sizes.places(NOW, private=False)

            def by_rules(state: pyspiel.State, player: int) -> str:
                view = rules.look(rules.words_after(state.history()), player).tolist()
                return RulesGame.view_text(rules, player, view, places)

            return by_rules
        private = pyspiel.PrivateInfoType.NONE
        kind = pyspiel.IIGObservationType(perfect_recall=True, public_info=True, private_info=private)
        try:
            with quiet_openspiel():
                observer = make_observation(self.real, kind)
                observer.string_from(self.real.new_initial_state(), 0)
        except Exception:  # of many kinds; there is no observer if it is not supported
            what = f"{self.real} has neither compiled rules nor a public observer that say which actions are public"
            raise GameError(f"{what}: give key=, a function of (state, player).") from None
        return lambda state, player: f"player={player} public={observer.string_from(state, player)}"

    def check_actions(self, state: pyspiel.State, player: int, info_state: str) -> None:
        """Raises GameError if the information state is known with other legal actions."""
        here = state.legal_actions(), state.history()
        has_room = len(self._known) < _COMPARED
        known = (self._known.setdefault if has_room else self._known.get)((player, info_state), here)
        if known[0] != here[0]:
            raise GameError(
                f"histories {known[1]} and {here[1]} of {self.real} share the information state {info_state!r} of "
                f"player {player}, but have different legal actions, {known[0]} and {here[0]}: give a finer "
                "bucket or key."
            )

    def digest(self) -> str:
        """Returns a digest of the information states at sampled decision nodes, the same in each process.

        GameError if a bucket varies between calls, or between states that are the same to the player.
        """
        digest, rng, left = hashlib.blake2b(digest_size=8), random.Random(0), _SAMPLED
        met: dict[tuple[int, str], tuple[str, list[int]]] = {}
        for _ in range(_SAMPLED):
            position = self.start()
            while left and (node := read_node(self.real, position.state))[1]:
                (player, actions, _), state = node, position.state
                if player >= 0:
                    digest.update(position.info_state(player).encode())
                    here = self.public(state, player) + self.bucket(state, player), state.history()
                    known = met.setdefault((player, state.information_state_string()), here)
                    if known[0] != here[0] or not here[0].endswith(self.bucket(state, player)):
                        raise GameError(
                            f"bucket or key returned different values for player {player} of {self.real} at histories "
                            f"{known[1]} and {here[1]}, which the player cannot tell apart: make bucket and key depend "
                            "only on what the player knows."
                        )
                    left -= 1
                position.play(rng.choice(actions))
        return digest.hexdigest()


class _Position:
    """A state of the real game and the players' own buckets and actions so far. One object, as OpenSpiel copies it."""

    __slots__ = ("abstraction", "pasts", "state")

    def __init__(self, abstraction: _Abstraction, state: pyspiel.State, pasts: tuple[str, ...]):
        self.abstraction, self.state, self.pasts = abstraction, state, pasts

    def __deepcopy__(self, memo: dict) -> "_Position":
        return _Position(self.abstraction, self.state.clone(), self.pasts)

    def play(self, action: int) -> None:
        player = self.state.current_player()
        if self.abstraction.recall == PERFECT and player >= 0 and self.abstraction.rules_game is None:
            # The history of public actions tells the earlier ones; a key need not.
            key = f"{self.abstraction.public(self.state, player)} " if self.abstraction.has_key else ""
            past = f"{self.pasts[player]}({key}{self.abstraction.bucket(self.state, player)} {action})"
            self.pasts = (*self.pasts[:player], past, *self.pasts[player + 1 :])
        self.state.apply_action(action)

    def info_state(self, player: int) -> str:
        own, state = self.abstraction, self.state
        past, rules = f" past={self.pasts[player]}" if own.recall == PERFECT else "", own.rules_game
        if past and rules is not None:  # a hash, by the compiled rules
            past = f" past={rules.look(rules.words_after(state.history()), player)[-2]}"
        text = f"{own.public(state, player)}{past} {own.bucket(state, player)}"
        if player == state.current_player():
            own.check_actions(state, player, text)
        return text


def _repr(value: Any) -> str:
    """Returns the repr of a bucket: equal numbers have one, and the elements of sets a fixed order."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool | float) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_repr, value)))}}}"
    return f"({', '.join(map(_repr, value))})" if type(value) is tuple else repr(value)


def _name(function: Any) -> str:
    return getattr(source_of(function), "__qualname__", shortened(function))
