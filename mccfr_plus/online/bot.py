"""A bot that learns while it plays: outcome sampling (Lanctot et al. 2009, section 3), with games for simulation.

After a game the bot divides its payoff by the probability of its own actions: an unbiased estimate of its gradient, as
opponents and chance were sampled on-policy. From the last infoset visited to the first, it updates and matches regrets.
"""

import math
import random

import pyspiel

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.parameters import Seed, check_number, check_whole, new_state
from mccfr_plus.policies.table import InfoStatePolicy


class Infoset:
    """An own information set that was visited. All lists have an entry per legal action.

    A strategy changes only in games that visit its infoset, so its sum's pending update is the strategy times the
    increase of the parent sequence's sum.
    """

    __slots__ = ("actions", "marks", "parent", "parent_index", "regrets", "strategy", "sums", "uniform_reach")

    def __init__(self, actions: list[int], parent: "Infoset | None", parent_index: int):
        count = len(actions)
        self.actions = actions  # OpenSpiel's legal actions
        self.parent = parent  # the own infoset before this one
        self.parent_index = parent_index  # of the action taken there
        # Probability that uniform play takes all own actions above this infoset.
        self.uniform_reach: float = 1.0 if parent is None else parent.uniform_reach / len(parent.actions)
        self.regrets = [0.0] * count  # cumulative counterfactual regrets, estimated
        self.strategy = [1.0 / count] * count  # the current one, by regret matching
        # Of own reach times strategy over the games counted: without exploration, and with exploration at each node.
        self.sums = [[0.0] * count, [0.0] * count]
        self.marks = [0.0, 0.0]  # the sums of the parent sequence at the last update

    def update_sums(self, num_games: int, epsilon: float | None) -> None:
        """Adds the strategies of the games since the last call, also those with exploration; parents come first."""
        for which, share in enumerate((0.0,) if epsilon is None else (0.0, epsilon)):
            above = num_games if self.parent is None else self.parent.sums[which][self.parent_index]
            gained, floor = above - self.marks[which], share / len(self.actions)
            if gained:
                self.marks[which] = above
                pairs = zip(self.sums[which], self.strategy, strict=True)
                self.sums[which] = [total + gained * (floor + (1.0 - share) * p) for total, p in pairs]

    def observe(self, index: int, value: float) -> float:
        """Updates regrets and strategy by the estimated value of the action taken; returns the infoset's value."""
        passed = self.strategy[index] * value
        regrets = [regret - passed for regret in self.regrets]
        regrets[index] += value
        self.regrets = regrets
        positive = [regret if regret > 0.0 else 0.0 for regret in regrets]
        total = sum(positive)
        uniform = [1.0 / len(regrets)] * len(regrets)
        self.strategy = [regret / total for regret in positive] if total > 0.0 else uniform
        return passed


