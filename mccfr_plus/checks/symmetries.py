"""Whether the symmetries of compiled rules preserve legal actions, information states and payoffs."""

import numpy as np

from mccfr_plus.checks.report import Subject
from mccfr_plus.games import MOVER, TERMINAL, RulesGame
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.trees.by_rules.rules_keys import places_of

_LOOK_AT = "`symmetries` in `layout`, and `turned` of its fields"


def check_symmetries(game: RulesGame, plays: int, rng: np.random.Generator) -> int:
    """Returns the number of moves of random plays that were compared with their images; CheckError if one differs."""
    try:
        group = Symmetries(game.sizes)
    except ValueError as error:
        Subject(game).fail(str(error), _LOOK_AT)
    return sum(_play(game, group, element, rng) for element in range(1, len(group)) for _ in range(plays))


def _play(game: RulesGame, group: Symmetries, element: int, rng: np.random.Generator) -> int:
    turned = group.permutations[element]
    state, image, moves = game.first_state.copy(), game.first_state.copy(), 0
    places = places_of(game)
    last = np.full(game.sizes.num_players, -1)
    while (mover := int(state[MOVER])) != TERMINAL:
        _require(game, int(image[MOVER]) == mover, "the player to move", state)
        legal, legal_there = _legal(game, state), _legal(game, image)
        _require(game, sorted(turned[legal].tolist()) == legal_there, "legal actions", state)
        view = game.look(state, mover)[places]
        seen = group.values[element, group.bases + view]
        _require(game, np.array_equal(seen, game.look(image, mover)[places]), "information states", state)
        if game.rules.observe is not None:
            action = int(last[mover])
            there = int(turned[action]) if action >= 0 else -1
            codes = (_code(game, words, mover, own) for words, own in ((state, action), (image, there)))
            _require(game, len(set(codes)) == 1, "codes of `observe`", state)
        last[mover] = choice = int(rng.choice(legal))
        game.rules.apply(game.parameters, game.table, state, choice)
        game.rules.apply(game.parameters, game.table, image, int(turned[choice]))
        moves += 1
    payoffs = np.zeros((2, game.sizes.num_players))
    for words, row in zip((state, image), payoffs, strict=True):
        game.rules.returns(game.parameters, game.table, words, row)
    _require(game, int(image[MOVER]) == TERMINAL and np.array_equal(*payoffs), "payoffs", state)
    return moves


def _legal(game: RulesGame, words: np.ndarray) -> list[int]:
    actions = np.zeros(game.most_actions, np.int64)
    count = game.rules.legal(game.parameters, game.table, words, actions)
    return actions[:count].tolist()


def _code(game: RulesGame, words: np.ndarray, player: int, action: int) -> int:
    assert game.rules.observe is not None
    return int(game.rules.observe(game.parameters, game.table, words, player, action))


def _require(game: RulesGame, good: bool, what: str, state: np.ndarray) -> None:
    if not good:
        Subject(game).fail(f"a symmetry changes {what}, in the state {state.tolist()}", _LOOK_AT)
