"""The arrays with which kernels ask pyspiel themselves, and the states that they keep."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyspiel

from mccfr_plus.kernels.intrinsics import address_of
from mccfr_plus.python_api import NUM_CALLABLES, addresses, release_objects
from mccfr_plus.tree import asking

_MOST_PLACES = 1 << 21  # for states


class ShortCut:
    """What `asking` works with.

    Args:
        game: A game whose states are C++ objects; see `can_ask`.
        places: The tree's arrays.
        digest_size: Bytes of a key.
        num_states: How many states may be kept.
        num_threads: How many threads may ask.
    """

    def __init__(self, game: pyspiel.Game, places: Any, digest_size: int, num_states: int, num_threads: int):
        # The functions under the methods: so no bound method is made for each call.
        names = ("child", "current_player", "information_state_string", "legal_actions", "returns", "apply_action")
        self._callables = [getattr(pyspiel.State.__dict__[name], "__func__") for name in names]  # noqa: B009
        self._api = addresses(self._callables)
        num_places = 1 << min(max(num_states, 1), _MOST_PLACES).bit_length() - 1
        self._root = game.new_initial_state()
        self._kept_nodes = np.zeros(num_places, np.int64)
        self._kept_states = np.zeros(num_places, np.int64)
        self._memo = np.zeros((asking.NUM_MEMO, 1 + game.num_players()), np.int64)
        self.scratch = np.zeros((num_threads, asking.NUM_SCRATCH), np.int64)
        self.array = np.zeros(asking.NUM_ENTRIES, np.int64)
        self.array[asking.API] = address_of(self._api)
        self.array[asking.NODES] = address_of(places.nodes)
        self.array[asking.PARENTS] = address_of(places.parents)
        self.array[asking.SLOT_ACTIONS] = address_of(places.slot_actions)
        self.array[asking.OUTCOME_ACTIONS] = address_of(places.outcome_actions)
        self.array[asking.KEPT_NODES] = address_of(self._kept_nodes)
        self.array[asking.KEPT_STATES] = address_of(self._kept_states)
        self.array[asking.PAYOFFS] = address_of(places.payoffs)
        self.array[asking.ROOT_STATE] = id(self._root)
        self.array[asking.MEMO] = address_of(self._memo)
        self.array[asking.NUM_PLACES] = num_places
        self.array[asking.NUM_PLAYERS] = game.num_players()
        self.array[asking.DIGEST_SIZE] = digest_size
        self.array[asking.MOST_ACTIONS] = places.answers.shape[1] - asking.ANSWER_ACTIONS

    @staticmethod
    def can_ask(game: pyspiel.Game) -> bool:
        """Returns whether kernels can ask a game: not if it is written in Python, nor without compiled kernels."""
        is_native = type(game.new_initial_state()).__module__.partition(".")[0] == "pyspiel"
        is_compiled = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
        return is_native and is_compiled and len(addresses([None] * NUM_CALLABLES)) > 0

    def evict_states(self, max_node: int) -> None:
        """Forgets the states of all nodes from a number on. Not while a traversal is under way."""
        old = (self._kept_states != 0) & (self._kept_nodes > max_node)
        states = self._kept_states[old].tolist()
        self._kept_states[old] = 0
        self._kept_nodes[old] = 0
        last = self.scratch[:, asking.LAST_STATE]
        states += last[last != 0].tolist()
        self.scratch[:, [asking.LAST_NODE, asking.LAST_STATE]] = 0
        release_objects(states)

    def forget_payoffs(self) -> None:
        """Forgets in which rows payoffs stand."""
        self._memo[:] = 0

    def __del__(self) -> None:
        if hasattr(self, "array"):
            self.evict_states(-1)
