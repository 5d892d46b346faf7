"""Search game: an attacker crosses a graph that a defender's patrols watch (rules: docs/background/games.md).

In each of at most `moves` rounds the defender (player 0) moves all patrols along their paths, and at the same time the
attacker (player 1) moves along an edge, or waits with ``wait=True``. Neither ever sees the other's moves. An attacker
on a patrol's node after a round is caught, with ``crossing=True`` also one who changes places with a patrol, and loses
1. On a goal he gets its value instead. Patrols start in the middle of their paths and need no edges.

Reference: Bosansky, Cermak 2015, "Sequence-form algorithm for computing Stackelberg equilibria"; Farina, Kroer,
Sandholm 2020, whose graph could not be reconstructed: the defender's sequences are the same here, 2,029 in 4 and 11,830
in 5 moves, the attacker's and the histories are not.
"""

import itertools

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.games.search_graph import THREE_COLUMNS, read_graph
from mccfr_plus.kernels.compile import kernel

DEFENDER, ATTACKER = 0, 1

# Words of a state: finished rounds; the position of all patrols as one number, and the attacker's node; the position
# before; whether the attacker was caught; then, for each round, position and node plus 1, as they are after it.
_ROUND, _HERE, _BEFORE, _CAUGHT, _CHOICES = 1, 2, 4, 5, 6

# Parameters: `_START` for both players; `_POSITIONS` is their number; `_NODES` is where the nodes of all positions
# begin, one per patrol. From `_LISTS` on, where the moves from each position and then from each node begin and end.
_MOVES, _CROSSING, _START, _PATROLS, _POSITIONS, _NODES, _LISTS = 0, 1, 2, 4, 5, 6, 7


@kernel
def _start(parameters, table, state):
    state[MOVER] = DEFENDER
    state[_HERE], state[_HERE + 1] = parameters[_START], parameters[_START + 1]


@kernel
def _legal(parameters, table, state, actions):
    mover = state[MOVER]
    where = _LISTS + mover * parameters[_POSITIONS] + state[_HERE + mover]
    begin = parameters[where]
    count = parameters[where + 1] - begin
    for index in range(count):
        actions[index] = parameters[begin + index]
    return count


@kernel
def _apply(parameters, table, state, action):
    mover, round_ = state[MOVER], state[_ROUND]
    state[_CHOICES + 2 * round_ + mover] = action + 1
    if mover == DEFENDER:
        state[_BEFORE], state[_HERE] = state[_HERE], action
        state[MOVER] = ATTACKER
        return
    patrols = parameters[_PATROLS]
    before = parameters[_NODES] + patrols * state[_BEFORE]
    now = parameters[_NODES] + patrols * state[_HERE]
    for patrol in range(patrols):
        to = parameters[now + patrol]
        crosses = parameters[_CROSSING] and to == state[_HERE + 1] and parameters[before + patrol] == action
        if to == action or crosses:
            state[_CAUGHT] = 1
    state[_HERE + 1] = action
    state[_ROUND] = round_ + 1
    over = state[_CAUGHT] or table[action] > 0.0 or round_ + 1 == parameters[_MOVES]
    state[MOVER] = TERMINAL if over else DEFENDER


@kernel
def _returns(parameters, table, state, payoffs):
    payoffs[ATTACKER] = -1.0 if state[_CAUGHT] else table[state[_HERE + 1]]
    payoffs[DEFENDER] = 0.0 - payoffs[ATTACKER]


@kernel
def _look(parameters, table, state, player, view):
    moves = parameters[_MOVES]
    for round_ in range(moves):
        view[player * moves + round_] = state[_CHOICES + 2 * round_ + player]


@kernel
def _observe(parameters, table, state, player, action):
    return 0


class SearchGame(RulesGame):
    """Search game; parameters: `moves` (rounds), `graph` (see `mccfr_plus.games.search_graph`), `wait`, `crossing`.

    An action of the attacker is the number of the node to which he goes. An action of the defender is the number of the
    positions to which the patrols go, as digits of a number, the first patrol's the highest: with paths of three
    nodes ``3 * i + j`` for position i on the first and j on the second path.
    """

    short_name = "search_game"
    long_name = "Search Game"
    defaults = {"moves": 4, "graph": THREE_COLUMNS, "wait": True, "crossing": False}  # noqa: RUF012
    rules = Rules(_start, _legal, _apply, _returns, _look, observe=_observe)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        moves = parameters.whole_number("moves", 1, 20, "a state keeps all of them")
        wait, crossing = parameters.switch("wait"), parameters.switch("crossing")
        graph = read_graph(parameters["graph"])
        nodes, patrols = graph.nodes, graph.patrols

        positions = list(itertools.product(*(range(len(path)) for path in patrols)))
        number = {position: index for index, position in enumerate(positions)}
        start = number[tuple(len(path) // 2 for path in patrols)]
        near = [[range(max(at - 1, 0), min(at + 2, len(path))) for at in range(len(path))] for path in patrols]
        next_positions = [
            [number[there] for there in itertools.product(*(near[patrol][at] for patrol, at in enumerate(here)))]
            for here in positions
        ]
        next_nodes = [sorted({*heads, node} if wait else heads) for node, heads in enumerate(graph.edges)]
        where = [[path[place] for path, place in zip(patrols, here, strict=True)] for here in positions]
        lists = [*next_positions, *next_nodes]
        ends = itertools.accumulate(map(len, lists), initial=_LISTS + len(lists) + 1)
        moves_from = [*ends, *itertools.chain(*lists)]
        header = [moves, crossing, start, graph.start, len(patrols), len(positions), _LISTS + len(moves_from)]
        largest = max(1.0, *graph.goals.values())
        return Layout(
            state_size=_CHOICES + 2 * moves,
            fields=tuple(
                Field(name, len(texts) + 1, moves, private=True, symbols=["", *texts])
                for name, texts in (
                    ("patrols", ["+".join(nodes[node] for node in each) for each in where]),
                    ("path", nodes),
                )
            ),
            num_distinct_actions=max(len(positions), len(nodes)),
            max_game_length=2 * moves,
            min_utility=-largest,
            max_utility=largest,
            parameters=[*header, *moves_from, *itertools.chain(*where)],
            table=[graph.goals.get(node, 0.0) for node in range(len(nodes))],
            max_observations=1,
            max_first_observations=1,
        )

    def action_text(self, player: int, action: int) -> str:
        """Returns the attacker's next node, such as "b1", or those of the patrols, such as "a1+c2"."""
        return (self.sizes.fields[player].symbols or ())[action + 1]

    def state_text(self, state: np.ndarray) -> str:
        """Returns where both players went, in three lines."""
        parameters, end = self.sizes.parameters, " caught" * bool(state[_CAUGHT])
        patrols, path = (
            " ".join(self.action_text(player, each - 1) for each in [first + 1, *state[_CHOICES + player :: 2]] if each)
            for player, first in enumerate(parameters[_START : _START + 2])
        )
        return f"{state[_ROUND]} of {parameters[_MOVES]} rounds over\npatrols:  {patrols}\nattacker: {path}{end}"
