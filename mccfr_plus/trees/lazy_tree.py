"""A lazily expanded tree: the arrays of a compiled one, filled where traversals have been."""

import numpy as np
import pyspiel

from mccfr_plus.errors import GameError
from mccfr_plus.kernels.intrinsics import address_of, callback
from mccfr_plus.trees import expansion
from mccfr_plus.trees.arrays import INFOSET, NODE, OUTCOME, Shape
from mccfr_plus.trees.expander import Expander, Places
from mccfr_plus.trees.expanding_tree import SIZES, ExpandingTree
from mccfr_plus.trees.info_states import Keys
from mccfr_plus.trees.loading import different_actions, game_error, load_game
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

    def __init__(self, game: pyspiel.Game | str, plan: MemoryPlan, threads: int = 1):
        game = load_game(game)
        self.keys, self.threads = Keys(), threads
        num_players, total = game.num_players(), plan.max_nodes
        width = expansion.ANSWER_ACTIONS + max(game.num_distinct_actions(), num_players)
        num_outcomes = total + game.max_chance_outcomes()  # those of a chance node are written before its children
        self._places = places = Places(
            nodes=np.zeros(total, NODE),
            parents=np.zeros(total, np.int32),
            infosets=np.zeros(plan.max_infosets, INFOSET),
            keys=np.zeros((plan.max_infosets, 2), np.int64),
            table=np.zeros(max(1 << (2 * plan.max_infosets - 1).bit_length(), _FIRST_TABLE), np.int32),
            slot_actions=np.zeros(plan.max_slots, np.int64),
            answers=np.zeros((threads, width), np.int64),
            payoffs=np.zeros((total, num_players)),
            chance=np.zeros(num_outcomes, OUTCOME),
            outcome_actions=np.zeros(num_outcomes, np.int64),
            expansion=np.zeros(expansion.NUM_EXPANSION, np.int64),
        )
        self.slot_action, self._info_keys, self.node_capacity = places.slot_actions, places.keys, total
        max_depth = game.max_game_length() + game.max_chance_nodes_in_history() + 1
        stored = {name: getattr(places, name) for name in ("nodes", "payoffs", "chance", "infosets", "expansion")}
        super().__init__(game, plan, Shape(max_depth, max_stack=total, perfect_recall=True), **stored)

    # --- lazy ---

    def attach(self, ones: np.ndarray | None, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        strategy = super().attach(ones, check_depth=check_depth, single_trajectory=single_trajectory)
        places, max_depth = self._places, self.shape.max_depth if check_depth else None
        self.expander = Expander(self.game, places, self.plan.state_bytes, max_depth, single_trajectory)
        self._callback = callback(self.expander.answer)
        words = places.expansion
        words[expansion.CALLBACK] = address_of(self._callback)
        for entry in range(expansion.NODES, expansion.ANSWERS + 1):
            words[entry] = address_of(places[entry - expansion.NODES])
        words[expansion.ANSWER_WIDTH] = places.answers.shape[1]
        words[expansion.NUM_NODES], words[expansion.TABLE_SIZE] = 1, _FIRST_TABLE
        words[expansion.PAYOFF_COST], words[expansion.OUTCOME_COST] = _PAYOFF_COST * self.num_players, _OUTCOME_COST
        return strategy

    @property
    def tables(self) -> expansion.Tables:
        """The arrays that expansion writes."""
        nodes, parents, infosets, keys, _, slot_actions, *_, words = self._places
        return expansion.Tables(nodes, parents, infosets, keys, slot_actions, self._bound[0], words)

    def check(self) -> None:
        status, error, self.expander.error = self.count(expansion.STATUS), self.expander.error, None
        if status in (expansion.FAILED, expansion.ACTIONS_DIFFER):
            self._places.expansion[expansion.STATUS] = expansion.EXPANDING
        if status == expansion.FAILED:
            raise error or GameError(f"{self.game} was asked for a node, and an error came before it could answer.")
        if status == expansion.ACTIONS_DIFFER:
            history = self.expander.actions_to(self.count(expansion.CONFLICT_NODE))
            state = self.game.new_initial_state()
            for action in history:
                state.apply_action(action)
            known = self.legal_actions(self.count(expansion.CONFLICT_INFOSET))
            info_state, player = state.information_state_string(), state.current_player()
            raise game_error(self.game, history, different_actions(info_state, player, known, state.legal_actions()))

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
        self._places.nodes[: self.num_nodes] = 0
        self.expander.clear()

    def end_loading(self, sizes: Sizes) -> None:
        super().end_loading(sizes)
        expansion.enter(self.tables, 0)

    def __reduce__(self) -> tuple:
        return LazyTree, (self.game, self.plan, self.threads)

    # --- sizes ---

    @property
    def num_nodes(self) -> int:
        return self.count(expansion.NUM_NODES)

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
