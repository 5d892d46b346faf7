"""A strategy in a browser: a table of information states that can be searched, with bars for their actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.display import COLOURS
from mccfr_plus.evaluation.infoset_values import infoset_values
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.order import action_names

MOST_SLOTS = 100_000  # information states with their actions; about 2 MB of page

_HEIGHT = 380

# A row's actions as one bar: segments in proportion to the probabilities.
_BAR = """
<div style="display:flex;width:100%;height:15px;margin-top:3px;border:1px solid #bbb">
<% const colours = COLOURS; for (let i = 0; i < value.length; i++) { %><div title="<%= i %>"
style="width:<%= value[i] / 10 %>%;background:<%= colours[i % 8] %>"></div><% } %>
</div>
""".replace("COLOURS", str(list(COLOURS)))

_SEARCH = """
const words = search.value_input.toLowerCase().split(/\\s+/).filter(w => w.length > 0);
const texts = source.data.state, players = source.data.player, found = [];
for (let i = 0; i < texts.length; i++) {
    if (player.value !== "all" && String(players[i]) !== player.value) continue;
    const lower = texts[i].toLowerCase();
    if (words.every(w => lower.includes(w))) found.push(i);
}
filter.indices = found;
count.text = found.length + " of " + texts.length + " information states";
"""

_DETAIL = """
const chosen = source.selected.indices;
if (chosen.length === 0) { detail.text = ""; return; }
const i = chosen[0], data = source.data;
const escape = s => s.replace(/&/g, "&amp;").replace(/</g, "&lt;");
const number = x => x === null || Number.isNaN(x) ? "-" : x.toPrecision(4);
let rows = "";
for (let k = 0; k < data.p[i].length; k++) {
    const p = data.p[i][k] / 1000;
    rows += "<tr><td>" + escape(names[data.a[i][k]]) + "</td><td style='width:220px'><div style='background:#0072B2;" +
        "height:14px;width:" + 100 * p + "%'></div></td><td style='text-align:right'>" + p.toFixed(3) +
        "</td><td style='text-align:right'>" + number(data.v[i][k]) + "</td><td style='text-align:right'>" +
        number(data.r[i][k]) + "</td></tr>";
}
detail.text = "<b>player " + data.player[i] + "</b> <pre style='margin:4px 0'>" + escape(data.state[i]) +
    "</pre>reached with probability " + number(data.reach[i]) + "; expected payoff there " + number(data.value[i]) +
    "<table cellpadding='4' style='font-size:13px'><tr><th>action</th><th>probability</th><th></th><th>value</th>" +
    "<th>regret</th></tr>" + rows + "</table>";
"""


def strategy_view(tree: GameTree, strategy: np.ndarray, most_slots: int = MOST_SLOTS) -> Any:
    """Returns a Bokeh layout: search, player, the table, and the actions of the row that is chosen.

    Args:
        tree: The game's tree.
        strategy: ``[num_slots]``.
        most_slots: If information states have more actions, those that are reached most often are shown, and it says
            so.
    """
    from bokeh import models
    from bokeh.layouts import column, row

    data, names = _columns(tree, strategy, most_slots)
    source = models.ColumnDataSource(data)
    shown = len(data["state"])
    search = models.TextInput(title="search information states (all words)", width=380, name="search")
    players = ["all", *map(str, range(tree.num_players))]
    player = models.Select(title="player", value="all", options=players, width=90, name="player")
    shown_rows = models.IndexFilter(indices=list(range(shown)))
    cut = "" if shown == tree.num_infosets else f", the most often reached of {tree.num_infosets:,}"
    count = models.Div(text=f"{shown:,} information states{cut}", name="count")
    detail = models.Div(text="Choose a row to see its actions.", width=560, name="detail")
    probability = models.NumberFormatter(format="0.0000")
    columns = [
        models.TableColumn(field="player", title="player", width=50),
        models.TableColumn(field="state", title="information state", width=380),
        models.TableColumn(field="reach", title="reached", width=80, formatter=probability),
        models.TableColumn(
            field="value", title="value", width=80, formatter=models.NumberFormatter(format="0.0000", nan_format="-")
        ),
        models.TableColumn(
            field="p", title="actions", width=260, formatter=models.HTMLTemplateFormatter(template=_BAR)
        ),
    ]
    view = models.CDSView(filter=shown_rows)
    grid = models.DataTable(source=source, view=view, columns=columns, width=880, height=_HEIGHT, index_position=None)
    find = models.CustomJS(
        args={"search": search, "player": player, "source": source, "filter": shown_rows, "count": count}, code=_SEARCH
    )
    search.js_on_change("value_input", find)
    player.js_on_change("value", find)
    source.selected.js_on_change(
        "indices", models.CustomJS(args={"source": source, "names": names, "detail": detail}, code=_DETAIL)
    )
    return column(row(search, player), count, row(grid, detail))


def _columns(tree: GameTree, strategy: np.ndarray, most_slots: int) -> tuple[dict[str, list], list[str]]:
    """Returns the table's columns, rounded to what is seen, and the names of actions that they point at."""
    found = infoset_values(tree, strategy)
    order = np.argsort(-found.reach, kind="stable")
    order = order[np.cumsum(tree.arrays.infosets["num_actions"][order]) <= most_slots]
    names: dict[str, int] = {}
    columns: dict[str, list] = {name: [] for name in ("player", "state", "reach", "value", "a", "p", "v", "r")}
    shown = np.sort(order)
    for infoset, texts in zip(shown.tolist(), action_names(tree, shown), strict=True):
        slots, player = tree.slots(infoset), int(tree.arrays.infosets[infoset]["player"])
        columns["player"].append(player)
        columns["state"].append(tree.info_states[infoset])
        columns["reach"].append(_rounded(found.reach[infoset]))
        columns["value"].append(_rounded(found.values[infoset]))
        columns["a"].append([names.setdefault(name, len(names)) for name in texts])
        columns["p"].append([round(1000 * p) for p in strategy[slots].tolist()])
        columns["v"].append([_rounded(value) for value in found.action_values[slots].tolist()])
        columns["r"].append([_rounded(value) for value in found.regrets[slots].tolist()])
    return columns, list(names)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
