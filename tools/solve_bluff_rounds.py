"""Computes the values of rounds of Bluff that other rounds go on to, and keeps them with the package.

    python tools/solve_bluff_rounds.py --dice=1,1 --precision=1e-6

A value is known between two bounds, each of which a best response proves; `--precision` is half their distance.
Rounds that follow on a round must be there first. Rounds that are already in the file are computed again.
"""

import datetime
import json
from pathlib import Path

from absl import app, flags

import mccfr_plus
from mccfr_plus.games import bluff

FLAGS = flags.FLAGS

flags.DEFINE_multi_string("dice", ["1,1"], "Dice of who begins and of the other player, such as 2,1; may be repeated")
flags.DEFINE_integer("faces", 6, "Faces of a die")
flags.DEFINE_enum("starts", "loser", ["loser", "winner"], "Who begins the round that follows")
flags.DEFINE_float("precision", 1e-6, "Half the distance between the bounds")
flags.DEFINE_string("file", str(Path(bluff.__file__).with_name("bluff_rounds.json")), "Where to keep them")


def main(_):
    path = Path(FLAGS.file)
    for dice in FLAGS.dice:
        first, second = map(int, dice.split(","))
        game = bluff.game_of(first, second, FLAGS.faces, FLAGS.starts)
        value = mccfr_plus.game_value(game, FLAGS.precision)
        kept = json.loads(path.read_text()) if path.exists() else {"rounds": []}
        rounds = {each["game"]: each for each in kept["rounds"]}
        rounds[game] = {
            "game": game,
            "lower": value.lower,
            "upper": value.upper,
            "iterations": value.iterations,
            "date": datetime.date.today().isoformat(),
        }
        text = {
            "what": "value of a round of Bluff to who begins it, between the values of two best responses",
            "method": "tools/solve_bluff_rounds.py: discounted CFR by the sequence form",
            "rounds": [rounds[name] for name in sorted(rounds)],
        }
        path.write_text(json.dumps(text, indent=1) + "\n")
        print(f"{game}: {value.middle:.7f} +- {(value.upper - value.lower) / 2:.1g}, {value.iterations:,} iterations")


if __name__ == "__main__":
    app.run(main)
