"""Computes a blueprint for heads-up no-limit hold'em with 20 big blinds, where hands are in buckets and bets are few.

python examples/holdem_blueprint.py --seconds=900 --estimators=external,average_strategy --out=blueprint.png

MCCFR solves the game of buckets, in which players fold, call, bet the pot or go all-in. After each of --looks parts of
the run, the average strategy plays the real game against a player that always calls, against uniform play and against a
blueprint with fewer buckets, and a local best response gives a lower bound on its exploitability. Payoffs are in
thousandths of a big blind per hand (mbb), with 95% intervals.
"""

from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
from absl import app, flags

import mccfr_plus
from mccfr_plus.games import HandBuckets, compiled_rules

_SECONDS = flags.DEFINE_float("seconds", 60.0, "Time to train each blueprint.", lower_bound=0.1)
_LOOKS = flags.DEFINE_integer("looks", 4, "Number of evaluations, at times that grow by a factor of 4.", lower_bound=1)
_ESTIMATORS = flags.DEFINE_list("estimators", ["external", "average_strategy"], "How to sample.")
_BUCKETS = flags.DEFINE_integer("buckets", 50, "Number of buckets in each round.", lower_bound=2)
_FEWER = flags.DEFINE_integer("fewer_buckets", 5, "Number of buckets of the weaker blueprint.", lower_bound=2)
_RANKS = flags.DEFINE_integer("ranks", 13, "Ranks of the deck; few ranks need only seconds for tables.", lower_bound=4)
_DEALS = flags.DEFINE_integer("deals", 20_000, "Deals of a match, each played from both seats.", lower_bound=2)
_GAMES = flags.DEFINE_integer("games", 500, "Deals for the local best response in each seat.", lower_bound=2)
_BOARDS = flags.DEFINE_integer("boards", 30, "Boards for estimating the response's chance to win.", lower_bound=1)
_CHECKPOINTS = flags.DEFINE_string("checkpoints", None, "Folder in which solvers are kept, and continued.")
_SEED = flags.DEFINE_integer("seed", 1, "Makes deals repeatable, and runs until the clock ends them.")
_OUT = flags.DEFINE_string("out", None, "Where to write the picture, a PNG or SVG file.")

BLIND = 100
GAME = (
    "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,"
    "stack=2000 2000,numSuits=4,numRanks={},numHoleCards=2,numBoardCards=0 3 1 1)"
)
CARDS, FOLD, CALL = (0, 3, 4, 5), 0, 1  # cards on the board by rounds; actions


class Blueprint(NamedTuple):
    """A strategy of buckets in every betting sequence."""

    buckets: HandBuckets | None  # None: hands do not matter
    table: np.ndarray  # [sequences, buckets, actions]: probabilities, in the order of a sequence's children


@numba.njit
def buckets_of_views(kernel, parameters, table, views, found):
    for row in range(len(views)):
        found[row] = kernel(parameters, table, views[row], 0)


def bits(cards):
    """Returns cards as a number with a bit for each."""
    return int((1 << cards).sum())


class Table:
    """Where blueprints meet: the real game, its betting sequences, and all hands."""

    def __init__(self, name):
        self.name, self.rules = name, compiled_rules(mccfr_plus.load_game(name))
        self.deal, self.nodes = self.rules.deal, self.rules.deal.nodes
        self.hands = self.deal.cards  # [hands, 2] cards
        self.bits = (1 << self.hands).sum(axis=1)

    def number(self, cards):
        """Returns the number of a hand."""
        return int(np.flatnonzero(self.bits == bits(cards))[0])

    def buckets(self, blueprint, hands, boards):
        """Returns the buckets of hands, ``[n, 2]`` cards, with boards, ``[n, cards]``."""
        found = np.zeros(len(hands), np.int64)
        if blueprint.buckets is not None:
            views = np.zeros((len(hands), self.rules.sizes.view_size), np.int64)
            views[:, :2], views[:, 2 : 2 + boards.shape[1]] = np.sort(hands) + 1, boards + 1
            parameters = blueprint.buckets.parameters(self.rules)
            buckets_of_views(blueprint.buckets.kernel, parameters, self.rules.table, views, found)
        return found

    def constant(self, action=None):
        """Returns the blueprint that always plays an action, or is uniform."""
        table = np.zeros((len(self.nodes), 1, 4))
        for number, node in enumerate(self.nodes):
            legal = [self.nodes[child].action for child in node.children]
            table[number, 0, : len(legal)] = [1 / len(legal) if action is None else float(a == action) for a in legal]
        return Blueprint(None, table)

    def blueprint(self, policy, buckets, count):
        """Returns the blueprint of a solver's policy."""
        table = np.repeat(self.constant().table, count, axis=1)  # uniform where the solver has not been
        for number, node in enumerate(self.nodes):
            for bucket in range(count if node.player >= 0 else 0):
                view = [0] * (self.rules.sizes.view_size - 1) + [number, bucket]
                found = policy.at_view(view, node.player)
                if found is not None:
                    table[number, bucket, : len(found)] = list(found.values())
        return Blueprint(buckets, table)


