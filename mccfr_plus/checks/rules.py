"""Whether the compiled rules of a game keep their contract and agree with what OpenSpiel sees.

Random plays go through the kernels with arrays that have guards before and behind, so that a write past an end is seen;
then OpenSpiel's own simulation test plays; and if the tree is small enough, it is built twice, from the rules and
through pyspiel, and both must be the same bit by bit.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import pyspiel

from mccfr_plus.checks.report import Line, Report, fail
from mccfr_plus.errors import BudgetError, ConfigError, GameError
from mccfr_plus.games import CHANCE, MOVER, TERMINAL, PyspielGame, RulesGame
from mccfr_plus.tree.budget import Budget
from mccfr_plus.tree.game import load_game, quiet_openspiel
from mccfr_plus.tree.game_tree import GameTree, build_tree, compile_game
from mccfr_plus.tree.order import representative_states
from mccfr_plus.tree.recorder import record

_MARGIN = 64
_GUARD = -7_777_777
_SIMULATIONS = 20


def check_game(game: pyspiel.Game | str, *, plays: int = 300, max_nodes: int = 100_000, seed: int = 0) -> Report:
    """Returns what was checked of a game with compiled rules, if all of it is right.

    Args:
        game: The game or its game string; choose small parameters.
        plays: How many random plays to make.
        max_nodes: Up to how many histories to compare whole trees.
        seed: Seed of the plays.

    Raises:
        CheckError: At the first thing that is wrong.
        ConfigError: If the game has no compiled rules.

    Example:
        >>> import mccfr_plus
        >>> print(mccfr_plus.check_game("one_card_poker(deck_size=4)"))  # doctest: +ELLIPSIS
        one_card_poker(deck_size=4): ...
    """
    game = load_game(game)
    if not isinstance(game, PyspielGame):
        raise ConfigError(f"{game} has no compiled rules: check_game is for subclasses of mccfr_plus.games.RulesGame.")
    rng = np.random.default_rng(seed)
    player = _Player(game.rules_game, rng)
    moves = sum(player.play() for _ in range(plays))
    lines = [
        Line("contract", f"{plays:,} plays, {moves:,} moves", "in range, nothing written outside, nothing else changed")
    ]
    try:
        with quiet_openspiel():
            pyspiel.random_sim_test(game, num_sims=_SIMULATIONS, serialize=True, verbose=False)
    except Exception as error:  # pyspiel raises several kinds
        fail(game, f"OpenSpiel's random_sim_test says: {error}", look_at="the sizes in `layout`")
    lines.append(Line("simulation", f"{_SIMULATIONS} plays of OpenSpiel's random_sim_test", "passed"))
    try:
        tree = compile_game(game, max_nodes=max_nodes, progress=False)
    except BudgetError:
        lines.append(Line("tree", f"more than {max_nodes:,} histories", "not compared: choose smaller parameters"))
        return Report(str(game), tuple(lines))
    except GameError as error:
        fail(game, f"its tree cannot be built: {error}", look_at="the kernel that the message names")
    _compare_trees(game, tree)
    lines.append(Line("tree", f"{tree.num_nodes:,} histories, from the rules and through pyspiel", "the same bits"))
    if not tree.perfect_recall:
        fail(
            game,
            "players have imperfect recall: one information state is reached by different own actions",
            look_at="`look`: it must tell all that the player saw and did before",
        )
    lines.append(Line("recall", f"{tree.num_infosets:,} information states", "perfect"))
    _check_tensors(game, tree)
    lines.append(Line("tensors", "information states of different players or texts", "all different"))
    return Report(str(game), tuple(lines))


class _Guarded:
    """An array in the middle of a larger one, whose ends must stay as they are."""

    def __init__(self, size: int, dtype: type):
        self._whole: np.ndarray = np.full(size + 2 * _MARGIN, _GUARD, dtype)
        self.array = self._whole[_MARGIN : _MARGIN + size]

    def is_intact(self) -> bool:
        """Returns whether nothing was written outside."""
        return bool((self._whole[:_MARGIN] == _GUARD).all() and (self._whole[-_MARGIN:] == _GUARD).all())


class _Player:
    """Plays a game at random, with every array guarded."""

    def __init__(self, game: RulesGame, rng: np.random.Generator):
        sizes = game.sizes
        self._game = game
        self._rng = rng
        self._state = _Guarded(sizes.state_size, np.int64)
        self._actions = _Guarded(game.most_actions, np.int64)
        self._probabilities = _Guarded(sizes.max_chance_outcomes, np.float64)
        self._view = _Guarded(sizes.view_size, np.int64)
        self._payoffs = _Guarded(sizes.num_players, np.float64)
        # Copies, so that a kernel that writes to them does no harm to the game.
        self._parameters = _Guarded(len(game.parameters), np.int64)
        self._parameters.array[:] = game.parameters
        self._table = _Guarded(len(game.table), np.float64)
        self._table.array[:] = game.table
        self._guarded = {
            "state": self._state,
            "actions": self._actions,
            "probabilities": self._probabilities,
            "view": self._view,
            "payoffs": self._payoffs,
            "parameters": self._parameters,
            "table": self._table,
        }
        self._limits = np.repeat([field.size for field in sizes.fields], [field.count for field in sizes.fields])

    def play(self) -> int:
        """Plays once; returns the number of moves."""
        sizes, state = self._game.sizes, self._state.array
        state[:] = 0
        self._run("start")
        moves = chances = 0
        while int(state[MOVER]) != TERMINAL:
            mover = int(state[MOVER])
            before = state.copy()
            if mover == CHANCE:
                chances += 1
                choice = self._draw_outcome()
            elif 0 <= mover < sizes.num_players:
                moves += 1
                choice = self._draw_action()
            else:
                self._fail(
                    f"state[MOVER] is {mover}",
                    expected=f"a player 0 .. {sizes.num_players - 1}, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})",
                    look_at="`start` and `apply`, which must set it",
                )
            self._look_at(before)
            self._run("apply", choice)
            if moves > sizes.max_game_length or chances > sizes.max_chance_nodes:
                self._fail(
                    "a history is longer than the layout says",
                    expected=f"at most {sizes.max_game_length} moves of players and {sizes.max_chance_nodes} of chance",
                    look_at="max_game_length and max_chance_nodes, and whether `apply` ends the game",
                )
        before = state.copy()
        self._check_payoffs()
        self._look_at(before)  # observers do so at the end of the game, too
        return moves + chances

    def _run(self, name: str, *arguments: Any) -> Any:
        constants = self._parameters.array, self._table.array
        result = getattr(self._game.rules, name)(*constants, self._state.array, *arguments)
        for array_name, guarded in self._guarded.items():
            if not guarded.is_intact():
                self._fail(f"`{name}` wrote outside of `{array_name}`", look_at="its sizes in `layout`")
        if not all(map(_same_bits, constants, (self._game.parameters, self._game.table))):
            self._fail(f"`{name}` changed `parameters` or `table`", look_at="assignments to them")
        return result

    def _draw_action(self) -> int:
        count = self._run("legal", self._actions.array)
        actions = self._actions.array[: max(count, 0)].tolist()
        most = self._game.sizes.num_distinct_actions
        if not 1 <= count <= most or actions != sorted(set(actions)) or actions[0] < 0 or actions[-1] >= most:
            self._fail(
                f"`legal` gives {count} actions, {actions}",
                expected=f"at least one, ascending, within 0 .. {most - 1}",
                look_at="`legal`, and num_distinct_actions in `layout`",
            )
        return int(self._rng.choice(actions))

    def _draw_outcome(self) -> int:
        if self._game.rules.outcomes is None:
            self._fail("chance is to move, but there is no `outcomes`", look_at="`Rules(outcomes=...)`")
        count = self._run("outcomes", self._actions.array, self._probabilities.array)
        most = self._game.sizes.max_chance_outcomes
        outcomes = self._actions.array[: max(count, 0)].tolist()
        probabilities = self._probabilities.array[: max(count, 0)]
        if not 1 <= count <= most or len(set(outcomes)) < count or min(outcomes) < 0 or max(outcomes) >= most:
            self._fail(
                f"`outcomes` gives {count} outcomes, {outcomes}",
                expected=f"at least one, different ones, within 0 .. {most - 1}",
                look_at="`outcomes`, and max_chance_outcomes in `layout`",
            )
        if not (probabilities >= 0).all() or abs(probabilities.sum() - 1.0) > 1e-9:  # NaN is wrong, too
            self._fail("probabilities of chance do not sum to 1", found=probabilities, look_at="`outcomes`")
        return int(self._rng.choice(outcomes, p=probabilities / probabilities.sum()))

    def _look_at(self, before: np.ndarray) -> None:
        for player in range(self._game.sizes.num_players):
            self._look(player)
        if not np.array_equal(before, self._state.array):
            self._fail(
                "a kernel other than `apply` changed the state", look_at="`legal`, `outcomes`, `look` and `returns`"
            )

    def _look(self, player: int) -> None:
        view = self._view.array
        view[:] = 0
        self._run("look", player, view)
        wrong = np.flatnonzero((view < 0) | (view >= self._limits))
        if len(wrong):
            self._fail(
                f"`look` writes {view[wrong[0]]} at entry {wrong[0]} for player {player}",
                expected=f"a value within 0 .. {self._limits[wrong[0]] - 1}",
                look_at="`look`, and the sizes of fields in `layout`",
            )

    def _check_payoffs(self) -> None:
        sizes, payoffs = self._game.sizes, self._payoffs.array
        payoffs[:] = 0.0
        self._run("returns", payoffs)
        if not (payoffs.min() >= sizes.min_utility - 1e-9 and payoffs.max() <= sizes.max_utility + 1e-9):  # or NaN
            self._fail(
                "a payoff is out of range",
                expected=f"{sizes.min_utility:g} .. {sizes.max_utility:g}",
                found=payoffs,
                look_at="`returns`, and min_utility and max_utility in `layout`",
            )
        if sizes.utility_sum is not None and abs(payoffs.sum() - sizes.utility_sum) > 1e-9:
            self._fail("payoffs do not add up to utility_sum", found=payoffs, look_at="`returns` and `layout`")

    def _fail(self, what: str, **where: Any) -> NoReturn:
        fail(self._game, f"{what}, in the state {self._state.array.tolist()}", **where)


def _same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return bool(np.array_equal(left.view(np.int64), right.view(np.int64)))  # a NaN equals itself


def _compare_trees(game: PyspielGame, tree: GameTree) -> None:
    """Raises CheckError if the tree differs from that of a traversal through pyspiel."""
    look_at = "texts of fields, which must differ where values do, and overridden methods of the game and its states"
    try:
        other = build_tree(game, record(game, Budget(game, 2 * tree.num_nodes + 1, 1 << 40), progress=False))
    except GameError as error:
        fail(game, f"the tree from the rules has {tree.num_nodes:,} histories, but pyspiel's: {error}", look_at=look_at)
    for name, array in tree.arrays._asdict().items():
        if not np.array_equal(array, getattr(other.arrays, name)):
            fail(game, f"the tree from the rules and the one through pyspiel differ in `{name}`", look_at=look_at)
    if tree.shape != other.shape or tree.info_states != other.info_states:
        fail(game, "the tree from the rules and the one through pyspiel differ in information states", look_at=look_at)
    if not (
        np.array_equal(tree.slot_action, other.slot_action)
        and np.array_equal(tree.outcome_action, other.outcome_action)
    ):
        fail(game, "the tree from the rules and the one through pyspiel differ in actions", look_at=look_at)


def _check_tensors(game: PyspielGame, tree: GameTree) -> None:
    """Raises CheckError if two information states have the same tensor."""
    seen: dict[bytes, int] = {}
    for infoset, state in enumerate(representative_states(tree)):
        data = np.array(state.information_state_tensor(state.current_player()), np.float32).tobytes()
        other = seen.setdefault(data, infoset)
        if other != infoset:
            fail(
                game,
                f"information states {tree.info_states[other]!r} and {tree.info_states[infoset]!r} have one tensor",
                look_at="the fields in `layout`",
            )
