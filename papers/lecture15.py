"""Anagnostides, lecture 15 of Carnegie Mellon's course on computational game solving: its results on matrix games.

Section 1.1: external sampling finds an approximate equilibrium without reading all entries of the matrix. Section 1.3:
self-play of multiplicative weights in which both strategies are sampled finds one with few actions.
``python papers/lecture15.py sublinear --scale=small``
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import common
import numba
import numpy as np
from common import Finding, Page, Setting, verdict

from mccfr_plus import Solver
from mccfr_plus.experiments import Interval
from mccfr_plus.games import MOVER, TERMINAL, Field, Layout, Rules, RulesGame, register_game

FIRST, SECOND, SIZE = 1, 2, 3  # words of a state, the players' moments plus 1, and their number


@numba.njit(cache=True)
def entry(first, second, moments):
    """Returns what player 0 wins in the silent duel: shots at moments k / n hit with probability k / n."""
    x, y = (first + 1) / moments, (second + 1) / moments
    if x < y:
        return x - y + x * y
    return x - y - x * y if x > y else 0.0


@numba.njit(cache=True)
def start(parameters, table, state):
    state[MOVER] = 0


@numba.njit(cache=True)
def legal(parameters, table, state, actions):
    for moment in range(parameters[0]):
        actions[moment] = moment
    return parameters[0]


@numba.njit(cache=True)
def apply(parameters, table, state, action):
    if state[MOVER] == 0:
        state[FIRST], state[MOVER] = action + 1, 1
    else:
        state[SECOND], state[MOVER] = action + 1, TERMINAL


@numba.njit(cache=True)
def returns(parameters, table, state, payoffs):
    payoffs[0] = entry(state[FIRST] - 1, state[SECOND] - 1, parameters[0])
    payoffs[1] = -payoffs[0]


@numba.njit(cache=True)
def look(parameters, table, state, player, view):
    view[0] = state[FIRST + player]


@numba.njit(cache=True)
def observe(parameters, table, state, player, action):
    return 0  # nothing is seen


@register_game
class SilentDuel(RulesGame):
    """The silent duel (Karlin 1959): each has one shot, and does not hear the other's. A matrix game of any size."""

    short_name = "silent_duel"
    long_name = "Silent duel"
    defaults = {"moments": 1000}  # noqa: RUF012
    rules = Rules(start=start, legal=legal, apply=apply, returns=returns, look=look, observe=observe)

    @classmethod
    def layout(cls, parameters: Any) -> Layout:
        moments = parameters.whole_number("moments", 2, 8000)
        return Layout(
            state_size=SIZE,
            fields=(Field("moment", moments + 1, private=True),),
            num_distinct_actions=moments,
            max_game_length=2,
            min_utility=-1.0,
            max_utility=1.0,
            parameters=[moments],
            max_observations=1,
            max_first_observations=1,
        )


# --- runs ---

MOMENTS = {"small": (500, 1000, 2000), "paper": (500, 1000, 2000, 4000)}  # m
GAPS = {"small": (0.2, 0.1), "paper": (0.2, 0.1, 0.05)}  # of NashConv, at which runs end
SEEDS = 3
_SAMPLED = "external(sample_per_infoset=True)"
# Estimator, minimizer and average. Sampled hedge's step size suits log(m) / gap^2 iterations, payoffs from -1 to 1.
FORMS = {
    "sublinear": (_SAMPLED, "rm", "uniform"),
    "sparse": (_SAMPLED, "hedge(eta={gap})", "sampled"),
    "optimism": ("full", "hedge(eta=4.0,optimistic=True)", "uniform"),
}
FEW, SMALL_GAPS = 100, (0.1, 0.03, 0.01, 0.003)  # moments and gaps of "optimism", beside "sublinear", at each scale


