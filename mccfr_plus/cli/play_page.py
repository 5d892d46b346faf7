"""The page of `mccfr-plus play --browser`: what the person knows, a button per action, the score."""

import json
import threading
from dataclasses import asdict
from html import escape
from http import HTTPStatus
from typing import Any

from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.local_server import JSON, Answer
from mccfr_plus.cli.play_session import PlaySession
from mccfr_plus.errors import MccfrPlusError
from mccfr_plus.experiments.page import page_of

_STYLE = """
main { max-width: 760px }
header { display: flex; flex-wrap: wrap; gap: 4px 24px; align-items: baseline; justify-content: space-between }
#items { display: flex; flex-wrap: wrap; gap: 16px 32px }
.card { display: inline-block; min-width: 54px; padding: 12px 8px; font: bold 30px/1 Georgia, serif;
  text-align: center; background: #fff; border: 2px solid #1c2430; border-radius: 8px }
.die { font-size: 52px; line-height: 1 }
.word { display: inline-block; padding: 2px 10px; margin: 2px 4px 2px 0; background: #e7ecf3; border-radius: 12px }
#board { margin: 4px auto; width: max-content; max-width: 100% }
#board button { width: 72px; height: 72px; margin: 2px; font: bold 34px/1 system-ui; border-radius: 8px;
  border: 1px solid #b9c3d1; background: #f7f9fb; color: #1c2430; vertical-align: top; padding: 0; position: relative }
#board.many button { width: 44px; height: 44px; font-size: 22px }
#board button.x { color: #0072B2 } #board button.o { color: #D55E00 }
#board button:enabled { background: #fff; border-color: #0072B2 }
#board button:enabled:hover, #moves button:hover { background: #e4f1fa }
#board small { position: absolute; left: 0; right: 0; bottom: 3px; font: 11px/1 system-ui; color: #5b6675 }
#moves { display: flex; flex-wrap: wrap; gap: 8px; max-height: 300px; overflow-y: auto; margin: 10px 0 }
#moves button, #again { position: relative; overflow: hidden; min-height: 44px; padding: 8px 18px }
#again { background: #0072B2; color: #fff; font-weight: 600 }
.bar { position: absolute; left: 0; bottom: 0; height: 5px; background: #E69F00 }
pre { margin: 8px 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px }
#result { font-size: 20px; font-weight: 600 } #error { color: #b3261e }
"""

_BODY = """<header><h1>TITLE</h1><div id="score"></div></header>
<div class="label" id="about"></div>
<section><div id="items"></div><div id="board"></div>
<div class="label" id="heading">What you know, as the game writes it</div><pre id="text"></pre></section>
<section><div id="result" role="status"></div><div id="moves"></div>
<p class="hidden" id="next"><button id="again">Next game</button></p>
<label id="shown"><input type="checkbox" id="hint"> show what the policy would play</label>
<div id="error" role="alert"></div></section>
<section id="past" class="hidden"><div class="label">All actions of this game</div><pre id="story"></pre></section>"""

_SCRIPT = """
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
  find("story").textContent = now.story.join("\\n");
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
"""


class PlayPages:
    """Answers the requests of the page."""

    def __init__(self, session: PlaySession, name: str, opponent: str):
        self._session, self._opponent = session, opponent
        self._turn = 0  # a number per view: an action that was chosen on an old one is refused
        self._lock = threading.Lock()
        self._page = page_of(name, _BODY.replace("TITLE", escape(name)), style=_STYLE, script=_SCRIPT)

    def respond(self, method: str, path: str, body: str) -> Answer | None:
        """Answers one request; see `mccfr_plus.cli.local_server`."""
        if (method, path) == ("GET", "/"):
            return Answer(self._page)
        with self._lock:
            if (method, path) == ("GET", "/state"):
                return _json(self._view())
            if method == "POST" and path in ("/play", "/next"):
                return self._act(path, body)
        return None

    def _act(self, path: str, body: str) -> Answer:
        try:
            given = json.loads(body)
            action, turn = str(given.get("action")), given.get("turn")
        except (ValueError, AttributeError, RecursionError):
            return _json({"error": "the body must be a JSON object"}, HTTPStatus.BAD_REQUEST)
        try:
            if turn != self._turn:
                raise UsageError("this page was out of date")
            if path == "/next" and self._session.payoff is None:
                raise UsageError("the game has not ended")
            self._session.begin() if path == "/next" else self._session.play(action)
        except MccfrPlusError as error:
            return _json({"error": str(error), **self._view()}, HTTPStatus.CONFLICT)
        self._turn += 1
        return _json(self._view())

    def _view(self) -> dict[str, Any]:
        session = self._session
        payoff, moves = session.payoff, session.moves()
        games = "1 game" if session.ended == 1 else f"{session.ended} games"
        on_board = ": choose a cell" if all(move.cell is not None for move in moves) else ""
        return {
            "turn": self._turn,
            "about": f"game {session.number}, you are player {session.seat} of {session.game.num_players()}; "
            f"policy: {self._opponent}",
            "score": f"score {session.score:+g} in {games}",
            "scene": asdict(session.scene),
            "moves": [move._asdict() for move in moves],
            "over": payoff is not None,
            "result": f"Your move{on_board}" if payoff is None else f"The game is over: you get {payoff:+g}",
            "story": session.story if payoff is not None else [],
        }


def _json(what: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Answer:
    return Answer(json.dumps(what), JSON, status)
