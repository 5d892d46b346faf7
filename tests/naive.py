"""Slow, obvious twins of everything that the kernels compute, and small random games to compare them on.

A game is a tree of `Node` objects, traversed through pyspiel here and not by the package. A strategy is a dictionary
from (player, information state) to a list of probabilities in the order of the legal actions. A sequence is ((player,
information state), index of the action), or None for the empty one.
"""

from __future__ import annotations

import collections
import functools
import importlib
import itertools
import math
import random
from dataclasses import dataclass, field

import numpy as np
import pyspiel

from mccfr_plus import compile_game
from mccfr_plus.checks import games, sampler
from mccfr_plus.solver import config as parts
from mccfr_plus.trees.flattening import alias_table
from mccfr_plus.trees.needs import GRADIENTS

CHANCE, TERMINAL = -1, -4
MASK = (1 << 64) - 1


# --- games ---


@dataclass
class Node:
    """A history. `player` is CHANCE, TERMINAL or the player to move."""

    player: int
    actions: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    key: tuple[int, str] | None = None
    probabilities: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    history: str = ""


def build(state: pyspiel.State) -> Node:
    """Returns the tree below a state of a turn-based game."""
    if state.is_terminal():
        return Node(TERMINAL, returns=list(state.returns()))
    if state.is_chance_node():
        outcomes = [(a, p) for a, p in state.chance_outcomes() if p > 0]
        node = Node(CHANCE, [a for a, _ in outcomes], probabilities=[p for _, p in outcomes])
    else:
        player = state.current_player()
        node = Node(player, state.legal_actions(), key=(player, state.information_state_string(player)))
    node.history = state.history_str()
    node.children = [build(state.child(a)) for a in node.actions]
    return node