class Deals(NamedTuple):
    """Random deals, which all matches share."""

    hands: np.ndarray  # [2, deals, 2] cards of the players
    board: np.ndarray  # [deals, 5]
    winner: np.ndarray  # [deals]: 1 if player 0 has the better hand, -1 if player 1 has, else 0


def random_deals(table, count, rng):
    cards = np.array([rng.permutation(table.deal.deck)[:9] for _ in range(count)])
    hands, board = np.stack([cards[:, :2], cards[:, 2:4]]), cards[:, 4:]
    winner = np.zeros(count)
    for row in range(count):
        strengths = table.deal.strengths(bits(board[row]))
        first, second = (strengths[table.number(hands[player, row])] for player in range(2))
        winner[row] = np.sign(first - second)
    return Deals(hands, board, winner)


def match(table, first, second, deals):
    """Returns what `first` wins of `second` in each deal, ``[deals]``: the mean of all betting and of both seats."""
    count, boards = len(deals.winner), [deals.board[:, :cards] for cards in CARDS]
    payoffs = np.zeros(count)
    for seat in range(2):
        players = (first, second) if seat == 0 else (second, first)
        seen = [
            [table.buckets(each, hands, board) for board in boards]
            for each, hands in zip(players, deals.hands, strict=True)
        ]
        values = [None] * len(table.nodes)  # of player 0
        for number in reversed(range(len(table.nodes))):  # children come after their parents
            node = table.nodes[number]
            if node.player >= 0:
                rows = players[node.player].table[number, seen[node.player][node.round]]
                values[number] = sum(rows[:, i] * values[child] for i, child in enumerate(node.children))
            else:
                won = 1 - 2 * int(0 in node.folded) if node.folded else deals.winner
                values[number] = np.broadcast_to(won * float(min(node.spent)), count)
        payoffs += values[0] * (0.5 - seat)
    return payoffs


def chances(table, own, shown, num_boards, rng):
    """Returns about how probably a hand wins against each other one, plus half of that to tie, ``[hands]``."""
    rest = np.setdiff1d(np.arange(table.deal.deck), np.concatenate([own, shown]))
    wins, counts = np.zeros(len(table.hands)), np.full(len(table.hands), 1e-9)
    for _ in range(num_boards if len(shown) < CARDS[-1] else 1):
        board = bits(np.concatenate([shown, rng.permutation(rest)[: CARDS[-1] - len(shown)]]))
        strengths, fits = table.deal.strengths(board), (table.bits & board) == 0
        mine = strengths[table.number(own)]
        wins += fits * ((strengths < mine) + 0.5 * (strengths == mine))
        counts += fits
    return wins / counts


def best_reply(table, blueprint, number, seat, buckets, weights, wins):
    """Returns the sequence after the action that is best if both then check or call to the end."""
    node, values = table.nodes[number], []
    for child in node.children:
        after, folds = table.nodes[child], np.zeros(len(weights))
        if after.action == FOLD:
            values.append(0.0)
            continue
        if after.action != CALL:
            folds = blueprint.table[child, buckets, 0]  # a raise can be folded to
        left, final = weights * (1 - folds), max(after.spent)
        fold = 1 - left.sum() / max(weights.sum(), 1e-300)
        win = (left * wins).sum() / max(left.sum(), 1e-300)
        values.append(fold * sum(node.spent) + (1 - fold) * (win * 2 * final - (final - node.spent[seat])))
    return node.children[int(np.argmax(values))]


def gain_of_local_best_response(table, blueprint, seat, own, board, num_boards, rng):
    """Returns what a local best response (Lisy, Bowling 2017) wins more than the blueprint with these cards.

    It knows the strategy, its cards and the betting, so its mean payoff is at most that of a best response. Payoffs are
    means over the opponent's hands and all its actions.
    """
    shown = [board[:count] for count in CARDS]
    buckets = [table.buckets(blueprint, table.hands, np.tile(cards, (len(table.hands), 1))) for cards in shown]
    mine, fits = table.number(own), (table.bits & bits(np.concatenate([own, board]))) == 0
    strengths, wins = table.deal.strengths(bits(board)), {}
    signs = np.sign(strengths[mine] - strengths)

    def value(number, reach, responds):
        node = table.nodes[number]
        if node.player < 0:
            won = (1 if seat not in node.folded else -1) if node.folded else signs
            return min(node.spent) * (won * reach * fits).sum()
        rows = blueprint.table[number, buckets[node.round]]
        if node.player != seat:
            return sum(value(child, reach * rows[:, i], responds) for i, child in enumerate(node.children))
        if not responds:
            return sum(p * value(child, reach, False) for child, p in zip(node.children, rows[mine], strict=False) if p)
        seen = shown[node.round]
        if node.round not in wins:
            wins[node.round] = chances(table, own, seen, num_boards, rng)
        weights = reach * ((table.bits & bits(np.concatenate([own, seen]))) == 0)
        found = best_reply(table, blueprint, number, seat, buckets[node.round], weights, wins[node.round])
        return value(found, reach, True)

    ones = np.ones(len(table.hands))
    return (value(0, ones, True) - value(0, ones, False)) / fits.sum()


