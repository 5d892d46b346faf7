"""Search game: an attacker crosses a graph that patrols watch (rules, syntax of graphs: docs/background/games.md).

Reference: Bosansky and Cermak 2015, "Sequence-form algorithm for computing Stackelberg equilibria"; Farina, Kroer and
Sandholm 2020, whose graph could not be reconstructed.
"""

import itertools
import math
import re
from typing import NamedTuple

from mccfr_plus.errors import shortened
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import kernel

DEFENDER, ATTACKER = 0, 1

_MOST_NODES, _MOST_PATROLS, _MOST_POSITIONS = 100, 4, 1_000
_SYNTAX = {  # of an entry of a graph, after its first word
    "start": r"\w+",
    "goals": r"(\w+(:(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)?( |$))+",
    "patrol": r"\w+(-\w+)*",
    "edges": r"(\w+([->]\w+)+( |$))+",
}
THREE_COLUMNS = (
    "start S; goals g1 g2 g3; patrol a1-a2-a3; patrol c1-c2-c3; "
    "edges S-a1-b1-c1-g1 S-a2-b2-c2-g2 S-a3-b3-c3-g3 b1-b2-b3"
)

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
    """Search game; parameters: `moves` (rounds), `graph`, `wait`, `crossing`.

    The attacker's actions are nodes. Those of the defender are the patrols' positions as digits of a number, the first
    patrol's the highest: ``3 * i + j`` for position i on the first and j on the second path of three nodes.
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


class Graph(NamedTuple):
    """Nodes, edges and the paths of patrols."""

    nodes: list[str]  # names, in the order of the text; everything else is numbers of nodes
    start: int  # the attacker's first node
    goals: dict[int, float]  # the value of each goal
    patrols: list[list[int]]  # the path of each patrol
    edges: list[list[int]]  # for each node where the attacker may go from it, ascending


def read_graph(text: str) -> Graph:
    """Returns the graph that a text describes; ValueError if it describes none, or if there is nothing to play."""
    found: dict[str, list[str]] = {kind: [] for kind in _SYNTAX}
    for entry in str(text).split(";"):
        kind, _, listed = " ".join(entry.split()).partition(" ")
        is_entry = kind in _SYNTAX and re.fullmatch(_SYNTAX[kind], listed)
        given = shortened(repr(entry.strip()))
        _require(is_entry, f"{given} is not an entry of a graph; write it as in {THREE_COLUMNS!r}.")
        found[kind].append(listed)
    counts = {kind: len(entries) for kind, entries in found.items()}
    is_whole = counts.pop("patrol") > 0 and set(counts.values()) == {1}
    _require(is_whole, "give one entry each of start, goals and edges, and at least one patrol.")
    (start,), (listed_goals,), (chains,) = found["start"], found["goals"], found["edges"]
    goals = [goal.partition(":") for goal in listed_goals.split()]
    patrols = [path.split("-") for path in found["patrol"]]
    number = {name: index for index, name in enumerate(dict.fromkeys(re.findall(r"\w+", chains)))}
    for name in (start, *(goal[0] for goal in goals), *itertools.chain(*patrols)):
        nodes = shortened(", ".join(number))
        _require(name in number, f"{shortened(repr(name))} is not a node that the edges name; they name {nodes}.")
    steps = set()
    for tail, kind, head in re.findall(r"\b(?=(\w+)([->])(\w+))", chains):
        _require(tail != head, f"edges join {shortened(repr(tail))} with itself; use the parameter `wait` for staying.")
        steps |= {(number[tail], number[head])} | ({(number[head], number[tail])} if kind == "-" else set())
    for what, names in (("goals", [goal[0] for goal in goals]), *(("patrol", path) for path in patrols)):
        _require(len(set(names)) == len(names), f"{what} {shortened(' '.join(names))}: give each node once.")
    values = {number[name]: float(value or 1.0) for name, _, value in goals}
    _require(all(0.0 < value < math.inf for value in values.values()), "goals: give positive values.")
    edges = [sorted(head for tail, head in steps if tail == node) for node in number.values()]
    paths = [[number[name] for name in path] for path in patrols]
    graph = Graph(list(number), number[start], values, paths, edges)
    _check(graph)
    return graph


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ValueError(f"graph: {message}")


def _check(graph: Graph) -> None:
    """Raises a ValueError if the graph is too large, or if the attacker cannot win or has no choice."""
    nodes, start, goals, patrols, edges = graph
    for count, most, what in (
        (len(nodes), _MOST_NODES, "nodes"),
        (len(patrols), _MOST_PATROLS, "patrols"),
        (math.prod(map(len, patrols)), _MOST_POSITIONS, "positions of the patrols (the product of their lengths)"),
    ):
        _require(count <= most, f"{count:,} {what}: at most {most:,} are allowed.")
    names = [shortened(repr(name)) for name in nodes]
    _require(start not in goals, f"start {names[start]} is a goal: give a start from which a goal is to be reached.")
    middles = [path[len(path) // 2] for path in patrols]
    _require(start not in middles, f"a patrol starts in the middle of its path, which is the start {names[start]}.")
    reached = {start}
    while new := {head for node in reached for head in edges[node]} - reached:
        reached |= new
    _require(reached & set(goals), f"no goal can be reached from the start {names[start]}: add edges.")
    for node in reached - set(goals):
        _require(edges[node], f"no edge leads out of {names[node]}, which is not a goal: add one or make it a goal.")
