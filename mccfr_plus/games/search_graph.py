"""The text in which the graph of the search game (`mccfr_plus.games.search_game`) is written.

It is a list with semicolons between the entries. Each begins with a word that says what it lists:

    start S                     the attacker's first node
    goals g1 g2:5               nodes, each with its value where that is not 1
    patrol a1-a2-a3             the path of a patrol; one such entry for each patrol
    edges S-a1-b1 b1>b2 ...     chains of nodes; "-" is an edge in both directions, ">" in one

The nodes are those in edges, numbered in the order of the text; names are made of letters, digits and underscores.
"""

import math
import re
from typing import NamedTuple

_MOST_NODES, _MOST_PATROLS, _MOST_POSITIONS = 100, 4, 1_000

THREE_COLUMNS = (
    "start S; goals g1 g2 g3; patrol a1-a2-a3; patrol c1-c2-c3; "
    "edges S-a1-b1-c1-g1 S-a2-b2-c2-g2 S-a3-b3-c3-g3 b1-b2-b3"
)


class Graph(NamedTuple):
    """Where the players may go.

    Attributes:
        nodes: The names of the nodes; everything else is numbers of nodes.
        start: The attacker's first node.
        goals: The value of each goal.
        patrols: The path of each patrol.
        edges: For each node where the attacker may go from it, ascending.
    """

    nodes: list[str]
    start: int
    goals: dict[int, float]
    patrols: list[list[int]]
    edges: list[list[int]]


def read_graph(text: str) -> Graph:
    """Returns the graph that a text in the syntax of this module describes.

    Raises:
        ValueError: If the text is not in the syntax, if a node is not in `edges`, or if the game would be over before
            it starts.
    """
    words: dict[str, list[list[str]]] = {"start": [], "goals": [], "patrol": [], "edges": []}
    for entry in str(text).split(";"):
        kind, *listed = entry.split() or [""]
        _require(
            kind in words and listed,
            f"{entry.strip()!r} is no entry of a graph: give {', '.join(words)}, each followed by what it lists, with "
            f"semicolons between the entries, such as {THREE_COLUMNS!r}.",
        )
        words[kind].append(listed)
    for kind, entries in words.items():
        few = "at least one" if kind == "patrol" else "one"
        _require(entries and (kind == "patrol" or len(entries) == 1), f"{len(entries)} entries {kind!r}: give {few}.")

    names: dict[str, int] = {}
    steps: set[tuple[int, int]] = set()
    for chain in words["edges"][0]:
        is_chain = re.fullmatch(r"\w+([->]\w+)+", chain)
        _require(is_chain, f"edges {chain!r}: give names with - or > between them, such as S-a1-b1.")
        nodes = [names.setdefault(name, len(names)) for name in re.split("[->]", chain)]
        for kind, tail, head in zip(re.findall("[->]", chain), nodes, nodes[1:], strict=False):
            _require(tail != head, f"edges {chain!r} join a node with itself; for staying there is `wait`.")
            steps.update([(tail, head)] if kind == ">" else [(tail, head), (head, tail)])

    def known(kind: str, name: str) -> int:
        _require(name in names, f"{kind} {name!r} is no node of edges, which are {', '.join(names)}.")
        return names[name]

    goals: dict[int, float] = {}
    for goal in words["goals"][0]:
        name, colon, value = goal.partition(":")
        _require(known("goal", name) not in goals, f"goal {name!r} is given twice.")
        try:
            goals[names[name]] = float(value) if colon else 1.0
        except ValueError:
            goals[names[name]] = math.nan
        is_value = 0.0 < goals[names[name]] < math.inf
        _require(is_value, f"goal {goal!r}: give a positive value after the colon, or no colon for 1.")
    _require(len(words["start"][0]) == 1, f"start {' '.join(words['start'][0])}: give one node.")
    graph = Graph(
        nodes=list(names),
        start=known("start", words["start"][0][0]),
        goals=goals,
        patrols=[[known("patrol's", name) for name in _path(listed)] for listed in words["patrol"]],
        edges=[sorted(head for tail, head in steps if tail == node) for node in range(len(names))],
    )
    _check(graph)
    return graph


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ValueError(f"graph: {message}")


def _path(listed: list[str]) -> list[str]:
    path = listed[0].split("-")
    _require(
        len(listed) == 1 and all(re.fullmatch(r"\w+", name) for name in path) and len(set(path)) == len(path),
        f"patrol {' '.join(listed)!r} is no path: give different nodes with - between them, such as a1-a2-a3, in one "
        "entry for each patrol.",
    )
    return path


def _check(graph: Graph) -> None:
    """Raises a ValueError if the graph is too large, or if there is nothing to win or to decide in it."""
    nodes, start, goals, patrols, edges = graph
    positions, middles = math.prod(map(len, patrols)), [path[len(path) // 2] for path in patrols]
    for count, most, what in (
        (len(nodes), _MOST_NODES, "nodes"),
        (len(patrols), _MOST_PATROLS, "patrols"),
        (positions, _MOST_POSITIONS, "positions of the patrols (the product of the lengths of their paths)"),
    ):
        _require(count <= most, f"{count:,} {what}: at most {most:,} are allowed.")
    _require(start not in goals, f"start {nodes[start]!r} is a goal: give a start from which a goal is to be reached.")
    _require(start not in middles, f"a patrol starts in the middle of its path, which is the start {nodes[start]!r}.")
    reached, todo = {start}, [start]
    while todo:
        new = set(edges[todo.pop()]) - reached
        reached |= new
        todo += new
    _require(reached & set(goals), f"no goal can be reached from the start {nodes[start]!r}: add edges.")
    for node in reached - set(goals):
        _require(edges[node], f"no edge leads out of {nodes[node]!r}, which is no goal: add one or make it a goal.")
