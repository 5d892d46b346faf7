"""The compiled rules of an abstraction, in which players know a bucket instead of their private information."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import NOW, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind, required_slot

_MOST_BUCKETS = 1 << 62  # a word of a key has 63 bits


@required_slot
def LOOK(parameters, table, state, player, view): ...
@required_slot
def BUCKET(parameters, table, view, player): ...


@kernel
def _look(parameters, table, state, player, view):
    """Writes what the player knows in the real game, and then the bucket."""
    size = len(view) - 1
    LOOK(parameters, table, state, player, view[:size])
    view[size] = BUCKET(parameters, table, view[:size], player)


@functools.cache  # one kernel for all objects, so that it is compiled once
def _abstract_rules(rules: Rules, bucket: Any) -> Rules:
    return replace(rules, look=bind(_look, {LOOK: rules.look, BUCKET: bucket}))


class AbstractRules(RulesGame):
    """The compiled rules of an abstraction with imperfect recall: the bucket replaces private fields in what is known.

    A bucket is a kernel, or has one, the names of public fields that it also replaces (`hidden`), and parameters.

    With `in_real_game`, information sets are those of the real game (by `observe`), under the keys of the abstraction:
    that is how a policy of the abstraction is evaluated in the real game.
    """

    short_name, long_name = "abstract", "Abstraction"

    def __init__(self, real: RulesGame, bucket: Any, in_real_game: bool = False):
        self._real, self._bucket, self._in_real_game = real, bucket, in_real_game
        rules = _abstract_rules(real.rules, getattr(bucket, "kernel", bucket))
        self.rules = rules if in_real_game else replace(rules, observe=None)  # type: ignore[misc]
        super().__init__()

    def __reduce__(self) -> tuple:
        return AbstractRules, (self._real, self._bucket, self._in_real_game)

    def of_real_game(self) -> "AbstractRules":
        """Returns these rules with `in_real_game`."""
        return AbstractRules(self._real, self._bucket, in_real_game=True)

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
        real, hidden = self._real, getattr(self._bucket, "hidden", ())
        fields = [
            replace(each, name=f"real {each.name}", when=NOW) if each.private or each.name in hidden else each
            for each in real.sizes.fields
        ]
        return replace(
            real.sizes,
            fields=(*fields, Field("bucket", _MOST_BUCKETS, private=True)),
            table=lambda: real.table,
            parameters=self._bucket.parameters(real) if hasattr(self._bucket, "parameters") else real.parameters,
            perfect_recall=self._in_real_game and real.sizes.perfect_recall,
            symmetries=(),
        )
