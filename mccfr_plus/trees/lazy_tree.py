"""A lazily expanded tree: the arrays of a compiled one, filled where traversals have been."""

from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.kernels.intrinsics import address_of, callback
from mccfr_plus.trees import expansion as g
from mccfr_plus.trees.arrays import INFOSET, NODE, OUTCOME, Shape
from mccfr_plus.trees.expander import Expander, Places
from mccfr_plus.trees.expanding_tree import SIZES, ExpandingTree
from mccfr_plus.trees.game_errors import different_actions, game_error
from mccfr_plus.trees.keys import Keys
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.memory import MemoryPlan
from mccfr_plus.trees.needs import NODES
from mccfr_plus.trees.tree import Sizes

_FIRST_TABLE = 1 << 12

NODE_COST = NODE.itemsize + 4  # bytes of a node and its parent
_KEY_COST, _TABLE_COST, _TOUCHED_COST = 16, 16, 12
INFOSET_COST = INFOSET.itemsize + _KEY_COST + _TABLE_COST + _TOUCHED_COST  # bytes of an infoset without its slots
SLOT_ACTION_COST = 8  # bytes of a slot in the tree
_PAYOFF_COST = 8  # bytes of a player's payoff
_OUTCOME_COST = OUTCOME.itemsize + 8  # bytes of a chance event's outcome and its action


class LazyTree(ExpandingTree):
    """A game whose nodes are expanded through pyspiel when they are first sampled.

    Args:
        game: A `pyspiel.Game` or a game string.
        threads: How many threads may traverse it at once.
    """

    kind = "lazy"
    provides = frozenset({NODES})

    def __init__(
        self,
        game: pyspiel.Game | str,
        plan: MemoryPlan,
        threads: int = 1,
    ):
        game = load_game(game)
        self.keys = Keys()
        self.threads = threads
        num_players, total = game.num_players(), plan.max_nodes
        width = g.ANSWER_ACTIONS + max(game.num_distinct_actions(), num_players)
        self._places = Places(
            nodes=np.zeros(total, NODE),
            parents=np.zeros(total, np.int32),
            infosets=np.zeros(plan.max_infosets, INFOSET),
            keys=np.zeros((plan.max_infosets, 2), np.int64),
            table=np.zeros(max(1 << (2 * plan.max_infosets - 1).bit_length(), _FIRST_TABLE), np.int32),
            slot_actions=np.zeros(plan.max_slots, np.int64),
            answers=np.zeros((threads, width), np.int64),
            payoffs=np.zeros((total, num_players)),
            chance=np.zeros(total, OUTCOME),
            outcome_actions=np.zeros(total, np.int64),
            expansion=np.zeros(g.NUM_EXPANSION, np.int64),
        )
        self.slot_action, self._info_keys = self._places.slot_actions, self._places.keys
        max_depth = game.max_game_length() + game.max_chance_nodes_in_history() + 1
        stored = {name: getattr(self._places, name) for name in ("nodes", "payoffs", "chance", "infosets", "expansion")}
        super().__init__(game, plan, Shape(max_depth, max_stack=total, perfect_recall=True), **stored)
        self.node_capacity = total

    # --- lazy ---

    def attach(self, ones: np.ndarray | None, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        strategy = super().attach(ones, check_depth=check_depth, single_trajectory=single_trajectory)
        self.expander = Expander(
            self.game,
            self._places,
            self.plan.state_bytes,
            self.shape.max_depth if check_depth else None,
            single_trajectory,
        )
        self._callback = callback(self.expander.answer)
        expansion = self._places.expansion
        expansion[g.CALLBACK] = address_of(self._callback)
        for entry in range(g.NODES, g.ANSWERS + 1):
            expansion[entry] = address_of(self._places[entry - g.NODES])
        expansion[g.ANSWER_WIDTH] = self._places.answers.shape[1]
        expansion[g.NUM_NODES], expansion[g.TABLE_SIZE] = 1, _FIRST_TABLE
        expansion[g.PAYOFF_COST] = _PAYOFF_COST * self.num_players
        expansion[g.OUTCOME_COST] = _OUTCOME_COST
        return strategy

    def check(self) -> None:
        status, error, self.expander.error = self.count(g.STATUS), self.expander.error, None
        if status in (g.FAILED, g.ACTIONS_DIFFER):
            self._places.expansion[g.STATUS] = g.EXPANDING
        if status == g.FAILED:
            raise error or GameError(f"{self.game} was asked for a node, and an error came before it could answer.")
        if status == g.ACTIONS_DIFFER:
            raise self._conflict()

    def _conflict(self) -> Exception:
        """Returns the error for a node whose infoset has other legal actions than were found before."""
        node, infoset = self.count(g.CONFLICT_NODE), self.count(g.CONFLICT_INFOSET)
        state = self.expander.state_at(node)
        info_state, player = state.information_state_string(), state.current_player()
        error = different_actions(info_state, player, self.legal_actions(infoset), state.legal_actions())
        return game_error(self.game, self.expander.actions_to(node), error)

    # --- the state ---

    def sizes(self) -> Sizes:
        return Sizes(*map(self.count, SIZES))

    def _cost(self, sizes: Sizes) -> int:
        rows = sizes.payoffs * _PAYOFF_COST * self.num_players + sizes.outcomes * _OUTCOME_COST
        return super()._cost(sizes) + sizes.nodes * self.plan.node_cost + rows

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        nodes, infosets, slots, payoffs, outcomes, _ = sizes
        counts = {"nodes": nodes, "parents": nodes, "infosets": infosets, "keys": infosets}
        counts |= {"slot_actions": slots, "payoffs": payoffs, "chance": outcomes, "outcome_actions": outcomes}
        return {name: getattr(self._places, name)[:count] for name, count in counts.items()}

    def begin_loading(self) -> None:
        self._places.nodes[: self.count(g.NUM_NODES)] = 0
        self.expander.clear()

    def end_loading(self, sizes: Sizes) -> None:
        expansion = self._places.expansion
        super().end_loading(sizes)
        while expansion[g.TABLE_SIZE] < 2 * sizes.infosets:
            expansion[g.TABLE_SIZE] *= 2
        g.enter_all(expansion)

    def __getstate__(self) -> dict:
        return {
            "game": self.game,
            "plan": self.plan,
            "threads": self.threads,
        }

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)  # type: ignore[misc]

    # --- sizes ---

    @property
    def num_nodes(self) -> int:
        return self.count(g.NUM_NODES)

    def _find(self, info_state: str, player: int) -> int | None:
        words = self.keys.find(info_state)
        is_it = (self.found_keys == words).all(axis=1) & (self.found_infosets["player"] == player)
        found = np.flatnonzero(is_it)
        if len(found) > 1:
            raise GameError(
                f"player {player} comes to the information state {info_state!r} by {len(found)} different own pasts, "
                f"and {self.game.get_type().short_name} does not tell them apart: there is no single infoset."
            )
        return int(found[0]) if len(found) else None

    @property
    def info_states(self) -> Sequence[str]:
        """Per infoset found, its information state string.

        Raises:
            ConfigError: Always, as only hashes are kept.
        """
        raise ConfigError("this lazy tree keeps hashes of information states, not the texts: use tree='compiled'.")
