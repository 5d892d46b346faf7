"""A page of strategies: information states that can be searched, with a bar of their actions; a legend; details."""

import json
from collections.abc import Sequence

from mccfr_plus.display import COLOURS
from mccfr_plus.experiments.page import page_of, part
from mccfr_plus.experiments.strategy_table import StrategyTable


def page_of_strategies(
    title: str, above: str, tables: Sequence[StrategyTable], *, script: str = "", head: str = ""
) -> str:
    """Returns a page with tables of strategies, one of which is shown at a time.

    Args:
        above: HTML above the tables.
        tables: May be empty.
        head: More HTML of the page's head.
    """
    style = part("strategies.css")
    if not tables:
        return page_of(title, above, style=style, script=script, head=head)
    data = json.dumps([table._asdict() for table in tables], ensure_ascii=False, separators=(",", ":"))
    hidden = "hidden" if len(tables) == 1 else ""
    body = part("strategies.html").replace("CLASS", hidden).replace("DATA", data.replace("<", "\\u003c"))
    script = f"const COLOURS = {json.dumps(COLOURS)};\n{part('strategies.js')}{script}"
    return page_of(title, above + body, style=style, script=script, head=head)
