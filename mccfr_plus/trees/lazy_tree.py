"""A lazily expanded tree: the arrays of a compiled one, filled where traversals have been."""

from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.kernels.intrinsics import address_of, callback
from mccfr_plus.trees import expansion as g
from mccfr_plus.trees.arrays import INFOSET, NODE, OUTCOME, Shape
from mccfr_plus.trees.expander import Expander, Places
from mccfr_plus.trees.expanding_tree import SIZES, ExpandingTree, Sizes
from mccfr_plus.trees.game import WrongAnswerError, different_actions, game_error, load_game
from mccfr_plus.trees.keys import TEXT_OVERHEAD, Keys
from mccfr_plus.trees.memory import MemoryPlan, release_unused, resident_bytes

_MAX_PAYOFFS, _MAX_OUTCOMES = 1 << 20, 1 << 22
_FIRST_TABLE = 1 << 12
_POLICY_SHARE = 0.45  # of the cost of infosets: for the making of a policy, beside pages that kept states do not free
_LEAST_EXTENSION = 0.01  # of the limit

NODE_COST = NODE.itemsize + 4  # bytes of a node and its parent
_KEY_COST, _CHECK_COST, _TABLE_COST, _TOUCHED_COST = 16, 8, 16, 12
SLOT_ACTION_COST = 8  # bytes of a slot in the tree


def infoset_cost(keys: Keys) -> int:
    """Returns the bytes of an infoset without its slots, and without its text, which is counted when it is found."""
    return INFOSET.itemsize + _KEY_COST + _TABLE_COST + _TOUCHED_COST + (_CHECK_COST if keys.checked else 0)


