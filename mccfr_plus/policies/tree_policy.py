"""OpenSpiel's tabular policy, backed by a strategy array."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.errors import PolicyError
from mccfr_plus.policies.table import JointTablePolicy, PolicyTable, table_of_tree
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.order import openspiel_order, representative_states


class TreePolicy(JointTablePolicy, openspiel_policy.TabularPolicy, Mapping):
    """A joint policy of all players: an `open_spiel.python.policy.TabularPolicy`.

    Its indexed attributes (``states``, ``action_probability_array``, ...) are built on first use; writing to
    ``action_probability_array`` changes the policy. It is also a mapping from information state strings to
    ``[(action, probability), ...]``, which `pyspiel.exploitability` and `pyspiel.nash_conv` accept. Later iterations of
    a solver do not change it.

    Args:
        tree: The game.
        strategy: ``[num_slots]`` float64, probabilities that sum to 1 at each infoset. Copied.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.Solver("kuhn_poker", estimator="full")
        >>> policy = solver.run(100).average_policy()
        >>> pyspiel.exploitability(pyspiel.load_game("kuhn_poker"), policy) < 0.05
        True
    """

    def __init__(self, tree: GameTree, strategy: np.ndarray):
        # Not TabularPolicy's own, which traverses the game.
        openspiel_policy.Policy.__init__(self, tree.game, list(range(tree.num_players)))
        self.tree = tree
        self.num_infosets, self.game_type = tree.num_infosets, tree.game.get_type()
        self._strategy = np.array(strategy, np.float64)
        if self._strategy.shape != (tree.num_slots,):
            shape, pairs = self._strategy.shape, f"{tree.num_slots} (information state, action) pairs"
            raise PolicyError(f"a strategy of shape {shape} does not fit {tree.game}, which has {pairs}.")

    def strategy(self) -> np.ndarray:
        """Returns a copy of the probabilities, ``[num_slots]`` float64."""
        if "action_probability_array" in self.__dict__:
            return self.action_probability_array[self._row_of[self.tree.infoset_of_slot], self.tree.slot_action]
        return self._strategy.copy()

    def _row_at(self, state: pyspiel.State, player: int) -> dict[int, float]:
        infoset = self.tree.infoset_of_state(state, player)
        if infoset is None:
            text = state.information_state_string(player)
            raise PolicyError(f"information state {text!r} of player {player} does not occur in {self.game}.")
        return dict(self._actions_and_probabilities(infoset))

    def _actions_and_probabilities(self, infoset: int) -> list[tuple[int, float]]:
        actions = self.tree.legal_actions(infoset)
        if "action_probability_array" in self.__dict__:
            row = self.action_probability_array[self._row_of[infoset]]
            return [(action, float(row[action])) for action in actions]
        return list(zip(actions, self._strategy[self.tree.slots(infoset)].tolist(), strict=True))

    # --- the mapping ---

    def __getitem__(self, info_state: str) -> list[tuple[int, float]]:
        infoset = self.tree.infoset(info_state) if isinstance(info_state, str) else None
        if infoset is None:
            raise KeyError(info_state)
        return self._actions_and_probabilities(infoset)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    @cached_property
    def _texts(self) -> Sequence[str]:
        """The information states. PolicyError if players share some, which a mapping by text cannot tell apart."""
        ((text, count),) = Counter(self.tree.info_states).most_common(1) or [("", 0)]
        if count > 1:
            raise PolicyError(
                f"players of {self.game} share information states such as {text!r}, which a table by text cannot tell "
                "apart. Use this policy as it is."
            )
        return self.tree.info_states

    def __len__(self) -> int:
        return self.num_infosets

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    # --- attributes of OpenSpiel's TabularPolicy, built on first use ---

    @cached_property
    def _order(self) -> np.ndarray:
        return openspiel_order(self.tree)

    @cached_property
    def _row_of(self) -> np.ndarray:
        return np.argsort(self._order)  # the inverse permutation

    @cached_property
    def state_lookup(self) -> dict[str, int]:  # type: ignore[override]
        lookup: dict[str, int] = {}
        for row, infoset in enumerate(self._order):
            lookup.setdefault(self.tree.info_states[infoset], row)
        return lookup

    @cached_property
    def states_per_player(self) -> list[list[str]]:  # type: ignore[override]
        ranges = itertools.pairwise(self.tree.arrays.infoset_range)
        return [[self.tree.info_states[i] for i in self._order[first:last]] for first, last in ranges]

    @cached_property
    def states(self) -> list[pyspiel.State]:  # type: ignore[override]
        return representative_states(self.tree, self._order)

    @cached_property
    def state_in(self) -> np.ndarray | None:  # type: ignore[override]
        if self.game_type.provides_information_state_tensor:
            return np.array([s.information_state_tensor() for s in self.states])
        if self.game_type.provides_observation_tensor:
            return np.array([s.observation_tensor() for s in self.states])
        return None

    @cached_property
    def legal_actions_mask(self) -> np.ndarray:  # type: ignore[override]
        mask = np.zeros((self.tree.num_infosets, self.game.num_distinct_actions()), np.int64)
        mask[self._row_of[self.tree.infoset_of_slot], self.tree.slot_action] = 1
        return mask

    @cached_property
    def action_probability_array(self) -> np.ndarray:  # type: ignore[override]
        table = np.zeros((self.tree.num_infosets, self.game.num_distinct_actions()))
        table[self._row_of[self.tree.infoset_of_slot], self.tree.slot_action] = self._strategy
        return table

    # --- conversions ---

    def to_tabular(self, states: dict | None = None) -> openspiel_policy.TabularPolicy:
        """Returns a plain `TabularPolicy` of OpenSpiel with the same probabilities, of the turn-based game."""
        return self.__copy__() if states is None else super().to_tabular(states)

    def to_pyspiel(self) -> pyspiel.TabularPolicy:
        """Returns a C++ tabular policy with the same probabilities, for pyspiel's own functions and bots."""
        return pyspiel.TabularPolicy({text: self._actions_and_probabilities(i) for i, text in enumerate(self._texts)})

    def to_table(self, most: int | None = None) -> PolicyTable:
        return table_of_tree(self.tree, self.strategy(), most)

    def __repr__(self) -> str:
        return f"TreePolicy({str(self.game)!r}, {len(self):,} information states)"

    def __reduce__(self) -> tuple:
        return type(self), (self.tree, self.strategy())
