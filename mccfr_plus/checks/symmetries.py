"""Whether the symmetries of compiled rules preserve legal actions, information states and payoffs."""

import numpy as np

from mccfr_plus.checks.report import Subject
from mccfr_plus.games import MOVER, TERMINAL, RulesGame
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.trees.by_rules.frames import places_of

_LOOK_AT = "`symmetries` in `layout`, and `turned` of its fields"


def check_symmetries(game: RulesGame, plays: int, rng: np.random.Generator) -> int:
    """Returns the number of moves of random plays that were compared with their images; CheckError if one differs."""
    try:
        group = Symmetries(game.sizes)
    except ValueError as error:
        Subject(game).fail(str(error), _LOOK_AT)
    return sum(_play(game, group, element, rng) for element in range(1, len(group)) for _ in range(plays))


def _play(game: RulesGame, group: Symmetries, element: int, rng: np.random.Generator) -> int:
    def require(good: bool, what: str) -> None:
        if not good:
            Subject(game).fail(f"a symmetry changes {what}, in the state {state.tolist()}", _LOOK_AT)

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
