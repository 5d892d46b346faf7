"""A page of strategies: information states that can be searched, with a bar of their actions; a legend; details."""

import json
from collections.abc import Sequence

from mccfr_plus.display import COLOURS
from mccfr_plus.experiments.page import page_of
from mccfr_plus.experiments.strategy_table import StrategyTable

_STYLE = """
#controls { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: end }
#controls label { display: block; max-width: 100% }
#controls .wide { flex: 1 1 260px }
input, select { display: block; font: inherit; height: 36px; padding: 4px 8px; width: 100%;
  border: 1px solid #b9c3d1; border-radius: 6px; background: #fff; color: inherit }
#legend { display: flex; flex-wrap: wrap; gap: 2px 14px; max-height: 6.2em; overflow-y: auto; margin: 10px 0 4px;
  font-size: 13px }
#legend i { display: inline-block; width: 12px; height: 12px; margin-right: 5px; vertical-align: -1px }
.row { display: grid; grid-template-columns: 3.4em minmax(0, 5fr) 6em 6em minmax(140px, 4fr); gap: 4px 12px;
  align-items: center; padding: 4px 6px; font-size: 14px }
.heading { font-weight: 600; border-bottom: 2px solid #dde2ea }
.heading :nth-child(3), .heading :nth-child(4), .number { text-align: right; font-variant-numeric: tabular-nums }
details { border-bottom: 1px solid #dde2ea }
summary { list-style: none }
summary::-webkit-details-marker { display: none }
summary:hover { background: #eef3f8 }
details[open] { background: #eef6fc; box-shadow: inset 4px 0 #0072B2 }
.state { font-family: ui-monospace, monospace; font-size: 13px; white-space: pre-wrap; overflow-wrap: anywhere }
.bar { display: flex; height: 20px; border: 1px solid #b9c3d1; background: #fff }
.bar span { overflow: hidden; white-space: nowrap; font-size: 12px; line-height: 18px; padding: 0; text-align: center;
  color: #fff; text-shadow: 0 0 2px #000, 0 0 2px #000 }
.detail { padding: 2px 6px 12px calc(3.4em + 18px) }
.detail table { border-collapse: collapse; width: 100%; max-width: 900px; font-size: 14px }
.detail th { font-weight: 600; text-align: left }
.detail td, .detail th { padding: 2px 10px 2px 0 }
.detail .fill { width: 30% } .detail .fill div { height: 14px }
.detail .number { text-align: right; white-space: nowrap }
#more { margin-top: 12px; padding: 8px 18px }
@media (max-width: 700px) {
  .row { grid-template-columns: 2fr 3fr 3fr; padding: 8px 6px; font-size: 13px }
  .heading { display: none }
  .row .state { grid-row: 1; grid-column: 1 / 4 } .row .bar { grid-column: 1 / 4 }
  .row .number { text-align: left; white-space: nowrap }
  .row [title]::before { content: attr(title) " "; color: #5b6675 }
  .row .bar [title]::before { content: none }
  .detail { padding-left: 6px } .detail .fill { display: none }
}
"""