def nodes_of(root: Node):
    """Yields all nodes, parents first, depth first."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def random_game(seed: int, players: int = 2, depth: int = 5, zero_sum: bool = False, chance: float = 0.25):
    """Returns a random game with perfect recall: uneven chance, uneven depths, infosets that span several depths.

    What a player sees of a node is a random token; the infoset is the player, all own earlier infosets and actions,
    and the token.
    """
    rng = random.Random(seed)
    numbers: dict[tuple, tuple[int, int]] = {}  # infoset -> (number within its player, number of actions)
    fresh = itertools.count(1)
    lines: list[str] = []

    def expand(level: int, own: tuple) -> None:
        draw = rng.random()
        if level == depth or (level > 1 and draw < 0.2):
            payoffs = [round(rng.uniform(-3, 3), 3) for _ in range(players)]
            if zero_sum:
                payoffs[-1] = -sum(payoffs[:-1])
            if rng.random() < 0.2:
                payoffs = [0.0] * players
            number = next(fresh)
            lines.append(f't "" {number} "o{number}" {{ {" ".join(f"{x:.6f}" for x in payoffs)} }}')
        elif draw < 0.2 + chance:
            count = rng.choice([2, 3, 5])
            cuts = sorted(rng.sample(range(1, 64), count - 1))
            weights = [b - a for a, b in itertools.pairwise([0, *cuts, 64])]  # sixty-fourths: sum to 1 exactly
            number = next(fresh)
            body = " ".join(f'"c{i}" {w / 64:.10f}' for i, w in enumerate(weights))
            lines.append(f'c "" {number} "c{number}" {{ {body} }} 0')
            for _ in weights:
                expand(level + 1, own)
        else:
            player = rng.randrange(players)
            seen = (player, own[player], rng.randrange(2))
            if seen not in numbers:
                number = 1 + sum(1 for other in numbers if other[0] == player)
                numbers[seen] = (number, rng.choice([1, 2, 2, 3, 4]))
            number, count = numbers[seen]
            body = " ".join(f'"a{i}"' for i in range(count))
            lines.append(f'p "" {player + 1} {number} "I{number}" {{ {body} }} 0')
            for action in range(count):
                mine = (*own[player], (number, action))
                expand(level + 1, (*own[:player], mine, *own[player + 1 :]))

    while len(lines) < 8 or not any(key[0] == 0 for key in numbers):
        lines.clear()
        numbers.clear()
        expand(0, ((),) * players)
    names = " ".join(f'"P{p}"' for p in range(players))
    return pyspiel.load_efg_game(f'EFG 2 R "random {seed}" {{ {names} }}\n' + "\n".join(lines) + "\n")


def perturbed(name: str, seed: int = 0) -> pyspiel.Game:
    """Returns a game with payoffs changed a little at random.

    Games with ties are chaotic: whether a regret is 0 or 1e-17 decides between uniform and pure play, so that two
    correct programs that add in another order part ways. Without ties they stay together.
    """
    rng = random.Random(seed)
    root = root_of(name)
    numbers: dict = {}
    lines = []
    fresh = itertools.count(1)
    for node in nodes_of(root):
        if node.player == TERMINAL:
            body = " ".join(f"{x + rng.uniform(-0.1, 0.1):.9f}" for x in node.returns)
            lines.append(f't "" {next(fresh)} "" {{ {body} }}')
        elif node.player == CHANCE:
            body = " ".join(f'"c{a}" {p:.17f}' for a, p in zip(node.actions, node.probabilities, strict=True))
            lines.append(f'c "" {next(fresh)} "" {{ {body} }} 0')
        else:
            number = numbers.setdefault(node.key, 1 + sum(1 for key in numbers if key[0] == node.player))
            body = " ".join(f'"a{a}"' for a in node.actions)
            lines.append(f'p "" {node.player + 1} {number} "I{number}" {{ {body} }} 0')
    names = " ".join(f'"P{p}"' for p in range(game(name).num_players()))
    return pyspiel.load_efg_game(f'EFG 2 R "perturbed" {{ {names} }}\n' + "\n".join(lines) + "\n")


# What "random:<players>:<seed>" means below; all tests take games by such names.
RANDOM_GAMES = tuple(f"random:{players}:{seed}" for players in (2, 3) for seed in range(4))


@functools.cache
def game(name: str) -> pyspiel.Game:
    """Returns the turn-based game of a name, without the package's help."""
    if name.startswith("random:"):
        _, players, seed = name.split(":")
        return random_game(int(seed), int(players), zero_sum=int(seed) % 2 == 0)
    if name.startswith("perturbed:"):
        return perturbed(name.removeprefix("perturbed:"))
    if name.startswith("python_"):
        importlib.import_module("open_spiel.python.games")
    loaded = pyspiel.load_game(name)
    if loaded.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        loaded = pyspiel.convert_to_turn_based(loaded)
    return loaded


@functools.cache
def root_of(name: str) -> Node:
    return build(game(name).new_initial_state())


# The estimators of gradients: all but those whose regrets are right up to a factor per infoset only.
# `public_chance` runs on public trees alone, which have tests of their own.
ESTIMATORS = tuple(name for name in parts.ESTIMATORS if name != "public_chance")
UNBIASED = tuple(name for name in ESTIMATORS if GRADIENTS in parts.ESTIMATORS[name]().provides)


NEED_FULL = ("rtcfr+", "mmd", "reg_cfr")


def go_together(estimator: str, minimizer: str) -> bool:
    """Returns whether a solver takes both: FTRL and OMD want gradients, some exact ones."""
    if minimizer in NEED_FULL:
        return estimator == "full"
    return estimator in UNBIASED or minimizer not in ("ftrl", "omd")


@functools.cache
def tree_of(name: str):
    """Returns the package's tree of the same game."""
    return compile_game(game(name))


def infosets_of(root: Node) -> dict[tuple[int, str], int]:
    """Returns every infoset with its number of actions, in the order of first visit."""
    return {node.key: len(node.actions) for node in nodes_of(root) if node.player >= 0}


# --- between arrays and dictionaries ---


def to_dict(tree, array: np.ndarray) -> dict:
    """Returns the strategy dictionary of a strategy array."""
    players = tree.arrays.infosets["player"]
    return {(int(players[i]), tree.info_states[i]): array[tree.slots(i)].tolist() for i in range(tree.num_infosets)}


