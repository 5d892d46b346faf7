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
    """Where the players may go."""

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
    (starts,), (listed_goals,), (chains,) = words["start"], words["goals"], words["edges"]

    names: dict[str, int] = {}
    steps: set[tuple[int, int]] = set()
    for chain in chains:
        is_chain = re.fullmatch(r"\w+([->]\w+)+", chain)
        _require(is_chain, f"edges {chain!r}: give names with - or > between them, such as S-a1-b1.")
        first, *links = re.findall(r"([->]?)(\w+)", chain)
        tail = names.setdefault(first[1], len(names))
        for kind, name in links:
            head = names.setdefault(name, len(names))
            _require(tail != head, f"edges {chain!r} join a node with itself; for staying there is `wait`.")
            steps |= {(tail, head)} if kind == ">" else {(tail, head), (head, tail)}
            tail = head

    def known(kind: str, name: str) -> int:
        _require(name in names, f"{kind} {name!r} is no node of edges, which are {', '.join(names)}.")
        return names[name]

    goals: dict[int, float] = {}
    for goal in listed_goals:
        name, colon, value = goal.partition(":")
        node = known("goal", name)
        _require(node not in goals, f"goal {name!r} is given twice.")
        is_number = re.fullmatch(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", value)
        goals[node] = 1.0 if not colon else float(value) if is_number else 0.0
        good = 0.0 < goals[node] < math.inf
        _require(good, f"goal {goal!r}: give a positive value after the colon, or no colon for 1.")
    _require(len(starts) == 1, f"start {' '.join(starts)}: give one node.")
    patrols = []
    for path in words["patrol"]:
        on_path = path[0].split("-")
        _require(
            len(path) == 1
            and all(re.fullmatch(r"\w+", name) for name in on_path)
            and len(set(on_path)) == len(on_path),
            f"patrol {' '.join(path)!r} is no path: give different nodes with - between them, such as a1-a2-a3, in one "
            "entry for each patrol.",
        )
        patrols.append([known("patrol's", name) for name in on_path])
    edges = [sorted(head for tail, head in steps if tail == node) for node in range(len(names))]
    graph = Graph(list(names), known("start", starts[0]), goals, patrols, edges)
    _check(graph)
    return graph


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ValueError(f"graph: {message}")


def _check(graph: Graph) -> None:
    """Raises a ValueError if the graph is too large, or if there is nothing to win or to decide in it."""
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