def interval(payoffs):
    """Returns the mean of independent payoffs and half of its 95% interval, in mbb."""
    return 1000 / BLIND * np.mean(payoffs), 1000 / BLIND * 1.96 * np.std(payoffs, ddof=1) / np.sqrt(len(payoffs))


def lower_bound(table, blueprint, num_deals, rng):
    """Returns the lower bound of the exploitability, with half of its interval. Both seats' own payoffs sum to 0."""
    gains = np.zeros((num_deals, 2))
    for deal, seat in np.ndindex(gains.shape):
        cards = rng.permutation(table.deal.deck)[:7]
        gains[deal, seat] = gain_of_local_best_response(
            table, blueprint, seat, cards[:2], cards[2:], _BOARDS.value, rng
        )
    return interval(gains.mean(axis=1))


def blueprints(table, count, estimator, seconds):
    """Yields seconds of training, iterations and the blueprint at each look."""
    buckets = HandBuckets(table.name, count, progress=True)
    game = mccfr_plus.abstract(table.name, buckets)
    path = _CHECKPOINTS.value and Path(_CHECKPOINTS.value) / f"{estimator}-{count}.checkpoint"
    if path and path.exists():
        solver = mccfr_plus.Solver.from_checkpoint(path, game=game)
    else:
        solver = mccfr_plus.Solver(game, estimator, tree="rules", seed=_SEED.value)
    for look in reversed(range(_LOOKS.value)):
        left = seconds / 4**look - solver.seconds
        if left > 0:
            solver.run(seconds=left, checkpoint=path)
        if left > 0 or look == 0:  # an earlier run may have been as long
            yield solver.seconds, solver.iterations, table.blueprint(solver.average_policy(), buckets, count)


def draw(curves, names, path):
    """Draws each number against the iterations of training, which do not depend on the machine."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(names), figsize=(3.4 * len(names), 3.6), layout="constrained", sharex=True)
    for place, (each, name) in enumerate(zip(axes, names, strict=True)):
        for marker, (estimator, rows) in zip("osv^", curves.items(), strict=False):
            x, (y, half) = [row[0] for row in rows], np.array([row[1][place] for row in rows]).T
            each.errorbar(x, y, half, marker=marker, markersize=4, capsize=3, label=estimator)
        each.set(xscale="log", xlabel="million iterations", title=name)
        each.grid(alpha=0.3)
    axes[0].set_ylabel("mbb per hand")
    axes[0].legend()
    figure.savefig(path, dpi=110)


def main(_):
    table, rng, curves = Table(GAME.format(_RANKS.value)), np.random.default_rng(_SEED.value), {}
    deals = random_deals(table, _DEALS.value, rng)
    share = _FEWER.value / _BUCKETS.value  # the number of infosets is proportional to that of buckets
    *_, (_, _, weaker) = blueprints(table, _FEWER.value, _ESTIMATORS.value[0], _SECONDS.value * share)
    opponents = {
        "against always calling": table.constant(CALL),
        "against uniform play": table.constant(),
        f"against {_FEWER.value} buckets": weaker,
    }
    names = ["exploitability, at least", *opponents]
    print(f"{'':<34}" + "".join(f"{name:>26}" for name in names))

    def report(title, blueprint):
        found = [lower_bound(table, blueprint, _GAMES.value, rng)]
        found += [interval(match(table, blueprint, each, deals)) for each in opponents.values()]
        cells = "".join(f"{f'{mean:.0f} ± {half:.0f}':>26}" for mean, half in found)
        print(f"{title:<34}{cells}", flush=True)
        return found

    report(f"{_FEWER.value} buckets", weaker)
    for estimator in _ESTIMATORS.value:
        curves[estimator] = []
        for seconds, iterations, blueprint in blueprints(table, _BUCKETS.value, estimator, _SECONDS.value):
            title = f"{estimator}, {seconds:.0f} s, {iterations / 1e6:.2f} M"
            curves[estimator].append((iterations / 1e6, report(title, blueprint)))
    if _OUT.value is not None:
        draw(curves, names, _OUT.value)


if __name__ == "__main__":
    app.run(main)
