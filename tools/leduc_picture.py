"""Draws docs/leduc.svg, the picture of README and the front page: Leduc poker, here and by OpenSpiel's C++ solvers.

python tools/leduc_picture.py    # 40 seconds of runs, one after the other, on an idle machine
"""

from pathlib import Path

import matplotlib

from mccfr_plus.experiments import compare
from mccfr_plus.experiments.curves import write_figure

ALGORITHMS = {
    "external sampling, mccfr_plus": "external",
    "CFR+, mccfr_plus": "cfr+",
    "external sampling, OpenSpiel (C++)": "openspiel:external",
    "CFR+, OpenSpiel (C++)": "openspiel:cfr+",
}


def main() -> None:
    result = compare("leduc_poker", ALGORITHMS, seeds=3, seconds=5, processes=1)
    rates = [curve.x("iterations")[-1] / curve.x("seconds")[-1] for curve in result.curves]
    for name, rate in zip(ALGORITHMS, rates, strict=True):
        print(f"{name}: {rate:,.0f} iterations a second")
    figure = result.plot("seconds")
    figure.set_size_inches(7.5, 4)
    ratio = rates[0] / rates[2]
    title = f"Leduc poker. External sampling: {ratio:.0f} times as many iterations a second as in OpenSpiel"
    figure.axes[0].set_title(title, fontsize=10)
    figure.axes[0].set_ylabel("exploitability (chips)")
    matplotlib.rcParams["svg.hashsalt"] = "leduc"  # the same ids in every file
    write_figure(figure, Path(__file__).parent.parent / "docs" / "leduc.svg")


if __name__ == "__main__":
    main()
