"""Whether the compiled rules of a game keep their contract and agree with OpenSpiel.

Random plays go through the kernels. Their arrays have guards on both sides, so that a write past an end is found. More
plays compare each state with pyspiel's, and OpenSpiel's own simulation test plays. A small tree is built twice, from
the rules and through pyspiel, and both must be bitwise identical.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.checks.agreement import Agreement
from mccfr_plus.checks.report import CheckLine, Report, Subject
from mccfr_plus.checks.symmetries import check_symmetries
from mccfr_plus.errors import BudgetError, ConfigError, GameError
from mccfr_plus.games import CHANCE, MOVER, TERMINAL, PyspielGame, RulesGame, compiled_rules
from mccfr_plus.games.openspiel import why_no_rules
from mccfr_plus.parameters import check_whole
from mccfr_plus.trees.by_rules import rules_tree
from mccfr_plus.trees.game_tree import GameTree, build_tree
from mccfr_plus.trees.loading import load_game, quiet_openspiel, record
from mccfr_plus.trees.memory import Budget
from mccfr_plus.trees.order import representative_states

_MARGIN = 1 << 14
_GUARD = -7_777_777
_SIMULATIONS = 20
_MAX_BYTES = 1 << 34


def check_game(game: pyspiel.Game | str, *, plays: int = 300, max_nodes: int = 100_000, seed: int = 0) -> Report:
    """Checks the compiled rules of a game: of this package, of a user, or this package's rules of OpenSpiel's games.

    Args:
        game: The game or its game string; choose small parameters.
        plays: Number of random plays.
        max_nodes: Whole trees, and all states, are compared up to this number of histories.
        seed: Seed of the plays.

    Raises:
        CheckError: At the first fault, with the history if rules and pyspiel differ.
        ConfigError: If the game has no compiled rules, or `plays` or `max_nodes` is out of range.

    Examples:
        >>> import mccfr_plus
        >>> print(mccfr_plus.check_game("one_card_poker(deck_size=4)"))  # doctest: +ELLIPSIS
        one_card_poker(deck_size=4): ...
    """
    check_whole("plays", plays, 0)
    check_whole("max_nodes", max_nodes)
    game = load_game(game)
    rules_game = compiled_rules(game)
    if rules_game is None:
        raise ConfigError(f"check_game: {why_no_rules(game)}")
    return Report(str(game), tuple(_lines(game, rules_game, plays, max_nodes, seed)))


def _lines(game: pyspiel.Game, rules_game: RulesGame, plays: int, max_nodes: int, seed: int) -> Iterator[CheckLine]:
    rng, is_own, subject = np.random.default_rng(seed), isinstance(game, PyspielGame), Subject(game)
    player = _Player(rules_game, rng)
    moves = sum(player.play() for _ in range(plays))
    kept = "in range, nothing written outside, nothing else changed"
    yield CheckLine("contract", f"{plays:,} plays, {moves:,} moves", kept)
    if is_own:
        yield _simulated(game)
    agreement = Agreement(game, rules_game)
    for _ in range(plays):
        agreement.play(rng)
    yield CheckLine("states", f"{plays:,} plays, {agreement.num_states:,} states", "as through pyspiel")
    if rules_game.sizes.symmetries:
        moves = check_symmetries(rules_game, plays // 10, np.random.default_rng(seed))
        yield CheckLine("symmetries", f"{moves:,} moves", "the same once turned")
    try:
        budget = Budget(game, max_nodes, _MAX_BYTES)
        budget.check_estimate(0)
        tree = build_tree(game, rules_tree.build(rules_game, budget, progress=False))
    except BudgetError:
        yield CheckLine("tree", f"more than {max_nodes:,} histories", "not compared: choose smaller parameters")
        return
    except GameError as error:
        subject.fail(f"its tree cannot be built: {error}", "the kernel that the message names")
    _compare_trees(game, tree)
    yield CheckLine("tree", f"{tree.num_nodes:,} histories, by rules and through pyspiel", "bitwise identical")
    says_perfect = rules_game.sizes.perfect_recall
    what = "players have imperfect recall: one information state is reached by different own actions"
    look_at = "`look`: it must tell all that the player saw and did before"
    subject.require(tree.perfect_recall or not says_perfect, what, look_at)
    recall = "perfect" if says_perfect else "imperfect, as `layout` says"
    yield CheckLine("recall", f"{tree.num_infosets:,} information states", recall)
    if rules_game.rules.observe is not None:
        agreement.traverse()
        compared = f"`observe` in {tree.num_nodes:,} histories"
        yield CheckLine("codes", compared, "agree with information states")
    if is_own:
        _check_tensors(game, tree)
        yield CheckLine("tensors", "information states of different players or texts", "all different")


def _simulated(game: pyspiel.Game) -> CheckLine:
    """Runs OpenSpiel's own test of a game."""
    try:
        with quiet_openspiel():
            pyspiel.random_sim_test(game, num_sims=_SIMULATIONS, serialize=True, verbose=False)
    except Exception as error:  # pyspiel raises several kinds
        what = str(error).split("Serialized state")[0].strip()
        Subject(game).fail(f"OpenSpiel's random_sim_test says: {what}", "its message, and the sizes in `layout`")
    return CheckLine("simulation", f"{_SIMULATIONS} plays of OpenSpiel's random_sim_test", "passed")


