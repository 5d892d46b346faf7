"""What information states of some of OpenSpiel's games say, for people."""

import re

import pyspiel

# How to read information states; the names of groups become labels.
_PATTERNS = {
    "kuhn_poker": r"(?P<your_card>\d)(?P<bets>[pb]*)",
    "leduc_poker": r".*\[Private: (?P<your_card>\d+)\].*\[Pot: (?P<pot>\d+)\](.*\[Public: (?P<public_card>\d+)\])?"
    r".*\[Round1: (?P<first_round>[\d ]*)\]\[Round2: (?P<second_round>[\d ]*)\]",
    "liars_dice": r"(?P<your_dice>\d+) ?(?P<bids>.*)",
}
_ACTIONS = {"kuhn_poker": {"p": "pass", "b": "bet"}, "leduc_poker": {"0": "fold", "1": "call", "2": "raise"}}
_DICE = "⚀⚁⚂⚃⚄⚅"


def items_of(game: pyspiel.Game, text: str) -> list[tuple[str, list[str]]]:
    """Returns what an information state tells, labels with cards, dice or words; nothing of games not known here."""
    name, parameters = game.get_type().short_name, game.get_parameters()
    if parameters.get("suit_isomorphism") or parameters.get("dice_sides", 0) > 9:  # other cards; texts are ambiguous
        return []
    found = re.fullmatch(_PATTERNS.get(name, r"(?!)"), text)
    groups = found.groupdict(default="") if found else {}
    return [(label.replace("_", " "), _shown(name, label, value)) for label, value in groups.items() if value]


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
