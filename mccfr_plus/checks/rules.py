"""Whether the compiled rules of a game keep their contract and agree with OpenSpiel.

Random plays go through the kernels, in arrays with guards on both sides, so that a write past an end is found, and
compare each state with pyspiel's. A small tree is built twice, from the rules and through pyspiel.
"""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.checks.report import CheckLine, Report, Subject
from mccfr_plus.errors import BudgetError, CheckError, GameError, shortened
from mccfr_plus.games import CHANCE, MOVER, TERMINAL, PyspielGame, RulesGame, compiled_rules
from mccfr_plus.games.rules import NOW
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.parameters import check_whole
from mccfr_plus.trees import loading
from mccfr_plus.trees.by_rules import rules_tree
from mccfr_plus.trees.by_rules.frames import places_of
from mccfr_plus.trees.game_tree import Budget, GameTree, build_tree
from mccfr_plus.trees.order import representative_states

_MARGIN = 1 << 14
_GUARD = -7_777_777
_SIMULATIONS = 20
_MAX_BYTES = 1 << 34
_TELLS = {
    "view": "`look` and the texts of information states",
    "code": "`observe`: the last information state, the action there and the code must determine the next one",
}
_TURNED = "`symmetries` in `layout`, and `turned` of its fields"


def check_game(game: pyspiel.Game | str, *, plays: int = 300, max_nodes: int = 100_000, seed: int = 0) -> Report:
    """Checks the compiled rules of a game, whether built in or user-defined.

    For a game without compiled rules, checks legal actions, chance, payoffs and recall.

    Args:
        game: The game or its game string; choose parameters that make the game small.
        plays: Number of random plays.
        max_nodes: The whole tree and all states are compared if the game has at most this number of histories.
        seed: Seed for the plays.

    Raises:
        CheckError: At the first error. If the compiled rules and pyspiel differ, the message contains the history at
            which they differ.
        ConfigError: If `plays` or `max_nodes` is out of range.

    Examples:
        >>> import mccfr_plus
        >>> print(mccfr_plus.check_game("one_card_poker(deck_size=4)"))  # doctest: +ELLIPSIS
        one_card_poker(deck_size=4): ...
    """
    check_whole("plays", plays, 0)
    check_whole("max_nodes", max_nodes)
    game = loading.load_game(game)
    rules_game = compiled_rules(game)
    if rules_game is None:
        return Report(str(game), tuple(_lines_without_rules(game, plays, max_nodes, seed)))
    return Report(str(game), tuple(_lines(game, rules_game, plays, max_nodes, seed)))


def _lines_without_rules(game: pyspiel.Game, plays: int, max_nodes: int, seed: int) -> Iterator[CheckLine]:
    """Checks what the states of a game return, in random plays and in its whole tree."""
    rng, subject, moves, total = np.random.default_rng(seed), Subject(game), 0, game.utility_sum()
    for _ in range(plays):
        state, history = game.new_initial_state(), []
        try:
            while (node := loading.read_node(game, state))[1]:
                mover, actions, probabilities = node
                if mover >= 0 and actions != sorted(actions):
                    raise loading.WrongAnswerError(f"the legal actions {actions} are not sorted")
                history.append(int(rng.choice(actions, p=probabilities)))
                state.apply_action(history[-1])
                loading.require_end(game, len(history))
        except Exception as error:  # the game's own code raises whatever it likes
            raise _as_check_error(subject, loading.game_error(game, history, error)) from None
        moves, payoffs = moves + len(history), np.array(state.returns())
        good = game.min_utility() - 1e-9 <= payoffs.min() and payoffs.max() <= game.max_utility() + 1e-9
        subject.require(good, "a payoff is out of range", "`returns`, min_utility and max_utility", found=payoffs)
        good = total is None or abs(payoffs.sum() - total) <= 1e-9
        subject.require(good, "payoffs do not add up to utility_sum", "`returns`", expected=total, found=payoffs)
    yield CheckLine("states", f"{plays:,} plays, {moves:,} moves", "legal actions, chance and payoffs as declared")
    try:
        tree = build_tree(game, loading.record(game, Budget(game, max_nodes, _MAX_BYTES).check, progress=False))
    except BudgetError:
        yield CheckLine("tree", f"more than {max_nodes:,} histories", "not checked: choose smaller parameters")
        return
    except GameError as error:
        raise _as_check_error(subject, error) from None
    yield CheckLine("tree", f"{tree.num_nodes:,} histories", "information states determine legal actions")
    recall = "perfect" if tree.perfect_recall else "imperfect: CFR need not converge"
    yield CheckLine("recall", f"{tree.num_infosets:,} information states", recall)


