{
const data = JSON.parse(find("nodes").textContent), RANKS = "23456789TJQKA".slice(0, data.ranks).split("").reverse();
const SUITS = {c: ["♣", "green"], d: ["♦", "blue"], h: ["♥", "red"], s: ["♠", ""]};
let path = [[0, "start"]], chosen = 0;
const cardsOf = text => (text.match(/../g) || []).map(card => make("span", SUITS[card[1]][1], card[0] + SUITS[card[1]][0]));
const nameOf = index => {
  const row = Math.floor(index / data.ranks), column = index % data.ranks;
  const ranks = RANKS[Math.min(row, column)] + RANKS[Math.max(row, column)];
  return ranks + (row === column || data.suits === 1 ? "" : row < column ? "s" : "o");
};
const [BLUE, RED, GREEN, PINK, ORANGE, SKY, , BROWN] = data.colours, RAISES = [ORANGE, RED, PINK, SKY, BROWN];
const coloursOf = node => {
  const raises = node.next.filter(([name]) => name.startsWith("raise")), many = raises.length > RAISES.length;
  let k = 0;
  return node.next.map(([name]) => name === "fold" ? BLUE : !name.startsWith("raise") ? GREEN
    : many ? `hsl(${50 - 50 * k / raises.length} 90% ${55 - 30 * k++ / raises.length}%)` : RAISES[k++]);
};
function button(className, children, go) {
  const made = make("button", className, "");
  made.append(...children);
  made.onclick = go; made.disabled = !go;
  return made;
}
function showHand(node) {
  const cell = node.cells[chosen], table = make("table", "", "");
  const line = (name, share) => { table.append(make("tr", "", "")); table.lastChild.append(make("td", "", name), make("td", "", share)); };
  line(nameOf(chosen), cell ? `weight ${cell[0]} %` : "not here");
  if (cell) node.next.forEach(([name], k) => line(name, `${cell[k + 1]} %`));
  find("hand").replaceChildren(table);
  [...find("grid").children].forEach((each, k) => each.classList.toggle("chosen", k === chosen));
}
function showGrid(node, colours) {
  find("grid").style.gridTemplateColumns = `repeat(${data.ranks}, 1fr)`;
  find("grid").replaceChildren(...node.cells.map((cell, index) => {
    const fill = make("div", "", ""), label = make("span", "", nameOf(index));
    if (cell) {
      let end = 0;
      const stops = colours.map((colour, k) => `${colour} ${end}% ${end += cell[k + 1]}%`);
      fill.style.cssText = `height:${Math.max(cell[0], 15)}%;background:linear-gradient(90deg, ${stops.join(", ")})`;
    }
    return button("", [fill, label], () => { chosen = index; showHand(node); });
  }));
  showHand(node);
}
function show() {
  const node = data.nodes[path[path.length - 1][0]], colours = coloursOf(node), isDecision = "cells" in node;
  find("path").replaceChildren(...path.map(([, name], k) => button("", /^([2-9TJQKA][cdhs])+$/.test(name) ? cardsOf(name) : [name],
    () => { path = path.slice(0, k + 1); show(); })));
  find("where").replaceChildren(isDecision ? `player ${node.player} to act, board ` : "the next card",
    ...(isDecision ? cardsOf(node.board) : []), `; reached with probability ${+node.reach.toPrecision(3)}`);
  find("choices").replaceChildren(...node.next.map(([name, share, next], k) => {
    const go = next === null ? null : () => { path.push([next, name]); show(); };
    const made = button(isDecision ? "action" : "", isDecision ? [`${name} ${share} %`] : cardsOf(name), go);
    if (isDecision) made.style.background = colours[k];
    made.title = go ? "" : "the hand ends, or is on the page of a smaller game only: it is rarely reached";
    return made;
  }));
  find("ranges").classList.toggle("hidden", !isDecision);
  if (isDecision) showGrid(node, colours);
}
show();
}