class OnlineOutcomeSampling(pyspiel.Bot):
    r"""A bot that learns while it plays and whose average regret vanishes against any opponents if `horizon` is given.

    The bot observes only its own information states, its legal actions and, through `end_game`, its payoff. Time and
    memory are linear in the number of infosets that the bot visits. The averages are based on exact sums, over all
    games, of the bot's reach probability times its strategy, without importance weights; docs/how-to/online-play.md
    gives the derivation.

    Args:
        player: The bot's player, in a game with perfect recall.
        epsilon: Exploration at each node, in (0, 1]: at a node with n actions, each is played with probability epsilon
            / n plus (1 - epsilon) times its probability in the bot's strategy. With at most d moves by the bot per
            game and a payoff range of D, exploration costs at most d D epsilon per game; this cost does not vanish.
        horizon: The number of games T, at least 1, given instead of `epsilon`. With probability T^(-1/3), the bot plays
            uniformly at random throughout a game; otherwise, it does not explore in that game. **Regret is O(T^(-1/3))
            per game**, whatever the depth of the game.
        seed: An integer for repeatable play, a NumPy generator, or None.

    Raises:
        ConfigError: If a parameter is out of range, or if neither or both of `epsilon` and `horizon` are given.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> bot = mccfr_plus.OnlineOutcomeSampling(player=0, horizon=5000, seed=1)
        >>> result = mccfr_plus.play_games("kuhn_poker", [bot, pyspiel.make_uniform_random_bot(1, 1)], 5000, seed=1)
        >>> bot.num_games
        5000

    Reference: Lanctot et al. 2009, section 3, equation 10. Differs from it in exploring by game, for a known horizon.
    """

    def __init__(self, player: int, *, epsilon: float | None = None, horizon: int | None = None, seed: Seed = None):
        super().__init__()
        check_whole("player", player, 0)
        if (epsilon is None) == (horizon is None):
            given = f"epsilon={epsilon!r}, horizon={horizon!r}"
            raise ConfigError(f"{given}: give either epsilon (exploration per node) or horizon (number of games).")
        if horizon is not None:
            check_whole("horizon", horizon)
            epsilon = float(horizon) ** (-1.0 / 3.0)
        allowed = "give a number in (0, 1]; without exploration nothing is learned"
        self.epsilon = float(check_number("epsilon", epsilon, 0, 1, allowed))
        self.horizon = None if horizon is None else int(horizon)
        # Sums with exploration by game follow from those without.
        self._epsilon_of_sums = self.epsilon if horizon is None else None
        self._player = int(player)
        self._rng = random.Random(int(new_state(seed)[0]))
        self._infosets: dict[str, Infoset] = {}  # parents before children
        self.num_games = 0  # that were ended
        self._begin(playing=False)

    def _begin(self, playing: bool) -> None:
        self._playing = playing
        self._path: list[tuple[Infoset, int]] = []  # own infosets and the actions taken, in this game
        self._probability = 1.0  # of the draws that took them
        self._uniform_share = self.epsilon  # of uniform play in the next draw

    # --- pyspiel.Bot ---

    def restart(self) -> None:
        """Begins a game. A previous game for which `end_game` was not called is discarded."""
        self._begin(playing=True)

    def restart_at(self, state: pyspiel.State) -> None:
        """See `restart`."""
        self.restart()

    def provides_policy(self) -> bool:
        """Returns True."""
        return True

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """Returns [(action, probability)] for the next `step`, including exploration."""
        actions = state.legal_actions(self._player)
        if not actions:
            return []
        infoset = self._infosets.get(state.information_state_string(self._player))
        strategy = [1.0 / len(actions)] * len(actions) if infoset is None else infoset.strategy
        return list(zip(actions, _mixed(strategy, self._uniform_share), strict=True))

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """Returns ([(action, probability)], action), where the action is drawn with these probabilities."""
        return self.get_policy(state), self.step(state)

    def step(self, state: pyspiel.State) -> int:
        """Returns an action for the bot's player, and remembers it until the end of the game.

        The bot reads only the player's information state and legal actions. Raises GameError if the information state
        occurs twice in this game, or if the player reaches it by different actions than in an earlier game.
        """
        actions = state.legal_actions(self._player)
        if not actions:
            return pyspiel.INVALID_ACTION
        infoset = self._arrive(state.information_state_string(self._player), actions)
        mixed = _mixed(infoset.strategy, self._uniform_share)
        draw, index = self._rng.random(), 0
        while index < len(mixed) - 1 and draw >= mixed[index]:
            draw -= mixed[index]
            index += 1
        self._path.append((infoset, index))
        self._probability *= mixed[index]
        if self.horizon is not None:  # Bayes' rule: the probability that this whole game is uniform
            self._uniform_share /= len(mixed) * mixed[index]
        return actions[index]

    def _arrive(self, key: str, actions: list[int]) -> Infoset:
        parent, index = self._path[-1] if self._path else (None, 0)
        self._playing = True
        infoset = self._infosets.get(key)
        if infoset is None:
            infoset = self._infosets[key] = Infoset(actions, parent, index)
        elif infoset.parent is not parent or infoset.parent_index != index or infoset.actions != actions:
            raise GameError(
                f"information state {key!r} of player {self._player} was reached after different actions of that "
                f"player, or with legal actions other than {infoset.actions}. Either step() was called twice for one "
                "move, restart() was not called after an interrupted game, or the game has imperfect recall."
            )
        return infoset

    # --- learning ---

    def end_game(self, payoff: float) -> None:
        """Ends the game and learns from the bot's payoff. `play_games` calls this method.

        Raises:
            ConfigError: If the payoff is not a finite number, or if no game has begun since the last one ended.
            GameError: If the probability of the bot's actions underflows.
        """
        payoff = float(payoff)
        if not math.isfinite(payoff):
            raise ConfigError(f"payoff={payoff}: give the player's payoff, a finite number.")
        if not self._playing:
            raise ConfigError(
                "end_game() was called with no game in progress: call restart() or step() first, and end_game() once "
                "per game."
            )
        value = self._weighed(payoff)
        if not math.isfinite(value):
            moves = f"{len(self._path)} moves of the bot had a probability of {self._probability:.3g}"
            raise GameError(f"{moves}, too small to divide by, so the bot cannot learn from games of this length.")
        self.num_games += 1
        for infoset, _ in self._path:  # before strategies change, and parents first
            infoset.update_sums(self.num_games, self._epsilon_of_sums)
        for infoset, index in reversed(self._path):
            value = infoset.observe(index, value)
        self._begin(playing=False)

    def _weighed(self, payoff: float) -> float:  # the gradient at the last own sequence
        return payoff / self._probability if self._probability else math.inf

    # --- policies ---

    def current_policy(self, game: pyspiel.Game | None = None) -> InfoStatePolicy:
        """Returns a copy of the strategy for the next game, without exploration.

        Pass `game` if the policy is to be used with OpenSpiel functions that need it.
        """
        rows = {key: _row(infoset.actions, infoset.strategy) for key, infoset in self._infosets.items()}
        return InfoStatePolicy(self._player, rows, game)

    def average_policy(self, game: pyspiel.Game | None = None, *, exploring: bool = False) -> InfoStatePolicy:
        """Returns a copy of the average of the strategies over all games.

        With `exploring`, the average includes exploration, so the value of the average policy against a fixed opponent
        is the mean of the expected values of all games played. For `game`, see `current_policy`.
        """
        rows = {}
        for key, infoset in self._infosets.items():
            infoset.update_sums(self.num_games, self._epsilon_of_sums)
            sums = infoset.sums[exploring and self.horizon is None]
            if exploring and self.horizon is not None:
                floor = self.epsilon * self.num_games * infoset.uniform_reach / len(sums)
                sums = [floor + (1.0 - self.epsilon) * each for each in sums]
            rows[key] = _row(infoset.actions, sums)
        return InfoStatePolicy(self._player, rows, game)


def _mixed(strategy: list[float], share: float) -> list[float]:
    return [share / len(strategy) + (1.0 - share) * p for p in strategy]


def _row(actions: list[int], weights: list[float]) -> dict[int, float]:
    total = sum(weights)
    if not total > 0.0:  # never reached by the bot's own strategy: any answer is right
        return dict.fromkeys(actions, 1.0 / len(actions))
    return {action: weight / total for action, weight in zip(actions, weights, strict=True)}
