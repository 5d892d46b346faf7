"""The text in which the graph of the search game (`mccfr_plus.games.search_game`) is written.

It is a list with semicolons between the entries. The first word of an entry is its kind:

    start S                     the attacker's first node
    goals g1 g2:5               nodes, each with its value where that is not 1
    patrol a1-a2-a3             the path of a patrol; one such entry for each patrol
    edges S-a1-b1 b1>b2 ...     chains of nodes; "-" is an edge in both directions, ">" in one

The nodes are those in edges, numbered in the order of the text; names are made of letters, digits and underscores.
"""

import itertools
import math
import re
from typing import NamedTuple

_MOST_NODES, _MOST_PATROLS, _MOST_POSITIONS = 100, 4, 1_000

# The syntax of an entry after its first word.
_SYNTAX = {
    "start": r"\w+",
    "goals": r"(\w+(:(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)?( |$))+",
    "patrol": r"\w+(-\w+)*",
    "edges": r"(\w+([->]\w+)+( |$))+",
}
THREE_COLUMNS = (
    "start S; goals g1 g2 g3; patrol a1-a2-a3; patrol c1-c2-c3; "
    "edges S-a1-b1-c1-g1 S-a2-b2-c2-g2 S-a3-b3-c3-g3 b1-b2-b3"
)


class Graph(NamedTuple):
    """Nodes, edges and the paths of patrols."""

    nodes: list[str]  # names; everything else is numbers of nodes
    start: int  # the attacker's first node
    goals: dict[int, float]  # the value of each goal
    patrols: list[list[int]]  # the path of each patrol
    edges: list[list[int]]  # for each node where the attacker may go from it, ascending


def read_graph(text: str) -> Graph:
    """Returns the graph that a text in the syntax of this module describes.

    Raises:
        ValueError: If the text is not in the syntax, if a node is not in `edges`, or if the game would be over before
            it starts.
    """
    found: dict[str, list[str]] = {kind: [] for kind in _SYNTAX}
    for entry in str(text).split(";"):
        kind, _, listed = " ".join(entry.split()).partition(" ")
        is_entry = kind in _SYNTAX and re.fullmatch(_SYNTAX[kind], listed)
        _require(is_entry, f"{entry.strip()!r} is no entry of a graph; it is written as in {THREE_COLUMNS!r}.")
        found[kind].append(listed)
    counts = {kind: len(entries) for kind, entries in found.items()}
    is_whole = counts.pop("patrol") > 0 and set(counts.values()) == {1}
    _require(is_whole, "give one entry each of start, goals and edges, and at least one patrol.")
    (start,), (listed_goals,), (chains,) = found["start"], found["goals"], found["edges"]
    goals = [goal.partition(":") for goal in listed_goals.split()]
    patrols = [path.split("-") for path in found["patrol"]]
    number = {name: index for index, name in enumerate(dict.fromkeys(re.findall(r"\w+", chains)))}
    for name in (start, *(goal[0] for goal in goals), *itertools.chain(*patrols)):
        _require(name in number, f"{name!r} is no node of edges, which are {', '.join(number)}.")
    steps = set()
    for tail, kind, head in re.findall(r"\b(?=(\w+)([->])(\w+))", chains):
        _require(tail != head, f"edges join {tail!r} with itself; for staying there is `wait`.")
        steps |= {(number[tail], number[head])} | ({(number[head], number[tail])} if kind == "-" else set())
    for what, names in (("goals", [goal[0] for goal in goals]), *(("patrol", path) for path in patrols)):
        _require(len(set(names)) == len(names), f"{what} {' '.join(names)}: give each node once.")
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
    _require(start not in goals, f"start {nodes[start]!r} is a goal: give a start from which a goal is to be reached.")
    middles = [path[len(path) // 2] for path in patrols]
    _require(start not in middles, f"a patrol starts in the middle of its path, which is the start {nodes[start]!r}.")
    reached = {start}
    while new := {head for node in reached for head in edges[node]} - reached:
        reached |= new
    _require(reached & set(goals), f"no goal can be reached from the start {nodes[start]!r}: add edges.")
    for node in reached - set(goals):
        _require(edges[node], f"no edge leads out of {nodes[node]!r}, which is no goal: add one or make it a goal.")