# Rows are written on demand, as there may be tens of thousands.
_SCRIPT = """
const POLICIES = JSON.parse(find("policies").textContent), COLOURS = /*colours*/, STEP = 100;
let policy, found, shown;
const number = x => x === null ? "-" : String(+x.toPrecision(4));
const colour = k => policy.names.length <= COLOURS.length ? COLOURS[k]
  : `hsl(${Math.round(360 * k / policy.names.length)} 65% ${k % 2 ? 38 : 55}%)`;
function cell(className, title, text) {
  const made = make("span", className, text);
  if (title) made.title = title;
  return made;
}
function rowOf([player, state, reach, value, actions, probabilities, values, regrets]) {
  const details = make("details", "", ""), summary = make("summary", "row", ""), bar = make("div", "bar", "");
  details.name = "row";
  actions.forEach((action, k) => {
    if (probabilities[k] === 0) return;
    const part = make("span", "", probabilities[k] > 0.12 ? policy.names[action] : "");
    part.title = policy.names[action] + " " + number(probabilities[k]);
    part.style.cssText = `width:${100 * probabilities[k]}%;background:${colour(action)}`;
    bar.append(part);
  });
  summary.append(cell("", "player", player), cell("state", "", state), cell("number", "reached", number(reach)),
    cell("number", "value", number(value)), bar);
  details.append(summary);
  details.ontoggle = () => {
    if (details.children.length > 1) return;
    const place = make("div", "detail", ""), table = make("table", "", ""), heading = make("tr", "", "");
    heading.append(make("th", "", "action"), make("th", "fill", ""), make("th", "number", "probability"),
      make("th", "number", "value"), make("th", "number", "regret"));
    table.append(heading, ...actions.map((action, k) => {
      const line = make("tr", "", ""), fill = make("td", "fill", ""), part = make("div", "", "");
      part.style.cssText = `width:${100 * probabilities[k]}%;background:${colour(action)}`;
      fill.append(part);
      line.append(make("td", "", policy.names[action]), fill, make("td", "number", probabilities[k].toFixed(3)),
        make("td", "number", number(values[k])), make("td", "number", number(regrets[k])));
      return line;
    }));
    place.append(table);
    details.append(place);
  };
  return details;
}
function more() {
  find("rows").append(...found.slice(shown, shown + STEP).map(rowOf));
  shown = Math.min(found.length, shown + STEP);
  find("more").className = shown < found.length ? "" : "hidden";
}
function search() {
  const words = find("search").value.toLowerCase().split(/\\s+/).filter(word => word), player = find("player").value;
  found = policy.rows.filter(row => (player === "all" || String(row[0]) === player)
    && words.every(word => row[1].toLowerCase().includes(word)));
  shown = 0;
  find("rows").replaceChildren();
  more();
  find("count").textContent = (found.length < policy.rows.length ? found.length.toLocaleString("en") + " of " : "")
    + policy.which;
  if (find("rows").firstChild) find("rows").firstChild.open = true;
}
function choose() {
  policy = POLICIES[find("policy").value];
  find("legend").replaceChildren(...policy.names.map((name, k) => {
    const made = make("span", "", ""), sample = make("i", "", "");
    sample.style.background = colour(k);
    made.append(sample, name);
    return made;
  }));
  const players = ["all", ...Array(policy.players).keys()];
  find("player").replaceChildren(...players.map(player => make("option", "", player)));
  search();
}
find("policy").append(...POLICIES.map((each, k) => {
  const option = make("option", "", each.label);
  option.value = k;
  return option;
}));
find("policy").onchange = choose;
find("player").oninput = find("search").oninput = search;
find("more").onclick = more;
choose();
""".replace("/*colours*/", json.dumps(COLOURS))

_BODY = """<section><h2>Strategies</h2><div id="controls">
<label class="wide CLASS">policy<select id="policy"></select></label>
<label class="wide">search information states (all words)<input id="search" type="search"></label>
<label>player<select id="player"></select></label></div>
<div id="legend"></div><div class="label" id="count"></div>
<div class="row heading"><span>player</span><span>information state</span><span>reached</span><span>value</span>
<span>probabilities of actions</span></div>
<div id="rows"></div><button id="more" class="hidden">more</button>
<script type="application/json" id="policies">DATA</script></section>"""


def page_of_strategies(
    title: str, above: str, tables: Sequence[StrategyTable], *, script: str = "", head: str = ""
) -> str:
    """Returns a page with tables of strategies, one of which is shown at a time.

    Args:
        above: HTML above the tables.
        tables: May be empty.
        head: More HTML of the page's head.
    """
    if not tables:
        return page_of(title, above, style=_STYLE, script=script, head=head)
    data = json.dumps([table._asdict() for table in tables], ensure_ascii=False, separators=(",", ":"))
    body = _BODY.replace("CLASS", "hidden" if len(tables) == 1 else "").replace("DATA", data.replace("<", "\\u003c"))
    return page_of(title, above + body, style=_STYLE, script=_SCRIPT + script, head=head)
