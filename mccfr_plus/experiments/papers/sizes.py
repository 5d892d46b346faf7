"""Claims about the sizes of a paper's games: the catalogue's verdicts in the words of claims."""

from collections.abc import Mapping

from mccfr_plus.experiments.papers import catalogue
from mccfr_plus.experiments.papers.item import Row
from mccfr_plus.experiments.papers.judging import verdict

_AGREES = ("exact", "agrees as printed")


def size_rows(paper: str, where: str, names: Mapping[str, str]) -> list[Row]:
    """Returns a row per game that a paper gives sizes of.

    Args:
        paper: As the catalogue names it.
        names: What the games are called, by game string; others are left out.
    """
    rows = []
    for published in catalogue.CATALOGUE:
        sizes = [size for size in published.sizes if size.published != "-"]
        if published.paper == paper and published.game in names and sizes:
            printed = "; ".join(f"{size.what} {size.published}" for size in sizes)
            missed = [size for size in sizes if not size.verdict.startswith(_AGREES)]
            here = "; ".join(f"{size.what} {_text(size.ours)}, {size.verdict}" for size in missed) or "as printed"
            what = f"{names[published.game]}: {printed}"
            rows.append(Row(what, where, here, verdict(not missed, True)))
    return rows


def _text(ours: object) -> str:
    return " / ".join(f"{value:,}" for value in ours) if isinstance(ours, tuple) else f"{ours:,}"