class _Player:
    """Plays a game at random. Each array lies in the middle of a larger one, whose ends must not change."""

    def __init__(self, game: RulesGame, rng: np.random.Generator):
        sizes = game.sizes
        self._game, self._rng, self._sizes = game, rng, sizes
        whole = {"state": sizes.state_size, "actions": game.most_actions, "view": sizes.view_size}
        whole["parameters"] = len(game.parameters)
        real = {"probabilities": sizes.max_chance_outcomes, "payoffs": sizes.num_players, "table": len(game.table)}
        self._whole = {name: np.full(size + 2 * _MARGIN, _GUARD) for name, size in whole.items()}
        self._whole |= {name: np.full(size + 2 * _MARGIN, float(_GUARD)) for name, size in real.items()}
        self._arrays = SimpleNamespace(**{name: whole[_MARGIN:-_MARGIN] for name, whole in self._whole.items()})
        # Copies, so that a kernel that writes to them does no harm to the game.
        self._arrays.parameters[:] = game.parameters
        self._arrays.table[:] = game.table
        self._limits = np.repeat([field.size for field in sizes.fields], [field.count for field in sizes.fields])

    def play(self) -> int:
        """Plays once; returns the number of moves."""
        sizes, state = self._sizes, self._arrays.state
        state[:] = 0
        self._run("start")
        moves = chances = 0
        while (mover := int(state[MOVER])) != TERMINAL:
            before = state.copy()
            expected = f"a player 0 .. {sizes.num_players - 1}, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})"
            good, what = mover == CHANCE or 0 <= mover < sizes.num_players, f"state[MOVER] is {mover}"
            self._require(good, what, "`start` and `apply`, which must set it", expected=expected)
            moves, chances = moves + (mover != CHANCE), chances + (mover == CHANCE)
            choice = int(self._rng.choice(*self._choices(mover == CHANCE)))
            self._look(before)
            self._run("apply", choice)
            good = moves <= sizes.max_game_length and chances <= sizes.max_chance_nodes
            look_at = "max_game_length and max_chance_nodes, and whether `apply` ends the game"
            self._require(good, "a history is longer than the layout says", look_at)
        before = state.copy()
        self._check_payoffs()
        self._look(before)  # observers look at the end of the game, too
        return moves + chances

    def _run(self, name: str, *arguments: Any) -> Any:
        constants = self._arrays.parameters, self._arrays.table
        result = getattr(self._game.rules, name)(*constants, self._arrays.state, *arguments)
        for array_name, whole in self._whole.items():
            is_kept = (whole[:_MARGIN] == _GUARD).all() and (whole[-_MARGIN:] == _GUARD).all()
            self._require(is_kept, f"`{name}` wrote outside of `{array_name}`", "its sizes in `layout`")
        kept = zip(constants, (self._game.parameters, self._game.table), strict=True)
        same = all(np.array_equal(array.view(np.int64), own.view(np.int64)) for array, own in kept)
        self._require(same, f"`{name}` changed `parameters` or `table`", "assignments to them")
        return result

    def _choices(self, is_chance: bool) -> tuple:
        """Returns the arguments of `Generator.choice` for an action or an outcome of chance."""
        name, what, order, setting = "legal", "actions", "ascending", "num_distinct_actions"
        arrays = [self._arrays.actions]
        if is_chance:
            exists = self._game.rules.outcomes is not None
            self._require(exists, "chance is to move, but `outcomes` is missing", "`Rules(outcomes=...)`")
            name, what, order, setting = "outcomes", "outcomes", "different", "max_chance_outcomes"
            arrays.append(self._arrays.probabilities)
        count, most = self._run(name, *arrays), getattr(self._sizes, setting)
        self._require(isinstance(count, int), f"`{name}` returns {count!r}", f"its `return`: how many {what} there are")
        listed = self._arrays.actions[: max(count, 0)].tolist()
        is_ordered = is_chance or listed == sorted(listed)
        good = 1 <= count <= most and len(set(listed)) == count and is_ordered and set(listed) <= set(range(most))
        what, expected = f"`{name}` gives {count} {what}, {listed}", f"at least one, {order}, within 0 .. {most - 1}"
        self._require(good, what, f"`{name}`, and {setting} in `layout`", expected=expected)
        if not is_chance:
            return (listed,)
        probabilities = self._arrays.probabilities[:count]
        good = (probabilities >= 0).all() and abs(probabilities.sum() - 1.0) <= 1e-9  # NaN is wrong, too
        self._require(good, "probabilities of chance do not sum to 1", "`outcomes`", found=probabilities)
        return listed, None, True, probabilities / probabilities.sum()

    def _look(self, before: np.ndarray) -> None:
        """Runs `look` for all players, and compares the state with the one before."""
        view = self._arrays.view
        for player in range(self._sizes.num_players):
            view[:] = 0
            self._run("look", player, view)
            for wrong in np.flatnonzero((view < 0) | (view >= self._limits)):
                what = f"`look` writes {view[wrong]} at entry {wrong} for player {player}"
                expected = f"a value within 0 .. {self._limits[wrong] - 1}"
                self._require(False, what, "`look`, and the sizes of fields in `layout`", expected=expected)
        same = np.array_equal(before, self._arrays.state)
        self._require(same, "a kernel other than `apply` changed the state", "`legal`, `outcomes`, `look`, `returns`")

    def _check_payoffs(self) -> None:
        sizes, payoffs = self._sizes, self._arrays.payoffs
        payoffs[:] = 0.0
        self._run("returns", payoffs)
        good = payoffs.min() >= sizes.min_utility - 1e-9 and payoffs.max() <= sizes.max_utility + 1e-9  # false for NaN
        look_at, expected = "`returns`, min_utility and max_utility", f"{sizes.min_utility:g} .. {sizes.max_utility:g}"
        self._require(good, "a payoff is out of range", look_at, expected=expected, found=payoffs)
        good = sizes.utility_sum is None or abs(payoffs.sum() - sizes.utility_sum) <= 1e-9
        self._require(good, "payoffs do not add up to utility_sum", "`returns` and `layout`", found=payoffs)

    def _require(self, good: Any, what: str, look_at: str, **values: Any) -> None:
        if not good:
            Subject(self._game).fail(f"{what}, in the state {self._arrays.state.tolist()}", look_at, **values)


