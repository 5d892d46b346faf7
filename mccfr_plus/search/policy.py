"""`SearchPolicy`: an OpenSpiel policy that solves the subgame in which it is asked, again at each own decision."""

import itertools
import time
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.bots.policy import PolicyBot

from mccfr_plus.errors import BudgetError, ConfigError
from mccfr_plus.evaluation.strategies import JointPolicy, require_player
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import LARGEST, Seed, check_choice, check_number, check_whole, new_state
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.search.blueprint import AFTER_CHANCE, Blueprint
from mccfr_plus.search.partial_game import decisions, subgame_at
from mccfr_plus.search.resolving import DEFAULT_MINIMIZER, METHODS, Resolved, resolve
from mccfr_plus.trees.public.public_tree import PublicTree


class SearchPolicy(TreePolicy):
    """A policy that first plays a blueprint and, from some public states on, the results of nested subgame solving.

    A player solves the subgame that begins at `start` and then, starting from the solution, the subgame of each of the
    player's decisions in it, with all actions of the game. It also solves a subgame after an opponent's action that the
    blueprint's game lacks; this action should gain no more than the best other action. A player who never comes to a
    subgame keeps its strategy there.

    `evaluate` and `exploitability` solve all subgames for both players, and judge the whole policy exactly. At a single
    state, the policy solves the subgames on the path to it, whose results are kept.

    Args:
        blueprint: A policy of a two-player zero-sum game that has a public tree.
        game: The game that is played, or its public tree, perhaps with more actions than the blueprint's; see
            `Blueprint`. Default: the game of the blueprint.
        start: Where subgames begin: after so many actions, or ``"chance"``: after the first public outcome of chance.
        method: ``"unsafe"``, ``"resolve"``, ``"maxmargin"`` or ``"reach"``; see `gadget`.
        iterations: Iterations of full traversals per subgame and player. After few of them, such as 10, even a safe
            method can make the policy more exploitable than the blueprint, by at most `Certificate.excess`.
        seconds: Wall-clock seconds per move instead of `iterations`, for play: the policy then depends on the machine.
        minimizer: The minimizer that solves subgames.

    Attributes:
        resolved: The results so far, by the subgame's node and the player; None for play without search.
        out_of_time: Number of times that a subgame was left without a single iteration, for lack of time.

    Raises:
        GameError: If the game has no public tree, is not zero-sum, or lacks a part of the blueprint's game.
        PolicyError: If the blueprint lacks an information set.
        ConfigError: If no public state is at `start`, or another argument is out of range.

    Examples:
        >>> from mccfr_plus import Solver, exploitability, search
        >>> blueprint = Solver("leduc_poker", seed=1).run(3000).average_policy()
        >>> policy = search.SearchPolicy(blueprint, method="maxmargin", iterations=200)
        >>> exploitability("leduc_poker", policy) < exploitability("leduc_poker", blueprint)
        True
    """

    def __init__(
        self,
        blueprint: JointPolicy,
        game: pyspiel.Game | str | PublicTree | None = None,
        start: int | str = AFTER_CHANCE,
        method: str = "maxmargin",
        *,
        iterations: int = 1000,
        seconds: float | None = None,
        minimizer: Minimizer | str = DEFAULT_MINIMIZER,
    ):
        check_choice("method", method, METHODS)
        check_whole("iterations", iterations)
        if seconds is not None:
            check_number("seconds", seconds, 0, LARGEST, "give a positive number, or None")
        self.blueprint = Blueprint(blueprint, game, start)
        super().__init__(self.blueprint.tree, self.blueprint.strategy)  # type: ignore[arg-type]
        self.tree: Any
        self.method, self.iterations, self.seconds, self.minimizer = method, iterations, seconds, minimizer
        self.resolved: dict[tuple[int, int], Resolved | None] = {}
        self.out_of_time = 0
        if seconds is not None:  # compiles, before the first move
            places = ((each, player) for each in self.blueprint.subgames[::-1] for player in range(2))
            for place in itertools.islice((each for each in places if self.blueprint.reaches(*each)), 1):
                resolve(self.blueprint, *place, method, iterations=1, minimizer=minimizer)
        self._plans = [self.blueprint, self.blueprint]  # by player: what it plays, and what it takes the other to play

    def strategy(self) -> np.ndarray:
        """Solves the remaining subgames and returns the probabilities at all information sets, ``[num_slots]`` float64.

        Raises:
            ConfigError: If searches are limited by seconds.
        """
        if self.seconds is not None:
            raise ConfigError(f"seconds={self.seconds:g} is for play only: give iterations= for a single fixed policy.")
        for subgame in self.blueprint.subgames:
            last = int(self.tree.arrays.nodes[subgame.node]["last"])
            for player in range(2):
                for node in self._places(player, subgame.node, last):
                    self._search(node, player)
        return super().strategy()

    def bot(self, player: int, seed: Seed = None) -> pyspiel.Bot:
        """Returns an OpenSpiel bot that plays the policy for a player."""
        require_player(self.game, player)
        return PolicyBot(player, np.random.RandomState(int(new_state(seed)[0]) % 2**32), self)

    def _places(self, player: int, begin: int, end: int) -> list[int]:
        """Returns where the player searches, from the beginning of a subgame to one of its nodes or its end."""
        own = decisions(self.tree, player, begin, end)
        return own if own[:1] == [begin] else [begin, *own]

    def _search(self, node: int, player: int, seconds: float | None = None) -> None:
        """Solves a subgame for a player, given that those above are solved."""
        if (node, player) in self.resolved:
            return
        subgame, plan, found = subgame_at(self.tree, node), self._plans[player], None
        if plan.reaches(subgame, player):
            limits: dict[str, Any] = {"iterations": self.iterations, "seconds": seconds, "minimizer": self.minimizer}
            try:
                found = resolve(plan, subgame, player, self.method, **limits)
            except BudgetError:
                self.out_of_time += 1
        if found is not None:
            self._plans[player] = plan.after(subgame, player, {player: found.strategy, 1 - player: found.opponent})
            if self.method == "reach":
                self._plans[player].add_gifts(subgame, player)
            self._strategy[subgame.slots[player]] = found.strategy
        self.resolved[node, player] = found

    def _actions_and_probabilities(self, infoset: int) -> list[tuple[int, float]]:
        nodes, player = self.tree.arrays.nodes, int(self.tree.arrays.infosets[infoset]["player"])
        own = np.flatnonzero(nodes["kind"] == player)
        node = int(own[np.searchsorted(nodes["first"][own], infoset, side="right") - 1])
        begins = [subgame.node for subgame in self.blueprint.subgames if subgame.node <= node]
        if begins and node < nodes["last"][begins[-1]]:
            on_path = [each for each in self._places(player, begins[-1], node + 1) if nodes["last"][each] > node]
            left = [each for each in on_path if (each, player) not in self.resolved]
            end = time.perf_counter() + (self.seconds or 0.0)
            for number, each in enumerate(left):
                spare = (end - time.perf_counter()) / (len(left) - number)
                self._search(each, player, None if self.seconds is None else max(spare, 1e-9))
        return super()._actions_and_probabilities(infoset)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a policy that searches cannot be pickled: create it in the process that needs it.")