class LazyTree(ExpandingTree):
    """A game whose nodes are expanded through pyspiel when they are first sampled.

    Args:
        game: A `pyspiel.Game` or a game string.
        threads: How many threads may traverse it at once.
        perfect_recall: False if imperfect recall is known; True if traversals are to find out.
    """

    kind = "lazy"

    def __init__(
        self,
        game: pyspiel.Game | str,
        plan: MemoryPlan,
        keys: Keys,
        threads: int = 1,
        perfect_recall: bool = True,
    ):
        game = load_game(game)
        self.keys = keys
        self.threads = threads
        self._lacks_recall = not perfect_recall
        num_players, total = game.num_players(), plan.max_nodes + plan.max_transient
        width = g.ANSWER_ACTIONS + max(game.num_distinct_actions(), num_players)
        self._places = Places(
            nodes=np.zeros(total, NODE),
            parents=np.zeros(total, np.int32),
            infosets=np.zeros(plan.max_infosets, INFOSET),
            keys=np.zeros((plan.max_infosets, 2), np.int64),
            checks=np.zeros(plan.max_infosets if keys.checked else 0, np.int64),
            table=np.zeros(max(1 << (2 * plan.max_infosets - 1).bit_length(), _FIRST_TABLE), np.int32),
            slot_actions=np.zeros(plan.max_slots, np.int64),
            transient_parents=np.zeros(plan.max_transient, np.int32),
            answers=np.zeros((threads, width), np.int64),
            payoffs=np.zeros((_MAX_PAYOFFS, num_players)),
            chance=np.zeros(_MAX_OUTCOMES, OUTCOME),
            outcome_actions=np.zeros(_MAX_OUTCOMES, np.int64),
            expansion=np.zeros(g.NUM_EXPANSION, np.int64),
        )
        self.slot_action, self._info_keys = self._places.slot_actions, self._places.keys
        max_depth = game.max_game_length() + game.max_chance_nodes_in_history() + 1
        stored = {name: getattr(self._places, name) for name in ("nodes", "payoffs", "chance", "infosets", "expansion")}
        super().__init__(game, plan, Shape(max_depth, max_stack=total, perfect_recall=True), **stored)
        self.node_capacity = total

    # --- lazy ---

    def bind(
        self,
        strategy: np.ndarray,
        ones: np.ndarray | None = None,
        *,
        check_depth: bool = False,
        single_trajectory: bool = False,
    ) -> None:
        super().bind(strategy, ones)
        self.expander = Expander(
            self.game,
            self._places,
            self.keys,
            self.plan.state_bytes,
            self.shape.max_depth if check_depth else None,
            single_trajectory,
        )
        self._callback = callback(self.expander.answer)
        expansion = self._places.expansion
        expansion[g.CALLBACK] = address_of(self._callback)
        for entry in range(g.NODES, g.ANSWERS + 1):
            array = self._places[entry - g.NODES]
            expansion[entry] = address_of(array) if len(array) else 0
        expansion[g.ANSWER_WIDTH] = self._places.answers.shape[1]
        expansion[g.NUM_NODES], expansion[g.TABLE_SIZE] = 1, _FIRST_TABLE
        self.keys.count_in(expansion[g.TEXT_COST : g.TEXT_COST + 1].data)

    def evict(self) -> slice:
        evicted = slice(self.plan.max_nodes, self.plan.max_nodes + self.count(g.NUM_TRANSIENT))
        g.evict(self._places.expansion)
        self.expander.evict_states(self.plan.max_nodes)
        return evicted

    def extend(self) -> bool:
        """See `ExpandingTree.extend`. What is kept for traversals, or else for policies, is left out."""
        plan = self.plan
        if not plan.node_cost or plan.max_infosets == self.num_infosets:
            return False
        traversals = plan.state_bytes + plan.max_transient // 2 * plan.node_cost  # evicted when half of it is used
        kept = int(self.expander.kept_share * plan.state_bytes)  # or dropped, see `make_room`
        most = max(traversals, int(_POLICY_SHARE * self._cost(self.sizes())))
        left = plan.limit - (resident_bytes() - kept + most)
        if left < _LEAST_EXTENSION * plan.limit:
            return False
        self._places.expansion[g.MAX_COST] += left
        self.go_on()
        return True

    def make_room(self) -> None:
        """See `ExpandingTree.make_room`: drops the states that are kept."""
        if resident_bytes() + _POLICY_SHARE * self._cost(self.sizes()) > self.plan.limit:
            self.expander.evict_states(0)
            release_unused()

    def raise_error(self) -> None:
        status, error = self.status, self.expander.error
        if status == g.FAILED:
            self.go_on()
            raise error or GameError(f"{self.game} was asked for a node, and an error came before it could answer.")
        if status in (g.KEYS_COLLIDE, g.ACTIONS_DIFFER):
            self.go_on()
            raise self._conflict(status)

    def _conflict(self, status: int) -> Exception:
        """Returns the error for a node whose infoset contradicts what is known of it."""
        node, infoset = self.count(g.CONFLICT_NODE), self.count(g.CONFLICT_INFOSET)
        state = self.expander.state_at(node)
        info_state, player = state.information_state_string(), state.current_player()
        if status == g.KEYS_COLLIDE:
            error = WrongAnswerError(
                f"the information state {info_state!r} has the 128-bit key of another one: use keys='text'"
            )
        else:
            error = different_actions(info_state, player, self.legal_actions(infoset), state.legal_actions())
        return game_error(self.game, self.expander.actions_to(node), error)

    def go_on(self) -> None:
        super().go_on()
        self.expander.error = None

    # --- the state ---

    def sizes(self) -> Sizes:
        return Sizes(*map(self.count, SIZES))._replace(text_bytes=len(self.keys.as_bytes()))

    def _cost(self, sizes: Sizes) -> int:
        cost = super()._cost(sizes)
        if self.keys.kind == "text":
            cost += sizes.text_bytes + sizes.infosets * TEXT_OVERHEAD
        return cost

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        nodes, infosets, slots, payoffs, outcomes, text_bytes, _ = sizes
        counts = {"nodes": nodes, "parents": nodes, "infosets": infosets, "keys": infosets, "checks": infosets}
        counts |= {"slot_actions": slots, "payoffs": payoffs, "chance": outcomes, "outcome_actions": outcomes}
        found = {name: getattr(self._places, name)[:count] for name, count in counts.items()}
        return found | {"texts": np.zeros(text_bytes, np.uint8)}

    def begin_loading(self) -> None:
        self.evict()
        self._places.nodes[: self.count(g.NUM_NODES)] = 0
        self.expander.clear()

    def end_loading(self, sizes: Sizes, texts: np.ndarray) -> None:
        expansion, plan = self._places.expansion, self.plan
        if sizes.nodes > plan.max_nodes:  # by a little, see `why_too_small`
            left = plan.max_nodes + plan.max_transient - sizes.nodes
            self.plan = plan._replace(max_nodes=sizes.nodes, max_transient=left)
            expansion[g.MAX_NODES], expansion[g.MAX_TRANSIENT] = sizes.nodes, left
        super().end_loading(sizes, texts)
        expansion[g.RECALL_LOST_AT] = 0
        self.keys.restore(texts.tobytes())
        while expansion[g.TABLE_SIZE] < 2 * sizes.infosets:
            expansion[g.TABLE_SIZE] *= 2
        g.enter_all(expansion)

    def __getstate__(self) -> dict:
        return {
            "game": self.game,
            "plan": self.plan,
            "keys": self.keys.kind,
            "threads": self.threads,
            "perfect_recall": not self._lacks_recall,
        }

    def __setstate__(self, state: dict) -> None:
        self.__init__(**{**state, "keys": Keys(state["keys"])})  # type: ignore[misc]

    # --- sizes ---

    @property
    def num_nodes(self) -> int:
        return self.count(g.NUM_NODES) + self.count(g.NUM_TRANSIENT)

    @property
    def num_expanded(self) -> int:
        """Number of nodes that were expanded, those evicted since included."""
        return self.count(g.NUM_EXPANDED)

    @property
    def perfect_recall(self) -> bool:
        return not self._lacks_recall and self.count(g.RECALL_LOST_AT) == 0

    def require_perfect_recall(self, what: str) -> None:
        if not self.perfect_recall:
            node = self.count(g.RECALL_LOST_AT) - 1
            where = f", at history {self.expander.actions_to(node)}" if node >= 0 else ""
            raise GameError(
                f"{self.game.get_type().short_name} has imperfect recall (a player reaches one information set by "
                f"different own actions{where}), and {what} needs perfect recall. Use "
                "estimator='outcome' with averaging='stochastic', which has no guarantees on such games."
            )

    def _find(self, info_state: str, player: int) -> int | None:
        key = self.keys.find(info_state)
        found = g.NONE if key is None else int(g.find(self._places.expansion, player, *key))
        return None if found == g.NONE else found

    @property
    def info_states(self) -> Sequence[str]:
        """Per infoset found, its information state string.

        Raises:
            ConfigError: If only hashes are kept.
        """
        if self.keys.kind != "text":
            raise ConfigError("this lazy tree keeps hashes of information states, not the texts: use keys='text'.")
        return [self.keys.texts[number] for number in self._places.keys[: self.num_infosets, 0].tolist()]
