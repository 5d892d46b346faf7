"""Section 5: epsilon of outcome sampling."""

from collections.abc import Sequence

from mccfr_plus.display import mean_band
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import INTERVALS, Result, Row, Setting, record_figure
from mccfr_plus.experiments.papers.judging import Mean, end_of
from mccfr_plus.experiments.papers.lanctot2009.figure1 import GAMES, NAMES
from mccfr_plus.experiments.plot import Line, plot_parameter

EPSILONS = (0.1, 0.3, 0.6, 0.9)
_NODES = 1e8  # at each scale: the paper draws no figure of this, and says it in one sentence


def result(setting: Setting, name: str) -> Result:
    """Returns how outcome sampling ends with several epsilons."""
    algorithms = tuple(outcome_with(value) for value in EPSILONS)
    comparison = Comparison(GAMES, algorithms, (1, 2, 3), Limit("nodes", _NODES), 1)  # only the ends count
    curves, pictures = record_figure(setting, name, {"runs": comparison})
    ends = {
        game: [curve.y("nash_conv")[:, -1] for curve in sorted(curves, key=_epsilon_of) if curve.game == game]
        for game in GAMES
    }
    plot_parameter(
        [Line(NAMES[game], EPSILONS, values) for game, values in ends.items()],
        pictures,
        title=f"Outcome sampling after {_NODES:.0e} histories",
        xlabel="epsilon: share of uniform play at own information sets",
        ylabel="b1 + b2 (NashConv)",
        xscale="linear",
        band=mean_band,
    )
    notes = ["The paper's outcome sampling, with a history for both players, and games of table 1.", INTERVALS]
    return Result(rows(curves), notes, pictures)


def rows(curves: Sequence[Curve]) -> list[Row]:
    """Returns where outcome sampling ended, by game and epsilon."""
    return [
        Row(f"{NAMES[game]}: epsilon {value:g}, b1 + b2", "-", str(mean), "-")
        for game, means in ends_by_epsilon(curves).items()
        for value, mean in means.items()
    ]


def outcome_with(epsilon: float) -> str:
    return f"outcome(epsilon={epsilon:g},update_all_players=True)"


def _epsilon_of(curve: Curve) -> float:
    return next(value for value in EPSILONS if outcome_with(value) == curve.algorithm)


def ends_by_epsilon(curves: Sequence[Curve]) -> dict[str, dict[float, Mean]]:
    found: dict[str, dict[float, Mean]] = {game: {} for game in GAMES}
    for curve in sorted(curves, key=_epsilon_of):
        found[curve.game][_epsilon_of(curve)] = end_of(curve)
    return found
