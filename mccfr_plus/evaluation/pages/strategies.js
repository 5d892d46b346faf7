const POLICIES = JSON.parse(find("policies").textContent), STEP = 100;
let policy, found, shown;
const number = x => x === null ? "-" : String(+x.toPrecision(4));
const colour = k => policy.names.length <= COLOURS.length ? COLOURS[k]
  : `hsl(${Math.round(360 * k / policy.names.length)} 65% ${k % 2 ? 38 : 55}%)`;
function cell(className, title, text) {
  const made = make("span", className, text);
  if (title) made.title = title;
  return made;
}
function rowOf([player, state, reach, value, actions, probabilities, values, regrets, words]) {
  const details = make("details", "", ""), summary = make("summary", "row", ""), bar = make("div", "bar", "");
  details.name = "row";
  actions.forEach((action, k) => {
    if (probabilities[k] === 0) return;
    const part = make("span", "", probabilities[k] > 0.12 ? policy.names[action] : "");
    part.title = policy.names[action] + " " + number(probabilities[k]);
    part.style.cssText = `width:${100 * probabilities[k]}%;background:${colour(action)}`;
    bar.append(part);
  });
  summary.append(cell("", "player", player), cell("state", state, words || state), cell("number", "reached", number(reach)),
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
// Returns the pattern of a word or phrase: it begins where a word begins, and 1 does not find 12.
function patternOf(text) {
  const literal = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp((/^\w/.test(text) ? "\\b" : "") + literal + (/\d$/.test(text) ? "(?!\\d)" : ""), "i");
}
function search() {
  const terms = [...find("search").value.matchAll(/"([^"]+)"?|[^\s"]+/g)].map(match => patternOf(match[1] || match[0]));
  const player = find("player").value;
  found = policy.rows.filter(row => (player === "all" || String(row[0]) === player)
    && terms.every(term => term.test(row[8] || row[1])));
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
