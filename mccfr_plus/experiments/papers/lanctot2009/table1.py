"""Table 1: sizes of the four games, and seconds per iteration."""

import gc
from typing import Any

import numpy as np

from mccfr_plus.experiments.papers import catalogue
from mccfr_plus.experiments.papers.item import Result, Row, Setting
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree, compile_game

# Table 1, seconds per iteration: vanilla CFR, external sampling, outcome sampling.
PRINTED_SECONDS = {
    "one_card_poker": (28.0, 99e-6, 46e-6),
    "bid_goofspiel": (110.0, 150e-3, 150e-6),
    "latent_tic_tac_toe": (38.0, 70e-3, 62e-6),
    "princess_and_monster": (120.0, 28e-3, 85e-6),
}
_SCHEMES = {"vanilla CFR": "full", "external sampling": "external", "outcome sampling": "outcome"}
_SECONDS = {"small": 1.0, "paper": 10.0}  # of measuring one scheme


def result(setting: Setting, name: str) -> Result:
    """Returns the table, with what is found here beside it."""
    rows = []
    for published in catalogue.CATALOGUE:
        if published.paper == catalogue.LANCTOT and published.game in PRINTED_SECONDS:
            tree = compile_game(published.game)
            rows += [_size_row(published.game, size, tree) for size in published.sizes]
            for (label, scheme), printed in zip(_SCHEMES.items(), PRINTED_SECONDS[published.game], strict=True):
                found = _seconds_per_iteration(tree, scheme, _SECONDS[setting.scale])
                ratio = max(printed, found) / min(printed, found)
                verdict = f"{ratio:,.0f} times as {'fast' if found < printed else 'slow'}"
                what = f"{published.game}: {label}, seconds per iteration"
                rows.append(Row(what, f"{printed:.2g}", f"{found:.2g}", verdict))
            del tree
            gc.collect()
    notes = [
        "Sizes are enumerated anew. Where a printed one is not met, `docs/background/games.md` says which readings of "
        "the rules were tried.",
        "Seconds are CPU seconds of one thread; an iteration updates both players. The paper's machine is of 2008.",
    ]
    return Result(rows, notes)


def _size_row(game: str, size: catalogue.Size, tree: GameTree) -> Row:
    """Returns a size counted on the tree, beside the printed one."""
    found = tree.statistics()
    counted: Any = {
        "histories": found.histories,
        "histories without chance": found.histories - found.chance_nodes,
        "infosets": sum(found.infosets),
        "l": found.max_moves,
        "M": tuple(round(value, 2) for value in found.m_values),
    }[size.what]
    is_known = np.allclose(counted, size.ours, rtol=1e-6)
    here = " / ".join(f"{value:,.2f}" for value in counted) if isinstance(counted, tuple) else f"{counted:,}"
    verdict = size.verdict if is_known else f"differs from the {size.ours} of mccfr-plus games"
    return Row(f"{game}: {size.what}", size.published, here, verdict)


def _seconds_per_iteration(tree: GameTree, scheme: str, seconds: float) -> float:
    """Returns CPU seconds of an iteration, the first one left out."""
    solver = Solver(tree, scheme, "rm", seed=1).run(1)
    iterations, spent = solver.iterations, solver.cpu_seconds
    solver.run(seconds=seconds)
    return (solver.cpu_seconds - spent) / (solver.iterations - iterations)