def _compare_trees(game: pyspiel.Game, tree: GameTree) -> None:
    """Raises CheckError if the tree differs from the one that is built through pyspiel."""
    look_at = "texts of fields, which must differ where values do, and overridden methods of the game and its states"
    subject = Subject(game)
    try:
        other = build_tree(game, record(game, Budget(game, 2 * tree.num_nodes + 1, _MAX_BYTES).check, progress=False))
    except GameError as error:
        subject.fail(f"the tree from the rules has {tree.num_nodes:,} histories, but pyspiel's: {error}", look_at)
    pairs = {f"`{name}`": (array, getattr(other.arrays, name)) for name, array in tree.arrays._asdict().items()}
    pairs["information states"] = tree.info_states, other.info_states
    pairs["shape"] = tree.shape, other.shape
    pairs["actions"] = tree.slot_action, other.slot_action
    pairs["chance outcomes"] = tree.outcome_action, other.outcome_action
    for name, (ours, theirs) in pairs.items():
        same = np.array_equal(ours, theirs) if isinstance(ours, np.ndarray) else ours == theirs
        subject.require(same, f"the tree from the rules and the one through pyspiel differ in {name}", look_at)


def _check_tensors(game: pyspiel.Game, tree: GameTree) -> None:
    """Raises CheckError if two information states have the same tensor."""
    seen: dict[bytes, int] = {}
    for infoset, state in enumerate(representative_states(tree)):
        data = np.array(state.information_state_tensor(state.current_player()), np.float32).tobytes()
        other = seen.setdefault(data, infoset)
        both = f"{tree.info_states[other]!r} and {tree.info_states[infoset]!r}"
        Subject(game).require(other == infoset, f"information states {both} have one tensor", "the fields in `layout`")