def measure(name: str, moments: int, gap: float, seed: int) -> dict[str, Any]:
    """Runs until NashConv is at most `gap`, and returns iterations, entries read and the largest support."""
    estimator, minimizer, average = FORMS[name]
    is_sampled = estimator == _SAMPLED
    solver = Solver(
        f"silent_duel(moments={moments})",
        estimator,
        minimizer.format(gap=gap),
        average,
        alternating=False,
        tree="rules" if is_sampled else "compiled",
        seed=seed,
    )
    found = math.inf
    while found > gap:
        solver.run(max(1, solver.iterations // 5))
        plans = strategies(solver)
        found = nash_conv(plans, moments)
    # Each player's traversal passes all own actions, beside one of the other player or all.
    entries = 2 * moments * (1 if is_sampled else moments) * solver.iterations
    support = max(int((plan > 0).sum()) for plan in plans)
    row = {"form": name, "moments": moments, "gap": gap, "seed": seed}
    row |= {"nash_conv": found, "iterations": solver.iterations}
    return row | {"nodes": solver.nodes_touched, "entries": entries, "support": support}


def strategies(solver: Solver) -> list[np.ndarray]:
    """Returns the average strategies, ``[moments]`` each."""
    state, policy, plans = solver.game.new_initial_state(), solver.average_policy(), []
    for _ in range(2):
        plan = np.zeros(solver.game.num_distinct_actions())
        for action, probability in policy.action_probabilities(state).items():
            plan[action] = probability
        plans.append(plan)
        state.apply_action(0)
    return plans


def nash_conv(plans: Sequence[np.ndarray], moments: int) -> float:
    """Returns what best responses gain; the duel is symmetric and fair. Reads the entries of the supports."""
    return float(sum(_worth(plan, moments).max() for plan in plans))


@numba.njit(cache=True)
def _worth(played, moments):
    """Returns what each action wins against a strategy."""
    worth = np.zeros(moments)
    for other in np.flatnonzero(played):
        for own in range(moments):
            worth[own] += played[other] * entry(own, other, moments)
    return worth


# --- pages ---

_BOTH = ("sublinear", "optimism")
Rows = Sequence[Mapping[str, Any]]


def item(setting: Setting, name: str) -> Page:
    """Returns the page of one form, whose record is written first if there is a scale."""
    forms = (name,) if name != "optimism" else _BOTH
    if setting.scale is not None:
        sizes = (MOMENTS[setting.scale], GAPS[setting.scale]) if name != "optimism" else ((FEW,), SMALL_GAPS)
        rows = [measure(*each) for each in itertools.product(forms, *sizes, range(1, SEEDS + 1))]
        common.save_rows(setting.folder / f"{name}.json", setting, rows)
    about, rows = load(setting.folder, name)
    texts = [
        f"`{estimator}, {minimizer.format(gap='gap')}, average {average}, simultaneous updates`"
        for estimator, minimizer, average in map(FORMS.__getitem__, forms)
    ]
    notes = [
        f"{' and '.join(texts)}, on the silent duel with m moments per player; `external` runs with `tree=rules`.",
        f"The table shows means over {SEEDS} seeds, with the smallest and the largest value. A run ends when NashConv "
        "is at most the gap; it is computed after every increase of the number of iterations by a fifth. Entries that "
        "are read only for this computation are not counted.",
    ]
    return Page(findings_of(name, rows), notes, about=about)


def load(folder: Path, name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns machine and scale, and the measurements of a form."""
    return common.load_rows(folder / f"{name}.json")


def by_setting(rows: Rows, what: str) -> dict[tuple[int, float], Interval]:
    """Returns mean, smallest and largest of a measurement, by number of moments and gap."""
    values: dict[tuple[int, float], list[float]] = {}
    for row in rows:
        values.setdefault((row["moments"], row["gap"]), []).append(row[what])
    return {key: Interval(float(np.mean(each)), min(each), max(each)) for key, each in values.items()}


def findings_of(name: str, rows: Rows) -> list[Finding]:
    """Returns what each setting took."""
    if name == "optimism":
        sampled, optimistic = (by_setting([row for row in rows if row["form"] == form], "entries") for form in _BOTH)
        return [
            Finding(
                f"m = {moments:,}, gap {gap:g}",
                "-",
                f"{each} entries with sampling, {optimistic[moments, gap].mean:.4g} without",
                "-",
            )
            for (moments, gap), each in sampled.items()
        ]
    found = []
    iterations, entries, support = (by_setting(rows, what) for what in ("iterations", "entries", "support"))
    for (moments, gap), number in iterations.items():
        what = f"m = {moments:,}, gap {gap:g}"
        if name == "sublinear":
            here = f"{number.mean:.0f} iterations, {_shares(entries[moments, gap], moments**2)} of the entries"
        else:
            bound = math.log(moments) / gap**2
            here = f"{number.mean:.0f} iterations, {_shares(support[moments, gap], bound)} of {bound:.0f} actions"
        found.append(Finding(what, "-", here, "-"))
    return found


def _shares(interval: Interval, whole: float) -> str:
    return f"{interval.mean / whole:.2g} ({interval.low / whole:.2g} .. {interval.high / whole:.2g})"


def claims(setting: Setting, name: str) -> Page:
    """Returns the verdicts on the lecture's claims."""
    rows = {form: load(setting.folder, form)[1] for form in FORMS}
    notes = ["The lecture proves its claims up to constants and logarithms; we measured them on one family of games."]
    return Page(claim_findings(rows), notes)


def claim_findings(rows: Mapping[str, Rows]) -> list[Finding]:
    """Returns a finding per claim: what it says, where, what was found here, and the verdict."""
    entries, support = by_setting(rows["sublinear"], "entries"), by_setting(rows["sparse"], "support")
    moments, gaps = (sorted({key[part] for key in entries}) for part in (0, 1))
    shares = {key: interval.high / key[0] ** 2 for key, interval in entries.items()}
    largest = moments[-1]
    texts = [f"gap {gap:g}: {', '.join(f'{shares[m, gap]:.2g}' for m in moments)}" for gap in gaps]
    of_m = [_exponent(moments, [entries[m, gap].mean for m in moments]) for gap in gaps]
    of_gap = [-_exponent(gaps, [entries[m, gap].mean for gap in gaps]) for m in moments]
    ratios = {key: interval.high * key[1] ** 2 / math.log(key[0]) for key, interval in support.items()}
    linear = all(abs(exponent - 1) <= 0.25 for exponent in of_m)
    visited = max(row["nodes"] / (row["iterations"] * row["moments"]) for row in rows["sublinear"])
    return [
        Finding(
            "an iteration reads m1 + m2 entries instead of all",
            "1.1",
            f"at most {visited:.2f} m nodes",
            verdict(visited < 4, True),
        ),
        Finding(
            "an approximate equilibrium takes less than reading the matrix",
            "1.1",
            f"largest share of entries read, m = {', '.join(f'{m:,}' for m in moments)}: {'; '.join(texts)}",
            verdict(all(shares[largest, gap] < 1 for gap in gaps), True),
        ),
        Finding(
            "time grows as m1 + m2, up to logarithms",
            "1.1",
            f"exponent of m in the number of entries: {', '.join(f'{e:.2f}' for e in of_m)} for gaps {_list(gaps)}",
            verdict(linear, True),
        ),
        Finding(
            "time grows at most as 1 / eps^2",
            "1.1",
            f"exponent of 1 / gap in it: {', '.join(f'{e:.2f}' for e in of_gap)} for m = {_list(moments)}",
            verdict(max(of_gap) <= 2.25, True),
        ),
        Finding(
            "sampled self-play finds equilibria of log(m) / eps^2 actions",
            "1.3",
            f"largest support over log(m) / gap^2: {min(ratios.values()):.2g} to {max(ratios.values()):.2g}",
            verdict(max(ratios.values()) <= 1, True),
        ),
        _optimism_finding(rows["optimism"]),
    ]


def _optimism_finding(rows: Rows) -> Finding:
    """Whether optimism without sampling reads fewer entries for small gaps."""
    sampled, optimistic = (by_setting([row for row in rows if row["form"] == form], "entries") for form in _BOTH)
    texts = [f"gap {gap:g}: {each.mean / optimistic[m, gap].mean:.2g}" for (m, gap), each in sampled.items()]
    slopes = [-_exponent(SMALL_GAPS, [of[FEW, gap].mean for gap in SMALL_GAPS]) for of in (sampled, optimistic)]
    here = f"entries with sampling / without: {'; '.join(texts)}; exponents of 1 / gap {slopes[0]:.2f}, {slopes[1]:.2f}"
    last = FEW, SMALL_GAPS[-1]
    holds = sampled[last].low > optimistic[last].high
    return Finding("optimism without sampling is faster where eps is small", "1.1", here, verdict(holds, True))


def _list(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)


def _exponent(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


ITEMS = {
    "sublinear": ("equilibria of a matrix of which not all entries are read", item),
    "sparse": ("equilibria of few actions", item),
    "optimism": ("entries read with sampling, and with optimism instead", item),
    "claims": ("claim by claim", claims),
}

if __name__ == "__main__":
    common.main(__file__, "Anagnostides, lecture 15", ITEMS)
