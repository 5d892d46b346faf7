"""What a player knows at a state, for display: the state's own text, and cards, dice and boards read from it."""

import re
from dataclasses import dataclass

import pyspiel

# How to read information states; the names of groups become labels.
_PATTERNS = {
    "kuhn_poker": r"(?P<your_card>\d)(?P<bets>[pb]*)",
    "leduc_poker": r".*\[Private: (?P<your_card>\d+)\].*\[Pot: (?P<pot>\d+)\](.*\[Public: (?P<public_card>\d+)\])?"
    r".*\[Round1: (?P<first_round>[\d ]*)\]\[Round2: (?P<second_round>[\d ]*)\]",
    "liars_dice": r"(?P<your_dice>\d+) ?(?P<bids>.*)",
}
_ACTIONS = {
    "kuhn_poker": {"p": "pass", "b": "bet"},
    "leduc_poker": {"0": "fold", "1": "call", "2": "raise"},
}
_DICE = "⚀⚁⚂⚃⚄⚅"


@dataclass(frozen=True)
class Scene:
    """What a player knows."""

    text: str  # the state's own
    items: list[tuple[str, list[str]]]  # labels and what to show with them: cards, dice, words
    board: list[str]  # rows of cells; empty where there is no board
    slanted: bool  # whether each row is half a cell further to the right, as in hex


def scene_of(state: pyspiel.State, player: int) -> Scene:
    """Returns what a player knows at a decision or at the end of a turn-based game. It shows no more than that."""
    game = state.get_game()
    name, text = game.get_type().short_name, state.information_state_string(player)
    seen = state.observation_string(player) if game.get_type().provides_observation_string else ""
    board = _board(seen)
    if "\n" in seen and seen.strip() not in text:
        text = f"{seen.rstrip()}\n{text}"
    found = re.match(_PATTERNS.get(name, r"(?!)"), text)
    groups = found.groupdict(default="") if found else {}
    items = [(label.replace("_", " "), _shown(name, label, value)) for label, value in groups.items() if value]
    return Scene(text.strip(), items, board, "hex" in name)


def cell_of(scene: Scene, game: pyspiel.Game, action: int) -> int | None:
    """Returns which cell of the board an action is about, row after row; None if that is not known."""
    cells = sum(map(len, scene.board))
    return action if cells and game.num_distinct_actions() == cells else None


def _board(seen: str) -> list[str]:
    rows = seen.split()
    if "=" in seen:  # a field of a game with compiled rules, such as board=x.o......
        found = re.search(r"board=([.xo]+)", seen)
        side = round(len(found[1]) ** 0.5) if found else 0
        rows = [found[1][i : i + side] for i in range(0, side * side, side)] if found else []
    is_board = len(rows) > 1 and len({len(row) for row in rows}) == 1 and set("".join(rows)) <= set(".xo")
    return rows if is_board else []


def _shown(game: str, label: str, value: str) -> list[str]:
    """Returns cards as letters, dice as faces, actions as words."""
    if label.endswith("dice"):
        return [_DICE[int(face) - 1] if face in "123456" else face for face in value]
    if label.endswith("card"):
        rank = int(value) // 2 if game == "leduc_poker" else int(value)
        return ["JQKA"[rank] if rank < 4 else str(rank)]
    if words := _ACTIONS.get(game):
        return [words.get(sign, sign) for sign in value if sign != " "] if label != "pot" else [value]
    return value.split()
