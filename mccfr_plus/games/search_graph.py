"""The text in which the graph of the search game (`mccfr_plus.games.search_game`) is written.

It consists of parts with a semicolon between them. Each begins with a word that says what it lists:

    start S                     the attacker's first node
    goals g1 g2:5               nodes, each with its value where that is not 1
    patrol a1-a2-a3             the path of a patrol; one such part for each patrol
    edges S-a1-b1 b1>b2 ...     chains of nodes; "-" is an edge in both directions, ">" in one

Nodes are all that stand in edges, numbered in the order of the text; names are made of letters, digits and underscores.
"""

from __future__ import annotations

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
    for part in str(text).split(";"):
        kind, *listed = part.split() or [""]
        if kind not in words or not listed:
            raise ValueError(
                f"graph: {part.strip()!r} is no part of a graph: give {', '.join(words)}, each followed by what it "
                f"lists, with semicolons between the parts, such as {THREE_COLUMNS!r}."
            )
        words[kind].append(listed)
    for kind, parts in words.items():
        if not parts or (kind != "patrol" and len(parts) > 1):
            raise ValueError(f"graph: {len(parts)} parts {kind!r}: give {'at least ' * (kind == 'patrol')}one.")

    names: dict[str, int] = {}
    steps: set[tuple[int, int]] = set()
    for chain in words["edges"][0]:
        if not re.fullmatch(r"\w+([->]\w+)+", chain):
            raise ValueError(f"graph: edges {chain!r}: give names with - or > between them, such as S-a1-b1.")
        nodes = [names.setdefault(name, len(names)) for name in re.split("[->]", chain)]
        for kind, tail, head in zip(re.findall("[->]", chain), nodes, nodes[1:], strict=False):
            if tail == head:
                raise ValueError(f"graph: edges {chain!r} join a node with itself; for staying there is `wait`.")
            steps.update([(tail, head)] if kind == ">" else [(tail, head), (head, tail)])

    def known(kind: str, name: str) -> int:
        if name not in names:
            raise ValueError(f"graph: {kind} {name!r} is no node of edges, which are {', '.join(names)}.")
        return names[name]

    goals: dict[int, float] = {}
    for goal in words["goals"][0]:
        name, _, value = goal.partition(":")
        if known("goal", name) in goals:
            raise ValueError(f"graph: goal {name!r} is given twice.")
        goals[names[name]] = _goal_value(goal, value) if ":" in goal else 1.0
    if len(words["start"][0]) != 1:
        raise ValueError(f"graph: start {' '.join(words['start'][0])}: give one node.")
    graph = Graph(
        nodes=list(names),
        start=known("start", words["start"][0][0]),
        goals=goals,
        patrols=[[known("patrol's", name) for name in _path(path)] for path in words["patrol"]],
        edges=[sorted(head for tail, head in steps if tail == node) for node in range(len(names))],
    )
    _check(graph)
    return graph


def _goal_value(goal: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise ValueError(f"graph: goal {goal!r}: give a positive value after the colon, or no colon for 1.")
    return value


def _path(listed: list[str]) -> list[str]:
    path = listed[0].split("-")
    if len(listed) != 1 or not all(re.fullmatch(r"\w+", name) for name in path) or len(set(path)) != len(path):
        raise ValueError(
            f"graph: patrol {' '.join(listed)!r} is no path: give different nodes with - between them, such as "
            "a1-a2-a3, in one part for each patrol."
        )
    return path


def _check(graph: Graph) -> None:
    """Raises a ValueError if the graph is too large, or if there is nothing to win or to decide in it."""
    nodes, start, goals, patrols, edges = graph
    positions = math.prod(map(len, patrols))
    for count, most, what in (
        (len(nodes), _MOST_NODES, "nodes"),
        (len(patrols), _MOST_PATROLS, "patrols"),
        (positions, _MOST_POSITIONS, "positions of the patrols (the product of the lengths of their paths)"),
    ):
        if count > most:
            raise ValueError(f"graph: {count:,} {what}: at most {most:,} are allowed.")
    if start in goals:
        raise ValueError(f"graph: start {nodes[start]!r} is a goal: give a start from where a goal is to be reached.")
    if start in (path[len(path) // 2] for path in patrols):
        raise ValueError(f"graph: a patrol starts in the middle of its path, which is the start {nodes[start]!r}.")
    reached, todo = {start}, [start]
    while todo:
        new = set(edges[todo.pop()]) - reached
        reached |= new
        todo += new
    if not reached & set(goals):
        raise ValueError(f"graph: no goal can be reached from the start {nodes[start]!r}: add edges.")
    for node in reached - set(goals):
        if not edges[node]:
            raise ValueError(
                f"graph: no edge leads out of {nodes[node]!r}, which is no goal: add one or make it a goal."
            )