def to_array(tree, table: dict) -> np.ndarray:
    """Returns the array ``[num_slots]`` of a dictionary with a list per infoset; 0 where there is none."""
    array = np.zeros(tree.num_slots)
    for (player, text), row in table.items():
        array[tree.slots(tree.infoset(text, player))] = row
    return array


def pure_strategies(tree, player: int):
    """Yields all pure strategies of a player, as arrays with nothing at the others' slots."""
    own = slice(*tree.arrays.infoset_range[player : player + 2])
    before, after = np.split(np.zeros(tree.num_slots), [tree.arrays.slot_range[player]])
    for rows in itertools.product(*(np.eye(count) for count in tree.arrays.infosets["num_actions"][own])):
        yield np.concatenate([before, *rows, after])[: tree.num_slots]


def sequences_to_array(tree, values: dict, player: int) -> np.ndarray:
    """Returns ``[num_slots + 1]``: a dictionary from sequences to numbers; the empty sequence comes last."""
    array = np.zeros(tree.num_slots + 1)
    for sequence, value in values.items():
        if sequence is None:
            array[-1] = value
        else:
            (owner, text), index = sequence
            assert owner == player
            array[tree.slots(tree.infoset(text, player)).start + index] = value
    return array


def random_strategy(tree, seed: int, zeros: float = 0.0) -> np.ndarray:
    """Returns a random strategy; each probability is 0 with chance `zeros`, never all of an infoset."""
    return games.random_strategy(tree, np.random.default_rng(seed), zeros)


# --- exact gradients, values and best responses ---


def exact_gradient(root: Node, player: int, strategy: dict) -> dict:
    """Returns {sequence: sum over leaves behind it of payoff x reach of chance and the others}."""
    gradient: dict = collections.defaultdict(float)

    def visit(node: Node, sequence, others: float) -> None:
        if node.player == TERMINAL:
            gradient[sequence] += others * node.returns[player]
            return
        for index, child in enumerate(node.children):
            if node.player == player:
                visit(child, (node.key, index), others)
            else:
                share = node.probabilities[index] if node.player == CHANCE else strategy[node.key][index]
                visit(child, sequence, others * share)

    visit(root, None, 1.0)
    return gradient


def expected_values(node: Node, strategy: dict) -> np.ndarray:
    """Returns each player's expected payoff."""
    if node.player == TERMINAL:
        return np.array(node.returns)
    shares = node.probabilities if node.player == CHANCE else strategy[node.key]
    return sum(p * expected_values(child, strategy) for p, child in zip(shares, node.children, strict=True))


def best_response_value(root: Node, player: int, strategy: dict) -> float:
    """Returns the value of a best response: at each infoset the action that is best on average over its nodes."""
    members: dict = collections.defaultdict(list)

    def collect(node: Node, others: float) -> None:
        if node.player == player:
            members[node.key].append((node, others))
        shares = [1.0] * len(node.children)
        if node.player != player and node.player != TERMINAL:
            shares = node.probabilities if node.player == CHANCE else strategy[node.key]
        for share, child in zip(shares, node.children, strict=True):
            collect(child, others * share)

    @functools.cache
    def best(key) -> int:
        count = len(members[key][0][0].actions)
        worth = [sum(others * value(node.children[a]) for node, others in members[key]) for a in range(count)]
        return worth.index(max(worth))

    def value(node: Node) -> float:
        if node.player == TERMINAL:
            return node.returns[player]
        if node.player == player:
            return value(node.children[best(node.key)])
        shares = node.probabilities if node.player == CHANCE else strategy[node.key]
        return sum(p * value(child) for p, child in zip(shares, node.children, strict=True))

    collect(root, 1.0)
    return value(root)


# --- random numbers ---


