"""The compiled rules of an abstraction, in which players know a bucket instead of their private information."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import MOVER, NOW, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.slots import Constant, bind, required_slot

_MOST_BUCKETS = 1 << 62  # a word of a key has 63 bits

# With perfect recall a state has further words after those of the real game.
PASTS = Constant("PASTS", 0, "Where the players' pasts begin, each a hash of own buckets and actions; 0: nowhere.")
ROOM = Constant("ROOM", 1, "Where the room for what `look` writes begins, of zeros.")


@required_slot
def LOOK(parameters, table, state, player, view): ...
@required_slot
def BUCKET(parameters, table, view, player): ...
@required_slot
def APPLY(parameters, table, state, action): ...


@kernel
def _look(parameters, table, state, player, view):
    """Writes what the player knows in the real game, the past if there is one, and then the bucket."""
    size = len(view) - (2 if PASTS() else 1)
    LOOK(parameters, table, state[: PASTS()] if PASTS() else state, player, view[:size])
    if PASTS():
        view[size] = state[PASTS() + player]
    view[len(view) - 1] = BUCKET(parameters, table, view[:size], player)


@inline_kernel
def _mixed(past, number):
    word = (np.uint64(past) ^ np.uint64(number + 1)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64((word ^ (word >> np.uint64(29))) >> np.uint64(2))


@kernel
def _apply(parameters, table, state, action):
    """Plays an action; a player's past then contains it and the bucket."""
    player, view = state[MOVER], state[ROOM() :]
    if player >= 0:
        LOOK(parameters, table, state[: PASTS()], player, view)
        past = _mixed(state[PASTS() + player], BUCKET(parameters, table, view, player))
        state[PASTS() + player] = _mixed(past, action)
        for entry in range(len(view)):
            view[entry] = 0
    APPLY(parameters, table, state[: PASTS()], action)


@functools.cache  # one kernel for all objects, so that it is compiled once
def _abstract_rules(rules: Rules, bucket: Any, pasts: int, room: int) -> Rules:
    filled: dict[Any, Any] = {LOOK: rules.look, BUCKET: bucket, PASTS: pasts}
    applied = bind(_apply, {**filled, ROOM: room, APPLY: rules.apply}) if pasts else rules.apply
    return replace(rules, look=bind(_look, filled), apply=applied)


class AbstractRules(RulesGame):
    """The compiled rules of an abstraction: the bucket, and if it `recalls` the past, replace private fields.

    A bucket is a kernel, or has one, the names of public fields that it also replaces (`hidden`), and parameters.

    With `in_real_game`, information sets are those of the real game (by `observe`), under the keys of the abstraction:
    that is how a policy of the abstraction is evaluated in the real game.
    """

    short_name, long_name = "abstract", "Abstraction"

    def __init__(self, real: RulesGame, bucket: Any, recalls: bool, in_real_game: bool = False):
        self._real, self._bucket, self._recalls, self._in_real_game = real, bucket, recalls, in_real_game
        pasts = real.sizes.state_size if recalls else 0
        rules = _abstract_rules(real.rules, getattr(bucket, "kernel", bucket), pasts, pasts + real.sizes.num_players)
        self.rules = rules if in_real_game else replace(rules, observe=None)  # type: ignore[misc]
        super().__init__()

    def __reduce__(self) -> tuple:
        return AbstractRules, (self._real, self._bucket, self._recalls, self._in_real_game)

    def of_real_game(self) -> "AbstractRules":
        """Returns these rules with `in_real_game`."""
        return AbstractRules(self._real, self._bucket, self._recalls, in_real_game=True)

    def __str__(self) -> str:
        return f"an abstraction of {self._real}"

    def bucket_after(self, history: Sequence[int], player: int) -> int:
        """Returns the bucket of a player after a history; ValueError if it is out of range."""
        real = self._real
        view = real.look(real.words_after(history), player)
        kernel = getattr(self._bucket, "kernel", self._bucket)
        bucket = int(kernel(self.parameters, real.table, view, player))
        if not 0 <= bucket < _MOST_BUCKETS:
            raise ValueError(f"{bucket} is not in 0 .. 2^62 - 1")
        return bucket

    def layout(self, parameters: Parameters) -> Layout:  # type: ignore[override]
        """Returns the sizes of the real game, with other fields."""
        real, names = self._real, ("past", "bucket") if self._recalls else ("bucket",)
        hidden = getattr(self._bucket, "hidden", ())
        fields = [
            replace(each, name=f"real {each.name}", when=NOW) if each.private or each.name in hidden else each
            for each in real.sizes.fields
        ]
        return replace(
            real.sizes,
            state_size=real.sizes.state_size + self._recalls * (real.sizes.num_players + real.sizes.view_size),
            fields=(*fields, *(Field(name, _MOST_BUCKETS, private=True) for name in names)),
            table=lambda: real.table,
            parameters=self._bucket.parameters(real) if hasattr(self._bucket, "parameters") else real.parameters,
            perfect_recall=(self._recalls or self._in_real_game) and real.sizes.perfect_recall,
            symmetries=(),
        )
