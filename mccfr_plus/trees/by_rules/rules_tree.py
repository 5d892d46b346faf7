"""Records the tree of a game with compiled rules, depth first, by a kernel that continues where it stopped."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Rules
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.intrinsics import at
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.arrays import INFOSET, NODE, Shape
from mccfr_plus.trees.by_rules.rows import (
    RULE_APPLY,
    RULE_LEGAL,
    RULE_LOOK,
    RULE_OUTCOMES,
    RULE_RETURNS,
    keep_possible,
    kernels_of,
)
from mccfr_plus.trees.flattening import FlatTree, flatten
from mccfr_plus.trees.info_states import (
    EMPTY,
    InfoStates,
    hash_step,
    index_of_row,
    key_places,
    num_places,
    pack,
    table_of_rows,
)
from mccfr_plus.trees.loading import WrongAnswerError, compiling_bar, game_error, show_fraction

_VISITS = 2_000_000  # nodes between two checks of the budget and of Ctrl-C
_GROWTH = 1.25  # of an array that is full; realloc moves nothing on Linux, so that small steps cost little
_FIRST_CAPACITY, _FIRST_DISTRIBUTIONS = 1024, 16

# Why the kernel returns: it is done, was paused, has filled an array, or has found a mistake.
DONE, PAUSED, FULL = range(3)
_TOO_DEEP, _BAD_MOVER, _BAD_LEGAL, _BAD_VIEW, _BAD_CHANCE, _BAD_RETURNS, _DIFFERENT_LEGAL = range(3, 10)
_MISTAKES = {
    _TOO_DEEP: "a history is longer than max_game_length + max_chance_nodes of the layout",
    _BAD_MOVER: "state[MOVER] is not a player, CHANCE or TERMINAL",
    _BAD_LEGAL: "`legal` gives no action, or more than num_distinct_actions of the layout",
    _BAD_VIEW: "`look` writes an entry that is not in 0 .. size - 1 of its field",
    _BAD_CHANCE: "`outcomes` gives no outcome, more than max_chance_outcomes of the layout, or probabilities that are "
    "negative or do not sum to 1",
    _BAD_RETURNS: "`returns` gives a payoff that is not a finite number",
    _DIFFERENT_LEGAL: "`look` writes what it wrote at another state that has other legal actions, so that the "
    "information states do not tell apart what the player can tell apart",
}

# Entries of `_Traversal.counts`. `_NODE` is visited next; it has `_DEPTH` and the state `states[depth]`. Nodes are
# numbered when their parent is visited.
_NODE, _DEPTH, _NODES, _INFOSETS, _SLOTS, _PAYOFFS, _DISTRIBUTIONS = range(7)
_MAX_DEPTH, _MAX_STACK, _MAX_MOVES, _FORGETS, _NUM_COUNTS = range(7, 12)

# Columns of `_Traversal.path`: the player to move, the player's last slot before, the first slot, children, the nodes
# of the path's siblings and children that wait on a traversal's stack, and moves of players.
_PLAYER, _LAST_SLOT, _FIRST_SLOT, _FIRST_CHILD, _COUNT, _TAKEN, _WAITING, _MOVES, _NUM_COLUMNS = range(9)

# During the traversal, an infoset's player has a checksum of its legal actions in the bits above these.
_PLAYER_BITS, _CHECKSUM_BITS = 8, 22


class _Traversal(NamedTuple):
    counts: np.ndarray  # [_NUM_COUNTS] int64
    states: np.ndarray  # [max_depth + 1, state_size] int64
    actions: np.ndarray  # [max_depth, most actions] int64
    path: np.ndarray  # [max_depth, _NUM_COLUMNS] int64, the node's ancestors
    last_slots: np.ndarray  # [num_players] int64, before the node; -1: none
    num_slots: np.ndarray  # [num_players] int64, found so far
    seen: np.ndarray  # [view_size] int64; no `view`, which Numba takes for an array's method
    key: np.ndarray  # [words] int64
    payoff: np.ndarray  # [num_players] float64
    distribution: np.ndarray  # [2 * most outcomes] int64
    probabilities: np.ndarray  # [most outcomes] float64


class _Found(NamedTuple):
    """What the traversal has found; see `flattening.flatten`. The tables are of `info_states`."""

    nodes: np.ndarray  # [capacity] NODE
    infosets: np.ndarray  # [capacity] INFOSET; see `_PLAYER_BITS`
    keys: np.ndarray  # [capacity, words] int64
    infoset_table: np.ndarray
    slot_action: np.ndarray  # [capacity] int64
    payoffs: np.ndarray  # [capacity, num_players] int64, the bits of floats
    payoff_table: np.ndarray
    # [capacity, 2 * most outcomes] int64: actions, then the bits of probabilities, 0 where there is no outcome
    distributions: np.ndarray
    distribution_table: np.ndarray


# Arrays of one length, the table of the last one, and the entry of `counts` with the rows in use.
_GROUPS = (
    (("nodes",), "", _NODES),
    (("infosets", "keys"), "infoset_table", _INFOSETS),
    (("slot_action",), "", _SLOTS),
    (("payoffs",), "payoff_table", _PAYOFFS),
    (("distributions",), "distribution_table", _DISTRIBUTIONS),
)


def build(
    game: RulesGame, check: Callable[[int, int], None], max_nodes: int, progress: bool | None
) -> tuple[FlatTree, InfoStates]:
    """Returns the tree of a game with compiled rules, and its information states; `check` as in `loading.record`."""
    builder = _Builder(game, check, max_nodes)
    with compiling_bar(progress) as bar:
        builder.traverse(bar)
    return builder.finished()


@cache
def _traversal_of(rules: Rules) -> Any:
    return bind(_traverse, kernels_of(rules))


class _Builder:
    def __init__(self, game: RulesGame, check: Callable[[int, int], None], max_nodes: int):
        sizes = game.sizes
        self._game, self._check, self._max_nodes = game, check, max_nodes
        self._places, words = key_places(sizes)
        most_outcomes = max(sizes.max_chance_outcomes, 1)
        max_depth = sizes.max_game_length + sizes.max_chance_nodes
        self._counts = np.zeros(_NUM_COUNTS, np.int64)
        self._counts[[_NODES, _MAX_STACK]] = 1
        self._progress = _Traversal(
            counts=self._counts,
            states=np.zeros((max_depth + 1, sizes.state_size), np.int64),
            actions=np.zeros((max_depth, game.most_actions), np.int64),
            path=np.zeros((max_depth, _NUM_COLUMNS), np.int64),
            last_slots=np.full(sizes.num_players, -1),
            num_slots=np.zeros(sizes.num_players, np.int64),
            seen=np.zeros(sizes.view_size, np.int64),
            key=np.zeros(words, np.int64),
            payoff=np.zeros(sizes.num_players),
            distribution=np.zeros(2 * most_outcomes, np.int64),
            probabilities=np.zeros(most_outcomes),
        )
        self._progress.states[0] = game.first_state
        capacity = max(_FIRST_CAPACITY, 2 * game.most_actions)
        self._found = _Found(
            nodes=np.zeros(capacity, NODE),
            infosets=np.zeros(capacity, INFOSET),
            keys=np.zeros((capacity, words), np.int64),
            infoset_table=_empty_table(capacity),
            slot_action=np.zeros(capacity, np.int64),
            payoffs=np.zeros((capacity, sizes.num_players), np.int64),
            payoff_table=_empty_table(capacity),
            distributions=np.zeros((_FIRST_DISTRIBUTIONS, 2 * most_outcomes), np.int64),
            distribution_table=_empty_table(_FIRST_DISTRIBUTIONS),
        )

    def traverse(self, bar: tqdm) -> None:
        game, traversal = self._game, _traversal_of(self._game.rules)
        arguments = game.parameters, game.table, self._places, self._progress
        status = PAUSED
        while status != DONE:
            with announce_compilation(traversal, "the rules of the game", 5):
                status = traversal(*arguments, self._found, game.sizes.num_players, _VISITS)
            path = self._progress.path[: self._counts[_DEPTH], [_COUNT, _TAKEN]].T.tolist()
            if status in _MISTAKES:
                history = [int(self._progress.actions[above, taken - 1]) for above, taken in enumerate(path[1])]
                raise game_error(game, history, WrongAnswerError(_MISTAKES[status]))
            if status == PAUSED:
                show_fraction(bar, int(self._counts[_NODES]), *path)
            elif status == FULL:
                self._enlarge()
            self._check_budget()

    def _check_budget(self, more_bytes: int = 0) -> None:
        self._check(int(self._counts[_NODES]), sum(array.nbytes for array in self._found) + more_bytes)

    def _enlarge(self) -> None:
        """Enlarges the arrays that are full, and their hash table if it would be over half full, within the budget."""
        for names, table, count in _GROUPS:
            arrays, most = [getattr(self._found, name) for name in names], self._game.most_actions
            length, used = len(arrays[0]), int(self._counts[count])
            if used + (most if count in (_SLOTS, _NODES) else 1) <= length:
                continue
            capacity = int(length * _GROWTH) + (1 if count == _DISTRIBUTIONS else 2 * most)
            if count == _NODES:  # the traversal stops when the budget is spent, not at the next check
                capacity = min(capacity, self._max_nodes + most)
            more_bytes = sum(array.strides[0] for array in arrays) * (capacity - length)
            places = num_places(capacity) if table and 2 * capacity > len(getattr(self._found, table)) else 0
            self._check_budget(more_bytes + places * np.dtype(np.int32).itemsize)
            for array in arrays:
                array.resize((capacity, *array.shape[1:]), refcheck=False)  # in place
            if places:
                self._found = self._found._replace(**{table: table_of_rows(arrays[-1], used, places)})

    def finished(self) -> tuple[FlatTree, InfoStates]:
        # What is not needed any more goes first: at this point memory is at its peak.
        found = {name: array for name, array in self._found._asdict().items() if not name.endswith("_table")}
        del self._found
        for names, _, count in _GROUPS:
            for name in names:
                found[name].resize((self._counts[count], *found[name].shape[1:]), refcheck=False)
        found["infosets"]["player"] &= (1 << _PLAYER_BITS) - 1
        actions, bits = np.hsplit(found["distributions"], 2)
        rows = zip(actions.tolist(), bits.view(np.float64).tolist(), strict=True)
        depth, stack, moves, forgets = self._counts[[_MAX_DEPTH, _MAX_STACK, _MAX_MOVES, _FORGETS]].tolist()
        flat = flatten(  # which frees the arrays that it has replaced
            Shape(depth, stack, not forgets, moves),
            found.pop("nodes"),
            found.pop("infosets"),
            found.pop("slot_action"),
            [[pair for pair in zip(*row, strict=True) if pair[1] > 0] for row in rows],
            found["payoffs"].view(np.float64),
        )
        return flat, InfoStates(self._game, found["keys"][flat.order], flat.arrays.infosets["player"])


def _empty_table(capacity: int) -> np.ndarray:
    return np.full(num_places(capacity), EMPTY, np.int32)


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    """Writes the possible outcomes of chance; returns how many, 0 if there are too many or they do not sum to 1."""
    given = RULE_OUTCOMES(parameters, table, state, actions, probabilities)
    if given > len(probabilities):
        return 0
    total = 0.0
    for index in range(given):
        if probabilities[index] < 0.0:
            return 0
        total += probabilities[index]
    return keep_possible(actions, probabilities, given) if abs(total - 1.0) <= 1e-6 else 0


@kernel
def _traverse(parameters, table, places, progress, found, num_players, max_visits):
    """Visits up to `max_visits` more nodes and returns why it stopped."""
    counts, states, actions, path = progress.counts, progress.states, progress.actions, progress.path
    last_slots, view, key = progress.last_slots, progress.seen, progress.key
    payoff, distribution, probabilities = progress.payoff, progress.distribution, progress.probabilities
    payoff_bits, most_outcomes = payoff.view(np.int64), len(probabilities)
    nodes, infosets, slot_action = found.nodes, found.infosets, found.slot_action
    most_actions, state_size = actions.shape[1], states.shape[1]
    node, depth, num_nodes, status = counts[_NODE], counts[_DEPTH], counts[_NODES], PAUSED
    for _ in range(max_visits):
        if (
            num_nodes + most_actions > len(nodes)
            or counts[_INFOSETS] == len(infosets)
            or counts[_SLOTS] + most_actions > len(slot_action)
            or counts[_PAYOFFS] == len(found.payoffs)
            or counts[_DISTRIBUTIONS] == len(found.distributions)
        ):
            status = FULL
            break
        state = states[depth]
        mover = state[MOVER]
        if mover == TERMINAL:
            for player in range(num_players):
                payoff[player] = 0.0
            RULE_RETURNS(parameters, table, state, payoff)
            for player in range(num_players):
                payoff[player] += 0.0  # -0.0 becomes 0.0
                if not abs(payoff[player]) < np.inf:  # NaN is wrong, too
                    status = _BAD_RETURNS
            if status == _BAD_RETURNS:
                break
            count = 0
            payload = index_of_row(found.payoff_table, found.payoffs, payoff_bits, counts[_PAYOFFS])
            counts[_PAYOFFS] += payload == counts[_PAYOFFS]
        elif depth == len(actions):
            status = _TOO_DEEP
            break
        else:
            choices = actions[depth]
            if mover == CHANCE:
                count = _outcomes(parameters, table, state, choices, probabilities)
                if count == 0:
                    status = _BAD_CHANCE
                    break
                bits = probabilities.view(np.int64)
                for outcome in range(most_outcomes):
                    distribution[outcome] = choices[outcome] if outcome < count else 0
                    distribution[most_outcomes + outcome] = bits[outcome] if outcome < count else 0
                known = counts[_DISTRIBUTIONS]
                payload = index_of_row(found.distribution_table, found.distributions, distribution, known)
                counts[_DISTRIBUTIONS] += payload == known
            elif mover < 0 or mover >= num_players:
                status = _BAD_MOVER
                break
            else:
                count = RULE_LEGAL(parameters, table, state, choices)
                if count < 1 or count > most_actions:
                    status = _BAD_LEGAL
                    break
                # Comparing all actions with those of the first visit would be one more cache miss per node.
                checksum = np.uint64(count)
                for choice in range(count):
                    checksum = hash_step(checksum, np.uint64(choices[choice]))
                owner = mover + (np.int64(checksum >> np.uint64(64 - _CHECKSUM_BITS)) << _PLAYER_BITS)
                for entry in range(len(view)):
                    view[entry] = 0
                RULE_LOOK(parameters, table, state, mover, view)
                if not pack(places, mover, view, key):
                    status = _BAD_VIEW
                    break
                number = index_of_row(found.infoset_table, found.keys, key, counts[_INFOSETS])
                infoset = infosets[at(number)]
                if number == counts[_INFOSETS]:
                    infoset["first_slot"], infoset["num_actions"] = progress.num_slots[at(mover)], count
                    infoset["parent_slot"], infoset["player"] = last_slots[at(mover)], owner
                    for choice in range(count):
                        slot_action[at(counts[_SLOTS] + choice)] = choices[at(choice)]
                    counts[_INFOSETS] += 1
                    counts[_SLOTS] += count
                    progress.num_slots[at(mover)] += count
                elif infoset["player"] != owner or infoset["num_actions"] != count:
                    status = _DIFFERENT_LEGAL
                    break
                elif infoset["parent_slot"] != last_slots[at(mover)]:
                    counts[_FORGETS] = 1
                payload = infoset["first_slot"]
        record = nodes[at(node)]
        record["kind"], record["num_children"] = mover, count
        record["first_child"], record["payload"] = num_nodes if count > 0 else 0, payload
        if count > 0:
            frame, waiting, moves = path[at(depth)], count, 0
            if depth > 0:
                waiting, moves = waiting + path[at(depth - 1), _WAITING] - 1, path[at(depth - 1), _MOVES]
            if mover >= 0:
                frame[_LAST_SLOT] = last_slots[at(mover)]
                moves += 1
            frame[_PLAYER], frame[_FIRST_SLOT], frame[_FIRST_CHILD] = mover, payload, num_nodes
            frame[_COUNT], frame[_TAKEN], frame[_WAITING], frame[_MOVES] = count, 0, waiting, moves
            depth, num_nodes = depth + 1, num_nodes + count
            counts[_MAX_DEPTH], counts[_MAX_STACK] = max(counts[_MAX_DEPTH], depth), max(counts[_MAX_STACK], waiting)
            counts[_MAX_MOVES] = max(counts[_MAX_MOVES], moves)
        while depth > 0 and path[at(depth - 1), _TAKEN] == path[at(depth - 1), _COUNT]:
            depth -= 1
            if path[at(depth), _PLAYER] >= 0:
                last_slots[at(path[at(depth), _PLAYER])] = path[at(depth), _LAST_SLOT]
        if depth == 0:
            status = DONE
            break
        frame = path[at(depth - 1)]
        child, node = frame[_TAKEN], frame[_FIRST_CHILD] + frame[_TAKEN]
        frame[_TAKEN] += 1
        if frame[_PLAYER] >= 0:
            last_slots[at(frame[_PLAYER])] = frame[_FIRST_SLOT] + child
        for word in range(state_size):
            states[at(depth), at(word)] = states[at(depth - 1), at(word)]
        RULE_APPLY(parameters, table, states[depth], actions[depth - 1, child])
    counts[_NODE], counts[_DEPTH], counts[_NODES] = node, depth, num_nodes
    return status