class SplitMix:
    """SplitMix64 and what the kernels draw with it."""

    def __init__(self, state: int):
        self.state = int(state)

    def next_word(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def next_double(self) -> float:
        return (self.next_word() >> 11) / 2**53

    def outcome(self, probabilities: list[float]) -> int:
        table = _alias(tuple(probabilities))
        scaled = self.next_double() * len(probabilities)
        column = int(scaled)
        return table[column][1] if scaled - column >= table[column][0] else column

    def action(self, probabilities: list[float]) -> int:
        return self.pick(probabilities, self.next_double())

    def coin(self, probability: float) -> bool:
        return self.next_double() < probability

    def pick(self, probabilities: list[float], rest: float) -> int:
        for index, probability in enumerate(probabilities[:-1]):
            rest -= probability
            if rest < 0:
                return index
        return max(i for i, p in enumerate(probabilities) if p > 0)

    def exploring(self, probabilities: list[float], epsilon: float, other: list[float] | None = None) -> int:
        draw = self.next_double()
        if draw >= epsilon:
            return self.action(probabilities)
        return int(draw / epsilon * len(probabilities)) if other is None else self.pick(other, draw / epsilon)

    def uniform(self, count: int) -> int:
        return int(self.next_double() * count)


@functools.cache
def _alias(probabilities: tuple[float, ...]) -> list[tuple[float, int]]:
    table = alias_table(np.array(probabilities))
    return list(zip(table["accept"].tolist(), table["alias"].tolist(), strict=True))


class Script(sampler.Script):
    """Draws what it is told and notes the probability of that: the branches of all random outcomes, one by one."""

    outcome = action = sampler.Script.choose

    def exploring(self, probabilities: list[float], epsilon: float, other: list[float] | None = None) -> int:
        other = other or [1 / len(probabilities)] * len(probabilities)
        return self.outcome([epsilon * e + (1 - epsilon) * p for e, p in zip(other, probabilities, strict=True)])

    def coin(self, probability: float) -> bool:
        return self.outcome([1 - probability, probability]) == 1

    def uniform(self, count: int) -> int:
        return self.outcome([1 / count] * count)


def all_outcomes(sample):
    """Yields (probability, sample(draws)) for every outcome of the draws that can happen."""
    draws = Script()
    return sampler.all_outcomes(draws, lambda: sample(draws))


# --- sampled gradients ---


@dataclass
class Sample:
    """What one traversal finds."""

    gradient: dict
    touched: list  # infosets of the player, in the order of first visit
    visits: list  # (infoset of an opponent, weight)
    nodes: int


# epsilon, tau and beta of average strategy sampling.
PAPERS_RHO = (0.05, 1000.0, 1e6)


def rho_of_average(sums, epsilon: float, tau: float, beta: float) -> list[float]:
    """Returns the probability with which average strategy sampling visits each action."""
    if beta + sum(sums) <= 0:
        return [1.0] * len(sums)
    return [min(1.0, max(epsilon, (beta + tau * s) / (beta + sum(sums)))) for s in sums]


def balanced_strategy(root: Node) -> dict:
    """Returns the exploration-balanced strategy: actions in proportion to the number of sequences behind them."""
    parents, counts = parent_sequences(root), infosets_of(root)

    @functools.cache
    def behind(sequence) -> int:
        return 1 + sum(
            behind((key, a)) for key, above in parents.items() if above == sequence for a in range(counts[key])
        )

    numbers = {key: [behind((key, a)) for a in range(n)] for key, n in counts.items()}
    return {key: [n / sum(row) for n in row] for key, row in numbers.items()}


def sample_gradient(
    root: Node, player: int, strategy: dict, scheme: str, draws, epsilon: float = 0.6, sums=None, rho=PAPERS_RHO
) -> Sample:
    """Returns what the estimator of a short name finds with these draws; `sums` are those of the average strategy."""
    if scheme == "full":
        keys = [key for key in infosets_of(root) if key[0] == player]
        return Sample(exact_gradient(root, player, strategy), keys, [], sum(1 for _ in nodes_of(root)))
    if scheme == "outcome":
        return _sample_outcome(root, player, strategy, draws, epsilon, None)
    if scheme == "balanced":
        return _sample_outcome(root, player, strategy, draws, 1.0, balanced_strategy(root))
    all_chance = {"chance": False, "external": False, "opponent": True, "average_strategy": False}[scheme]
    all_others = scheme == "chance"
    found = Sample(collections.defaultdict(float), [], [], 0)

    def slide(node: Node, sequence, weight: float):
        """Goes on through nodes of which one child is drawn. Returns a node to expand, or None behind a leaf."""
        while True:
            found.nodes += 1
            if node.player == TERMINAL:
                found.gradient[sequence] += weight * node.returns[player]
                return None
            if node.player == player or (all_chance if node.player == CHANCE else all_others):
                return node, sequence, weight
            if node.player == CHANCE:
                node = node.children[draws.outcome(node.probabilities)]
            else:
                found.visits.append((node.key, weight))
                node = node.children[draws.action(strategy[node.key])]

    def expand(node: Node, sequence, weight: float) -> None:
        if node.player == player and node.key not in found.touched:
            found.touched.append(node.key)
        ahead = []
        inclusion = [1.0] * len(node.children)
        if node.player == player and scheme == "average_strategy":
            inclusion = rho_of_average(sums[node.key], *rho)
        for index in reversed(range(len(node.children))):
            if inclusion[index] < 1 and not draws.coin(inclusion[index]):
                continue
            if node.player == player:
                step = ((node.key, index), weight / inclusion[index])
            else:
                share = node.probabilities[index] if node.player == CHANCE else strategy[node.key][index]
                step = (sequence, weight * share)
            ahead.append(slide(node.children[index], *step))
        for stop in reversed(ahead):
            if stop:
                expand(*stop)

    first = slide(root, None, 1.0)
    if first:
        expand(*first)
    return found


def _sample_outcome(root: Node, player: int, strategy: dict, draws, epsilon: float, other: dict | None) -> Sample:
    found = Sample({}, [], [], 1)
    node, sequence, weight = root, None, 1.0
    while node.player != TERMINAL:
        if node.player == player:
            found.touched.append(node.key)
            row = other[node.key] if other else [1 / len(node.actions)] * len(node.actions)
            index = draws.exploring(strategy[node.key], epsilon, row if other else None)
            weight /= epsilon * row[index] + (1 - epsilon) * strategy[node.key][index]
            sequence = (node.key, index)
        elif node.player == CHANCE:
            index = draws.outcome(node.probabilities)
        else:
            found.visits.append((node.key, weight))
            index = draws.action(strategy[node.key])
        node = node.children[index]
        found.nodes += 1
    found.gradient[sequence] = weight * node.returns[player]
    return found


def own_traversal(root: Node, player: int, strategy: dict, all_own: bool, draws) -> tuple[list, int]:
    """Returns (infoset, weight) for the visits of the average's own traversal, and the number of nodes it visits."""
    visits: list = []
    nodes = 0

    def visit(node: Node, reach: float) -> None:
        nonlocal nodes
        nodes += 1
        if node.player == TERMINAL:
            return
        if node.player == player:
            visits.append((node.key, reach))
            row = strategy[node.key]
            if all_own:
                for index in reversed(range(len(row))):
                    if row[index] > 0:
                        visit(node.children[index], reach * row[index])
                return
            index = draws.action(row)
        elif node.player == CHANCE:
            index = draws.outcome(node.probabilities)
        else:
            index = draws.uniform(len(node.actions))
        visit(node.children[index], reach)

    visit(root, 1.0)
    return visits, nodes


# --- minimizers ---

# Short name -> (kind, alpha, beta)
RULES = {
    "rm": ("rm", None, None),
    "rm+": ("rm+", None, None),
    "linear": ("discounted", 1.0, 1.0),
    "linear+": ("discounted", 1.0, -math.inf),
    "dcfr": ("discounted", 1.5, 0.0),
    "dcfr_pruning": ("discounted", 1.5, 0.5),
    "prm": ("prm", None, None),
    "prm+": ("prm+", None, None),
    "dcfr+": ("discounted", 1.5, -math.inf),
    "hs_dcfr": ("scheduled", 1000, None),
    "pdcfr+": ("prm+discounted", 2.3, -math.inf),
    "sapcfr+": ("prm+", None, None, 1 / 3),  # what a prediction counts
    "hedge": ("hedge", 10.0, 0.0),  # eta and decay
    "hedge(eta=1.0,decay=0.5)": ("hedge", 1.0, 0.5),
    "hedge(eta=0.3,decay=0.0,optimistic=True)": ("hedge", 0.3, 0.0, 1.0),
}

# The average that goes with a rule: exponent of the iteration.
DEFAULT_GAMMA = dict.fromkeys([*RULES, "ftrl", "omd"], 0.0)
DEFAULT_GAMMA |= {"rm+": 1.0, "linear": 1.0, "linear+": 1.0, "dcfr": 2.0, "dcfr_pruning": 2.0, "prm+": 2.0}
DEFAULT_GAMMA |= {"dcfr+": 4.0, "pdcfr+": 5.0, "sapcfr+": 2.0}


def next_regrets(rule, regrets: np.ndarray, instant: np.ndarray, t: int) -> np.ndarray:
    """Returns the cumulative regrets of an infoset after iteration t, `instant` being 0 where it was not touched."""
    kind, alpha, beta = rule[:3]
    total = regrets + instant
    if kind in ("rm+", "prm+"):
        return np.maximum(total, 0)
    if kind == "scheduled":
        share = min(t / alpha, 1.0)
        kind, alpha, beta = "discounted", 1 + 3 * share, -1 - 2 * share
    if kind in ("discounted", "prm+discounted"):
        low = 0.0 if beta == -math.inf else t**beta / (t**beta + 1)
        return total * np.where(total > 0, t**alpha / (t**alpha + 1), low)
    return total


def next_strategy(rule, regrets: np.ndarray, instant: np.ndarray, t: int) -> np.ndarray:
    """Returns the strategy at an infoset after iteration t's update; `instant` is what was just added to `regrets`."""
    if rule[0] == "hedge":
        eta, decay, twice = *rule[1:3], rule[3] if len(rule) > 3 else 0.0
        scores = eta / (t + 1) ** decay * (regrets + twice * instant)
        powers = np.exp(scores - scores.max())
        return powers / powers.sum()
    predicted = (rule[3] if len(rule) > 3 else 1.0) * instant
    positive = np.maximum(regrets + predicted if rule[0].startswith("prm") else regrets, 0)
    return positive / positive.sum() if positive.sum() > 0 else np.full(len(regrets), 1 / len(regrets))


class Cfr:
    """Textbook CFR on nodes: regrets from differences of counterfactual values, no sequences, no gradients."""

    def __init__(self, root: Node, players: int, rule, gamma: float = 0.0, alternating: bool = True):
        self.root, self.players, self.rule, self.gamma, self.alternating = root, players, rule, gamma, alternating
        counts = infosets_of(root)
        self.strategy = {key: [1 / n] * n for key, n in counts.items()}
        self.regrets = {key: np.zeros(n) for key, n in counts.items()}
        self.sums = {key: np.zeros(n) for key, n in counts.items()}
        self.t = 0

    def iteration(self) -> None:
        self.t += 1
        if self.alternating:
            for player in range(self.players):
                self._update(self._instant_regrets(player))
        else:
            for instant in [self._instant_regrets(player) for player in range(self.players)]:
                self._update(instant)

    def _instant_regrets(self, player: int) -> dict:
        instant = {key: np.zeros(len(row)) for key, row in self.strategy.items() if key[0] == player}

        def visit(node: Node, own: float, others: float) -> float:
            if node.player == TERMINAL:
                return node.returns[player]
            if node.player != player:
                shares = node.probabilities if node.player == CHANCE else self.strategy[node.key]
                return sum(p * visit(c, own, others * p) for p, c in zip(shares, node.children, strict=True))
            row = np.array(self.strategy[node.key])
            values = np.array([visit(c, own * p, others) for p, c in zip(row, node.children, strict=True)])
            instant[node.key] += others * (values - row @ values)
            self.sums[node.key] += self.t**self.gamma * own * row
            return row @ values

        visit(self.root, 1.0, 1.0)
        return instant

    def _update(self, instant: dict) -> None:
        for key, regret in instant.items():
            self.regrets[key] = next_regrets(self.rule, self.regrets[key], regret, self.t)
            self.strategy[key] = next_strategy(self.rule, self.regrets[key], regret, self.t).tolist()

    def average(self) -> dict:
        return {key: (s / s.sum() if s.sum() > 0 else np.full(len(s), 1 / len(s))) for key, s in self.sums.items()}


class SampledCfr(Cfr):
    """The same rules fed with sampled gradients. All infosets are gone through in every iteration.

    The average is the exact one, or over visits if it is to be stochastic.
    """

    def __init__(self, root, players, scheme, rule, gamma=0.0, alternating=True, state=0, stochastic=False):
        super().__init__(root, players, rule, gamma, alternating)
        self.scheme = scheme
        self.stochastic = stochastic
        self.draws = SplitMix(state)
        self.nodes = 0

    def _instant_regrets(self, player: int) -> dict:
        found = sample_gradient(self.root, player, self.strategy, self.scheme, self.draws, sums=self.sums)
        self.nodes += found.nodes
        self._average(player, found)
        return regrets_of(found, self.strategy, player, self.root)

    def _update(self, instant: dict) -> None:
        for key, regret in instant.items():
            if regret is None:  # not touched: regrets are discounted, the strategy stays as it is
                self.regrets[key] = next_regrets(self.rule, self.regrets[key], np.zeros(len(self.regrets[key])), self.t)
            else:
                super()._update({key: regret})

    def _average(self, player: int, found: Sample) -> None:
        weight = self.t**self.gamma
        if not self.stochastic or self.scheme in ("full", "chance"):
            reach = own_reach(self.root, player, self.strategy)
            for key in found.touched if self.stochastic else reach:
                self.sums[key] += weight * reach[key] * np.array(self.strategy[key])
            return
        visits = found.visits
        if self.players != 2:
            visits, nodes = own_traversal(
                self.root, player, self.strategy, self.scheme not in ("outcome", "balanced"), self.draws
            )
            self.nodes += nodes
        for key, scale in visits:
            self.sums[key] += weight * scale * np.array(self.strategy[key])


def parent_sequences(root: Node) -> dict:
    """Returns for every infoset the player's last sequence before it."""
    parents: dict = {}

    def visit(node: Node, last: dict) -> None:
        if node.player >= 0:
            parents.setdefault(node.key, last.get(node.player))
        for index, child in enumerate(node.children):
            visit(child, {**last, node.player: (node.key, index)} if node.player >= 0 else last)

    visit(root, {})
    return parents


def own_reach(root: Node, player: int, strategy: dict) -> dict:
    """Returns for every infoset of a player the probability that his own actions allow it."""
    reach: dict = {}

    def visit(node: Node, own: float) -> None:
        if node.player == player:
            reach.setdefault(node.key, own)
        for index, child in enumerate(node.children):
            visit(child, own * strategy[node.key][index] if node.player == player else own)

    visit(root, 1.0)
    return reach


def regrets_of(found: Sample, strategy: dict, player: int, root: Node) -> dict:
    """Returns {infoset: sampled instantaneous regrets} for all of the player's infosets, None if not touched."""
    parents = _cached_parents(root)
    values = dict(found.gradient)
    instant: dict = {key: None for key in strategy if key[0] == player}
    for key in reversed(found.touched):
        row = np.array([values.get((key, a), 0.0) for a in range(len(strategy[key]))])
        value = float(np.dot(strategy[key], row))
        instant[key] = row - value
        values[parents[key]] = values.get(parents[key], 0.0) + value
    return instant


_PARENTS: dict[int, tuple[Node, dict]] = {}


def _cached_parents(root: Node) -> dict:
    if id(root) not in _PARENTS:
        _PARENTS[id(root)] = (root, parent_sequences(root))  # keeps the node alive, so that its id stays its own
    return _PARENTS[id(root)][1]