def _as_check_error(subject: Subject, error: Exception) -> CheckError:
    what = str(error).removeprefix(str(subject.component)).lstrip(",: ").rstrip(".")  # the report names the game
    return subject.error(shortened(what, 260), "the method of the game or its state that returns this")


def _lines(game: pyspiel.Game, rules_game: RulesGame, plays: int, max_nodes: int, seed: int) -> Iterator[CheckLine]:
    rng, is_own, subject = np.random.default_rng(seed), isinstance(game, PyspielGame), Subject(game)
    compared = _Plays(game, rules_game)
    for _ in range(plays):
        compared.visit(rng)
    kept, states = "in range, nothing written outside, nothing else changed", compared.num_states
    yield CheckLine("contract", f"{plays:,} plays, {states - plays:,} moves", kept)
    if is_own:
        try:
            with loading.quiet_openspiel():
                pyspiel.random_sim_test(game, num_sims=_SIMULATIONS, serialize=True, verbose=False)
        except Exception as error:  # pyspiel raises several kinds
            text = shortened(str(error).split("Serialized state")[0].strip(), 160)
            what, look_at = f"OpenSpiel's random_sim_test says: {text}", "its message, and the sizes in `layout`"
            raise subject.error(what, look_at) from None
        yield CheckLine("simulation", f"{_SIMULATIONS} plays of OpenSpiel's random_sim_test", "passed")
    yield CheckLine("states", f"{plays:,} plays, {states:,} states", "as through pyspiel")
    if rules_game.sizes.symmetries:
        moves = check_symmetries(rules_game, plays // 10, np.random.default_rng(seed))
        yield CheckLine("symmetries", f"{moves:,} moves", "the same once turned")
    try:
        budget = Budget(game, max_nodes, _MAX_BYTES)
        budget.check_estimate(0)
        tree = build_tree(game, rules_tree.build(rules_game, budget.check, max_nodes, progress=False))
    except BudgetError:
        yield CheckLine("tree", f"more than {max_nodes:,} histories", "not compared: choose smaller parameters")
        return
    except GameError as error:
        what = f"its tree cannot be built: {shortened(error, 260)}"
        raise subject.error(what, "the kernel that the message names") from None
    _compare_trees(game, tree)
    yield CheckLine(
        "tree", f"{tree.num_nodes:,} histories, with compiled rules and through pyspiel", "bitwise identical"
    )
    says_perfect = rules_game.sizes.perfect_recall
    what = "players have imperfect recall: one information state is reached by different sequences of their own actions"
    look_at = "`look`: it must tell all that the player saw and did before"
    subject.require(tree.perfect_recall or not says_perfect, what, look_at)
    recall = "perfect" if says_perfect else "imperfect, as `layout` says"
    yield CheckLine("recall", f"{tree.num_infosets:,} information states", recall)
    if rules_game.rules.observe is not None:
        compared.visit()
        yield CheckLine("codes", f"`observe` in {tree.num_nodes:,} histories", "agree with information states")
    if is_own:
        _check_tensors(game, tree)
        yield CheckLine("tensors", "information states of different players or texts", "all different")


class _Plays:
    """Plays with compiled rules and in pyspiel, and compares the two.

    Kernels run on arrays in the middle of larger ones, whose ends must not change. Codes of `observe` are compared with
    the information states met by all visits.
    """

    def __init__(self, game: pyspiel.Game, own: RulesGame):
        sizes, self.num_states = own.sizes, 0
        self._game, self._own, self._sizes = game, own, sizes
        self._state: Any = None  # the pyspiel.State that is visited
        for name in ("num_players", "num_distinct_actions", "max_chance_outcomes", "utility_sum"):
            found, expected = getattr(sizes, name), getattr(game, name)()
            self._require(found == expected, f"{name} differs", "`layout`", expected=expected, found=found)
        counts = [each.count for each in sizes.fields]
        self._limits = np.repeat([each.size for each in sizes.fields], counts)
        self._kept = np.repeat([each.when != NOW for each in sizes.fields], counts)
        self._known: dict[tuple, Any] = {}  # what belongs to an information state, and the other way round
        whole = {"state": sizes.state_size, "actions": own.most_actions, "view": sizes.view_size}
        whole["parameters"] = len(own.parameters)
        real = {"probabilities": sizes.max_chance_outcomes, "payoffs": sizes.num_players, "table": len(own.table)}
        self._whole = {name: np.full(size + 2 * _MARGIN, _GUARD) for name, size in whole.items()}
        self._whole |= {name: np.full(size + 2 * _MARGIN, float(_GUARD)) for name, size in real.items()}
        self._arrays = SimpleNamespace(**{name: whole[_MARGIN:-_MARGIN] for name, whole in self._whole.items()})
        # Copies, so that a kernel that writes to them does no harm to the game.
        self._arrays.parameters[:] = own.parameters
        self._arrays.table[:] = own.table

    def visit(self, rng: np.random.Generator | None = None) -> None:
        """Compares all states of the game, or the states of one random play, in which all kernels are checked."""
        own, last = self._own, [None] * self._sizes.num_players  # information states and actions there
        if rng is not None:  # guarded kernels run before pyspiel runs them
            self._arrays.state[:] = 0
            self._run("start")
        pending: list[tuple] = [(self._game.new_initial_state(), own.first_state, last)]
        while pending:
            self._state, words, last = pending.pop()
            if rng is not None:
                self._check_kernels(words)
            choices, player = self._compare(words, last), self._state.current_player()
            if choices and rng is not None:
                choices = [choices[rng.integers(len(choices))]]
                self._run("apply", choices[0])
            for action in choices:
                after, known = words.copy(), list(last)
                if player >= 0:
                    known[player] = self._state.information_state_string(player), action
                own.rules.apply(own.parameters, own.table, after, action)
                pending.append((self._state.child(action), after, known))
        self._state = None

    def _check_kernels(self, words: np.ndarray) -> None:
        sizes, state, mover = self._sizes, self._arrays.state, int(words[MOVER])
        state[:] = words
        expected = f"a player 0 .. {sizes.num_players - 1}, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})"
        good, look_at = mover in (CHANCE, TERMINAL, *range(sizes.num_players)), "`start` and `apply`, which must set it"
        self._require(good, f"state[MOVER] is {mover}", look_at, expected=expected)
        players = [each.player for each in self._state.full_history()]
        chances = players.count(CHANCE)
        good = chances <= sizes.max_chance_nodes and len(players) - chances <= sizes.max_game_length
        look_at = "max_game_length and max_chance_nodes, and whether `apply` ends the game"
        self._require(good, "a history is longer than the layout says", look_at)
        if mover == TERMINAL:
            self._check_payoffs()
        else:
            self._check_choices(mover == CHANCE)
        for player in range(sizes.num_players):  # observers also look at the end of the game
            self._check_view(player)

    def _run(self, name: str, *arguments: Any) -> Any:
        constants, before = (self._arrays.parameters, self._arrays.table), self._arrays.state.copy()
        result = getattr(self._own.rules, name)(*constants, self._arrays.state, *arguments)
        for array_name, whole in self._whole.items():
            is_kept = (whole[:_MARGIN] == _GUARD).all() and (whole[-_MARGIN:] == _GUARD).all()
            self._require(is_kept, f"`{name}` wrote outside of `{array_name}`", "its sizes in `layout`")
        kept = zip(constants, (self._own.parameters, self._own.table), strict=True)
        same = all(np.array_equal(array.view(np.int64), own.view(np.int64)) for array, own in kept)
        self._require(same, f"`{name}` changed `parameters` or `table`", "assignments to them")
        same = name in ("start", "apply") or np.array_equal(before, self._arrays.state)
        self._require(same, "a kernel other than `apply` changed the state", f"`{name}`")
        return result

    def _check_choices(self, is_chance: bool) -> None:
        name, what, order, setting = "legal", "actions", "ascending", "num_distinct_actions"
        arrays = [self._arrays.actions]
        if is_chance:
            exists = self._own.rules.outcomes is not None
            self._require(exists, "chance is to move, but `outcomes` is missing", "`Rules(outcomes=...)`")
            name, what, order, setting = "outcomes", "outcomes", "different", "max_chance_outcomes"
            arrays.append(self._arrays.probabilities)
        count, most = self._run(name, *arrays), getattr(self._sizes, setting)
        self._require(isinstance(count, int), f"`{name}` returns {count!r}", f"its `return`: how many {what} there are")
        listed = self._arrays.actions[: max(count, 0)].tolist()
        is_ordered = is_chance or listed == sorted(listed)
        good = 1 <= count <= most and len(set(listed)) == count and is_ordered and set(listed) <= set(range(most))
        expected, what = f"at least one, {order}, within 0 .. {most - 1}", f"{count} {what}, {shortened(listed, 60)}"
        self._require(good, f"`{name}` gives {what}", f"`{name}`, and {setting} in `layout`", expected=expected)
        chances = self._arrays.probabilities[:count]
        good = not is_chance or ((chances >= 0).all() and abs(chances.sum() - 1.0) <= 1e-9)  # false for NaN
        self._require(good, "probabilities of chance do not sum to 1", "`outcomes`", found=chances)

    def _check_view(self, player: int) -> None:
        view = self._arrays.view
        view[:] = 0
        self._run("look", player, view)
        for wrong in np.flatnonzero((view < 0) | (view >= self._limits)):
            what = f"`look` writes {view[wrong]} at entry {wrong} for player {player}"
            expected, look_at = f"0 .. {self._limits[wrong] - 1}", "`look`, and the sizes of fields in `layout`"
            self._require(False, what, look_at, expected=expected)

    def _check_payoffs(self) -> None:
        sizes, payoffs = self._sizes, self._arrays.payoffs
        payoffs[:] = 0.0
        self._run("returns", payoffs)
        good = payoffs.min() >= sizes.min_utility - 1e-9 and payoffs.max() <= sizes.max_utility + 1e-9  # false for NaN
        look_at, expected = "`returns`, min_utility and max_utility", f"{sizes.min_utility:g} .. {sizes.max_utility:g}"
        self._require(good, "a payoff is out of range", look_at, expected=expected, found=payoffs)
        good = sizes.utility_sum is None or abs(payoffs.sum() - sizes.utility_sum) <= 1e-9
        self._require(good, "payoffs do not add up to utility_sum", "`returns` and `layout`", found=payoffs)

    def _compare(self, words: np.ndarray, last: Sequence) -> list[int]:
        """Compares the state with pyspiel's; returns the actions or outcomes there."""
        self.num_states += 1
        own, state = self._own, self._state
        mover = state.current_player()
        self._same("the player to move", "`apply`, which sets state[MOVER]", int(words[MOVER]), int(mover))
        if mover == TERMINAL:
            self._same("payoffs", "`returns`", own.returns(words), state.returns())
            return []
        choices, probabilities = own.choices(words)
        if mover == CHANCE:
            listed = list(zip(choices, probabilities, strict=True))
            self._same("outcomes of chance", "`outcomes`", listed, state.chance_outcomes())
            return choices
        self._same("legal actions", "`legal`", choices, state.legal_actions())
        text, view = state.information_state_string(mover), np.zeros(len(self._kept), np.int64)
        own.rules.look(own.parameters, own.table, words, mover, view)
        for values in (view, np.where(self._kept, view, 0)):  # fields that are only observed must not be in it
            self._same("the information state", _TELLS["view"], own.view_text(mover, values.tolist()), text)
        self._pair("view", mover, text, tuple(view[self._kept].tolist()))
        if own.rules.observe is not None:
            before, limit, action = words.tolist(), self._sizes.max_first_observations, -1
            if last[mover]:
                limit, (_, action) = self._sizes.max_observations, last[mover]
            code = own.rules.observe(own.parameters, own.table, words, mover, action)
            good, expected = 0 <= code < limit, f"0 .. {limit - 1}"
            self._require(good, "`observe` is out of range", "the sizes in `layout`", expected=expected, found=code)
            self._pair("code", mover, text, (last[mover], code))
            self._same("the state itself", "`observe`, which must not change it", words.tolist(), before)
        return choices

    def _pair(self, what: str, player: int, text: str, other: Any) -> None:
        """Requires that an information state and something else determine each other."""
        known = self._known.setdefault((what, player, other), text)
        self._same(f"the information state by its {what}", _TELLS[what], known, text)
        if what != "code" or self._sizes.perfect_recall:
            known = self._known.setdefault((player, text, what), other)
            self._same(f"the {what} of an information state met before", _TELLS[what], other, known)

    def _same(self, what: str, look_at: str, found: Any, expected: Any) -> None:
        same, what = found == expected, f"the rules differ from pyspiel in {what}"
        self._require(same, what, look_at, expected=expected, found=found)

    def _require(self, good: Any, what: str, look_at: str, **values: Any) -> None:
        if not good:
            after = f", after the history {shortened(self._state.history())}" if self._state is not None else ""
            raise Subject(self._game).error(f"{what}{after}", look_at, **values)


def _compare_trees(game: pyspiel.Game, tree: GameTree) -> None:
    """Raises CheckError if the tree differs from the one that is built through pyspiel."""
    look_at = "texts of fields, which must differ where values do, and overridden methods of the game and its states"
    subject = Subject(game)
    try:
        other = build_tree(
            game, loading.record(game, Budget(game, 2 * tree.num_nodes + 1, _MAX_BYTES).check, progress=False)
        )
    except GameError as error:
        what = f"the tree from the rules has {tree.num_nodes:,} histories, but pyspiel's: {shortened(error)}"
        raise subject.error(what, look_at) from None
    pairs = {f"`{name}`": (array, getattr(other.arrays, name)) for name, array in tree.arrays._asdict().items()}
    for name in ("info_states", "shape", "slot_action", "outcome_action"):
        pairs[f"`{name}`"] = getattr(tree, name), getattr(other, name)
    for name, (ours, theirs) in pairs.items():
        same = np.array_equal(ours, theirs) if isinstance(ours, np.ndarray) else ours == theirs
        subject.require(same, f"the tree from the rules and the one through pyspiel differ in {name}", look_at)


def _check_tensors(game: pyspiel.Game, tree: GameTree) -> None:
    seen: dict[bytes, int] = {}
    for infoset, state in enumerate(representative_states(tree)):
        data = np.array(state.information_state_tensor(state.current_player()), np.float32).tobytes()
        other = seen.setdefault(data, infoset)
        both = " and ".join(shortened(repr(tree.info_states[each])) for each in (other, infoset))
        Subject(game).require(other == infoset, f"information states {both} have one tensor", "the fields in `layout`")


def check_symmetries(game: RulesGame, plays: int, rng: np.random.Generator) -> int:
    """Returns the number of moves of random plays that were compared with their images; CheckError if one differs."""
    try:
        group = Symmetries(game.sizes)
    except ValueError as error:
        raise Subject(game).error(str(error), _TURNED) from None
    return sum(_play_turned(game, group, element, rng) for element in range(1, len(group)) for _ in range(plays))


def _play_turned(game: RulesGame, group: Symmetries, element: int, rng: np.random.Generator) -> int:
    def require(good: bool, what: str) -> None:
        if not good:
            where = f"in the state {shortened(state.tolist())}"
            raise Subject(game).error(f"a symmetry changes {what}, {where}", _TURNED)

    turned, places, observe = group.permutations[element], places_of(game), game.rules.observe
    state, image, moves = game.first_state.copy(), game.first_state.copy(), 0
    last = np.full(game.sizes.num_players, -1)
    while (mover := int(state[MOVER])) != TERMINAL:
        require(int(image[MOVER]) == mover, "the player to move")
        legal = game.choices(state)[0]
        require(sorted(turned[legal].tolist()) == game.choices(image)[0], "legal actions")
        seen = group.values[element, group.bases + game.look(state, mover)[places]]
        require(np.array_equal(seen, game.look(image, mover)[places]), "information states")
        if observe is not None:
            there = turned[last[mover]] if last[mover] >= 0 else -1
            code = observe(game.parameters, game.table, state, mover, last[mover])
            require(code == observe(game.parameters, game.table, image, mover, there), "codes of `observe`")
        last[mover] = choice = int(rng.choice(legal))
        game.rules.apply(game.parameters, game.table, state, choice)
        game.rules.apply(game.parameters, game.table, image, int(turned[choice]))
        moves += 1
    require(int(image[MOVER]) == TERMINAL and game.returns(state) == game.returns(image), "payoffs")
    return moves
