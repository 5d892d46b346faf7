let now = null, hint = false;
function button(move) {
  const made = make("button", "", move.name);
  made.onclick = () => send("/play", {action: move.action, turn: now.turn});
  if (hint) {
    const percent = (100 * move.probability).toFixed(1) + "%";
    made.append(" " + percent);
    const bar = make("span", "bar", ""); bar.style.width = percent; made.append(bar);
  }
  return made;
}
function board() {
  const scene = now.scene, place = find("board");
  place.replaceChildren(); place.className = scene.board.length > 4 ? "many" : "";
  scene.board.forEach((row, r) => {
    const line = make("div", "", "");
    if (scene.slanted) line.style.marginLeft = (scene.board.length > 4 ? 24 : 38) * r + "px";
    [...row].forEach((mark, c) => {
      const move = now.moves.find(each => each.cell === r * row.length + c);
      const cell = make("button", mark, mark === "." ? "" : mark);
      cell.disabled = !move;
      cell.title = move ? move.name : "";
      cell.setAttribute("aria-label", move ? move.name : mark === "." ? "empty" : mark);
      if (move) {
        cell.onclick = () => send("/play", {action: move.action, turn: now.turn});
        if (hint) cell.append(make("small", "", (100 * move.probability).toFixed(0) + "%"));
      }
      line.append(cell);
    });
    place.append(line);
  });
}
function show() {
  find("score").textContent = now.score; find("about").textContent = now.about;
  find("items").replaceChildren(...now.scene.items.map(([label, values]) => {
    const item = make("div", "", ""); item.append(make("div", "label", label));
    const kind = label.endsWith("card") ? "card" : label.endsWith("dice") ? "die" : "word";
    values.forEach(value => item.append(make("span", kind, value)));
    return item;
  }));
  board();
  find("text").textContent = now.scene.text;
  find("moves").replaceChildren(...now.moves.filter(move => move.cell === null).map(button));
  find("result").textContent = now.result;
  find("next").className = now.over ? "" : "hidden";
  find("shown").className = now.over ? "hidden" : "";
  find("past").className = now.over ? "" : "hidden";
  find("story").textContent = now.story.join("\n");
}
async function send(path, what) {
  try {
    const sent = {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(what)};
    const answer = await fetch(path, what ? sent : {}), found = await answer.json();
    find("error").textContent = found.error || "";
    if (found.scene) { now = found; show(); }
  } catch (error) { find("error").textContent = "mccfr-plus does not answer: was it ended? Start it again."; }
}
find("again").onclick = () => send("/next", {turn: now.turn});
find("hint").onchange = event => { hint = event.target.checked; show(); };
send("/state");
