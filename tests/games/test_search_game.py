"""Search game: reading graphs, histories worked out by hand; `test_page` has the published counts."""

import pyspiel
import pytest
from states import after, ends_of

import mccfr_plus
import mccfr_plus.games
from mccfr_plus.games.search_game import THREE_COLUMNS, read_graph

# Nodes x 0, y 1, z 2, q 3; the patrol starts on y, and its positions 0, 1, 2 are q, y, z.
LINE = "start x; goals z:3; patrol q-y-z; edges x-y-z-q q-x"


def _histories(moves, wait, crossing, text):
    """Returns the number of histories by a traversal over names, and what the attacker gets at the ends."""
    graph = read_graph(text)
    histories, payoffs = 1, []
    level = [(graph.start, tuple(path[len(path) // 2] for path in graph.patrols))]
    for _ in range(moves):
        below = []
        for node, patrols in level:
            joint = [()]
            for path, here in zip(graph.patrols, patrols, strict=True):
                near = [there for there in path if abs(path.index(there) - path.index(here)) <= 1]
                joint = [(*before, there) for before in joint for there in near]
            heads = set(graph.edges[node]) | ({node} if wait else set())
            histories += len(joint) * (1 + len(heads))
            for now in joint:
                for head in heads:
                    met = any(a == head and b == node for a, b in zip(patrols, now, strict=True))
                    if head in now or (crossing and met):
                        payoffs.append(-1.0)
                    elif head in graph.goals:
                        payoffs.append(graph.goals[head])
                    else:
                        below.append((head, now))
        level = below
    return histories, sorted(payoffs + [0.0] * len(level))


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("crossing", [False, True])
@pytest.mark.parametrize(
    ("moves", "graph"),
    [
        (1, THREE_COLUMNS),
        (2, THREE_COLUMNS),
        (4, LINE),
        (3, LINE + "; patrol q-z"),
        (3, "start s; goals g:2 h; patrol a-b; patrol b-a; patrol h; edges s>a>b>g a>h b>a s>b"),
    ],
)
def test_small_games(moves, graph, wait, crossing):
    histories, payoffs = _histories(moves, wait, crossing, graph)
    game = pyspiel.load_game(f"search_game(moves={moves},wait={wait},crossing={crossing},graph={graph})")
    tree = mccfr_plus.compile_game(game)
    assert tree.statistics().histories == histories
    assert ends_of(tree, 1) == payoffs


def test_history():
    state = after("search_game")
    assert state.legal_actions() == list(range(9))
    state.apply_action(0 * 3 + 2)
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["S", "a1", "a2", "a3"]
    state.apply_action(5)
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["a1+c2", "a1+c3", "a2+c2", "a2+c3"]
    texts = ["player=0 patrols=a1+c3 path=", "player=1 patrols= path=a2"]
    assert [state.information_state_string(player) for player in range(2)] == texts == str(state).split("\n")[:2]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("S-a", "'S-a' is not an entry of a graph; write it as in 'start S; goals g1"),
        ("goals g; patrol a; edges S-a-g", "give one entry each of start, goals and edges, and at least one patrol"),
        ("start S; goals g; patrol a-S-g; edges S-a-g", "a patrol starts in the middle of its path, .* start 'S'"),
        ("start S; goals g; patrol a; edges S-a g>a", "no goal can be reached from the start 'S'"),
        ("start S; goals g; patrol a; edges S-a-g " + "-".join(f"n{i}" for i in range(98)), "101 nodes: at most 100"),
    ],
)
def test_bad_graphs(graph, message):
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game("search_game", {"graph": graph})
