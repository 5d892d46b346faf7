"""`mccfr-plus play`: in the terminal, by requests, and in a browser; nothing is shown that the player does not know."""

import contextlib
import http.client
import io
import json
import random
import re
import signal
import socket
import threading
import time
import webbrowser

import pytest
from browser import found_at

import mccfr_plus
from mccfr_plus.cli import local_server
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.local_server import Answer, serve_until_interrupted, serving
from mccfr_plus.cli.play_page import PlayPages
from mccfr_plus.cli.play_session import PlaySession
from mccfr_plus.cli.scene import scene_of


def session_of(game, policy=None, seat=None, seed=1):
    return PlaySession(mccfr_plus.load_game(game), policy or {}, seat, random.Random(seed))


@pytest.fixture
def typed(monkeypatch):
    def type_lines(*lines):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_lines


# --- games ---


@pytest.mark.parametrize("game", [
    "kuhn_poker(players=3)", "leduc_poker", "liars_dice", "goofspiel(num_cards=3)", "phantom_ttt", "tic_tac_toe",
    "dark_hex(board_size=2)", "python_kuhn_poker", "bid_goofspiel(num_cards=3)", "latent_ttt", "leduc_ranks",
    "perfect_recall_dark_hex(num_rows=2,num_cols=2)", "bluff(dice1=1,dice2=1)", "matrix_pd",
])  # fmt: skip
def test_games_are_played_to_their_end_and_scored(game):
    """The score is the sum of the payoffs of the states that the recorded actions lead to."""
    session, rng, total = session_of(game), random.Random(2), 0.0
    players = session.game.num_players()
    for number in range(6):
        assert session.seat == number % players
        while session.payoff is None:
            moves = session.moves()
            assert [move.action for move in moves] == session.state.legal_actions()
            assert sum(move.probability for move in moves) == pytest.approx(1)
            session.play(rng.choice([str(rng.choice(moves).action), rng.choice(moves).name.upper()]))
        replayed = session.game.new_initial_state()
        for action in session.state.history():
            replayed.apply_action(action)
        total += replayed.player_return(session.seat)
        assert session.score == total
        assert (session.ended, len(session.story)) == (number + 1, len(session.state.history()))
        session.begin()


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "liars_dice", "phantom_ttt", "dark_hex(board_size=2)",
    "leduc_ranks", "bluff(dice1=1,dice2=1)"])  # fmt: skip
def test_a_scene_depends_on_what_the_player_knows_alone(game):
    loaded, scenes = mccfr_plus.load_game(game), {}
    for seed in range(300):
        state, rng = loaded.new_initial_state(), random.Random(seed)
        while not state.is_terminal():
            if not state.is_chance_node():
                player = state.current_player()
                key = player, state.information_state_string(player)
                assert scenes.setdefault(key, scene_of(state, player)) == scene_of(state, player)
            state.apply_action(rng.choice(state.legal_actions()))
    assert len(scenes) > 5


def scene_after(game, actions, player):
    state = mccfr_plus.load_game(game).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return scene_of(state, player)


def test_cards_dice_and_boards_are_shown():
    kuhn = scene_after("kuhn_poker", [2, 0, 0, 1], 0)  # king and jack dealt; pass, bet
    assert kuhn.items == [("your card", ["K"]), ("bets", ["pass", "bet"])]
    leduc = dict(scene_after("leduc_poker", [1, 3, 2, 1, 4], 0).items)  # raise, call, and a king on the table
    assert leduc == {"your card": ["J"], "pot": ["6"], "public card": ["K"], "first round": ["raise", "call"]}
    dice = dict(scene_after("liars_dice(numdice=2)", [4, 0, 2, 2, 7], 1).items)
    assert dice["your dice"] == ["⚂", "⚂"]
    assert dice["bids"] == ["2-2"]
    assert scene_after("tic_tac_toe", [4, 0], 0).board == ["o..", ".x.", "..."]
    assert scene_after("phantom_ttt", [4, 0], 0).board == ["...", ".x.", "..."]  # not the other player's mark
    hexagons = scene_after("perfect_recall_dark_hex(num_rows=2,num_cols=2)", [1], 1)
    assert (hexagons.board, hexagons.slanted) == (["..", ".."], True)
    assert scene_after("goofspiel(num_cards=3)", [], 0).board == []


def test_plays_the_policy():
    """Against a policy that always bets, in a game where that is seen."""
    always = {}
    for card in "012":
        always |= {f"{card}{bets}": {1: 1.0} for bets in ("", "p", "b", "pb")}
    session = session_of("kuhn_poker", always, seat=0)
    for _ in range(20):
        session.play("Pass")
        assert session.state.information_state_string(0)[1:] == "pb"
        assert [move.probability for move in session.moves()] == [0.0, 1.0]
        session.play("1")
        session.begin()


def test_an_action_must_be_legal():
    session = session_of("kuhn_poker", seat=0)
    for wrong in ("2", "-1", "fold", "", "0 1"):
        with pytest.raises(UsageError, match=r"is not legal here: give one of 0 \(Pass\), 1 \(Bet\)"):
            session.play(wrong)


# --- in the terminal ---


def test_plays_in_the_terminal(command, typed):
    typed("?", "7", "pass", "bet", "PASS", "0", "1", "1")
    found = command("play", "kuhn_poker", "uniform", "--games=2", "--seat=1", "--seed=3")
    assert found.code == 0, found.err
    assert "game 2: you are player 1 of 2" in found.out
    assert "Pass  0.500" in found.out
    assert "'7' is not legal here: give one of 0 (Pass), 1 (Bet)" in found.out
    assert re.search(r"your card: [JQK]", found.out)
    assert re.search(r"All actions: chance: Deal:\d; chance: Deal:\d; player 0: (Pass|Bet); you: Pass", found.out)
    assert len(re.findall(r"You get [+-]\d\. Score: [+-]\d in \d games?\.", found.out)) == 2
    typed("?", "7", "pass", "bet", "PASS", "0", "1", "1")
    assert command("play", "kuhn_poker", "uniform", "--games=2", "--seat=1", "--seed=3").out == found.out


@pytest.mark.parametrize("lines", [["q"], [], ["QUIT"]])
def test_ends_when_the_player_does(command, typed, lines):
    typed(*lines)
    found = command("play", "tic_tac_toe", "uniform")
    assert found.code == 0
    assert found.out.endswith("\nScore: +0 in 0 games.\n")


def test_solves_the_game_if_no_policy_is_given(command, typed, interpreted_loops):
    typed("?", "q")
    found = command("play", "kuhn_poker", "--seconds=0.5", "--seat=0", "--seed=1")
    assert found.code == 0, found.err
    assert "solving kuhn_poker for 0.5 s" in found.err
    shown = dict(re.findall(r"^.*  (Pass|Bet)  +(\d\.\d+)$", found.out, re.MULTILINE))
    assert float(shown["Pass"]) + float(shown["Bet"]) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("options", [{"tree": "lazy"}, {"tree": "lazy", "keys": "text"}])
def test_plays_policies_of_lazy_trees(command, typed, tmp_path, options, interpreted_loops):
    file = tmp_path / "policy.npz"
    solver = mccfr_plus.Solver("leduc_poker", "outcome", seed=1, **options).run(200)
    mccfr_plus.save_policy(solver.average_policy(), file)
    typed("?", "1", "1", "1", "1", "1", "1")
    found = command("play", "leduc_poker", str(file), "--games=1", "--seed=2")
    assert found.code == 0, found.err
    assert "Score" in found.out


def test_bad_input_is_one_line(command, tmp_path):
    kuhn = tmp_path / "kuhn.npz"
    tree = mccfr_plus.compile_game("kuhn_poker")
    mccfr_plus.save_policy(mccfr_plus.TreePolicy(tree, tree.uniform_strategy()), kuhn)
    command("play", "leduc_poker", str(kuhn)).assert_one_line_error("policy of kuhn_poker()", "leduc_poker")
    command("play", "kuhn_poker", "none.npz").assert_one_line_error("there is no file none.npz")
    command("play", "kuhn_poker", "uniform", "--seat=2").assert_one_line_error("--seat=2", "seats 0 to 1")
    command("play", "kuhn_poker", "uniform", "x").assert_one_line_error("unexpected argument 'x'")
    command("play", "kuhn_pokr", "uniform").assert_one_line_error("did you mean kuhn_poker")
    command("play", "kuhn_poker", "uniform", "--port=99999").assert_one_line_error("at most 65,535")


# --- the server and its pages ---


def request(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    connection.request(method, path, body, {"Content-Type": "application/json"} | headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.fixture
def played():
    pages = PlayPages(session_of("kuhn_poker", seat=0), "kuhn_poker", "uniform")
    with serving(pages.respond, 0) as server:
        yield server


def test_a_game_by_requests(played):
    state = json.loads(request(played, "GET", "/state")[1])
    assert (state["over"], state["score"], state["story"]) == (False, "score +0 in 0 games", [])
    while not state["over"]:
        status, text = request(played, "POST", "/play", json.dumps({"action": 1, "turn": state["turn"]}))
        state, before = json.loads(text), state
        assert (status, state["turn"]) == (200, before["turn"] + 1)
    assert "score" in state
    assert state["story"][2] == "you: Bet"
    status, text = request(played, "POST", "/play", json.dumps({"action": 1, "turn": state["turn"]}))
    assert status == 409
    assert "'1' is not legal here: the game has ended." in json.loads(text)["error"]
    assert request(played, "POST", "/next", json.dumps({"turn": state["turn"]}))[0] == 200
    assert json.loads(request(played, "GET", "/state")[1])["about"].startswith("game 2, ")


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("/play", "{}", 409, "out of date"),
        ("/play", '{"action": 9, "turn": 0}', 409, "'9' is not legal"),
        ("/next", '{"turn": 0}', 409, "the game has not ended"),
        ("/play", "[]", 400, "JSON object"),
        ("/play", "{", 400, "JSON object"),
        ("/other", "{}", 404, ""),
        ("/play", "x" * 100_000, 413, ""),
        ("/play", "[" * 60_000, 400, "JSON object"),
    ],
)
def test_wrong_requests(played, path, body, status, text):
    before = request(played, "GET", "/state")
    found = request(played, "POST", path, body)
    assert found[0] == status
    assert text in found[1]
    assert request(played, "GET", "/state") == before


def test_other_sites_are_refused(played):
    assert request(played, "GET", "/state", Host="evil.example")[0] == 403
    assert request(played, "GET", "/state", Host=f"localhost:{played.server_address[1]}")[0] == 200
    body = '{"action": 1, "turn": 0}'
    assert request(played, "POST", "/play", body, Host=f"evil.example:{played.server_address[1]}")[0] == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded"):  # what a form of another site can send
        assert request(played, "POST", "/play", body, **{"Content-Type": kind})[0] == 415
    assert json.loads(request(played, "GET", "/state")[1])["turn"] == 0


def test_connections_are_bounded(monkeypatch):
    monkeypatch.setattr(local_server, "_MOST_CONNECTIONS", 2)
    monkeypatch.setattr(local_server, "_SECONDS", 0.5)
    with serving(lambda *_: Answer("x"), 0) as server:
        idle = [socket.create_connection(server.server_address) for _ in range(2)]
        third = socket.create_connection(server.server_address)
        third.settimeout(30)
        assert third.recv(1) == b""  # closed at once
        for each in idle:
            each.settimeout(30)
            assert each.recv(1) == b""  # closed after the time for a request
        assert request(server, "GET", "/")[0] == 200
        for each in (*idle, third):
            each.close()


def test_a_client_that_sends_a_byte_now_and_then_is_cut_off(monkeypatch):
    monkeypatch.setattr(local_server, "_SECONDS", 0.3)
    with serving(lambda *_: Answer("x"), 0) as server, socket.create_connection(server.server_address) as slow:
        slow.settimeout(0.05)
        answer, end = None, time.monotonic() + 30
        while answer is None and time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                slow.sendall(b"G")
                answer = slow.recv(1)
        assert answer == b""
        assert not server._since


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "x", "\xb2", ""])
def test_lengths_that_are_none(played, capfd, length):
    with socket.create_connection(played.server_address) as connection:
        head = f"POST /play HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode("latin-1"))
        assert b" 413 " in connection.makefile("rb").readline()
    assert capfd.readouterr().err == ""


def test_the_end_waits_for_no_client():
    with contextlib.ExitStack() as clients:
        begin = time.monotonic()
        with serving(lambda *_: Answer("x"), 0) as server:
            for _ in range(8):
                clients.enter_context(socket.create_connection(server.server_address)).sendall(b"GET / HTTP/1.1\r\n")
        assert time.monotonic() - begin < 18  # a client may take 20


def test_a_signal_in_another_thread_ends_it(monkeypatch):
    """As when it comes while a connection's thread is started."""

    def interrupt(_):
        threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT)).start()
        late.start()

    monkeypatch.setattr(local_server, "_POLL_SECONDS", 0.05)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    late = threading.Timer(60, signal.raise_signal, [signal.SIGINT])
    try:
        begin = time.monotonic()
        serve_until_interrupted(lambda *_: Answer("x"), 0, interrupt)
        assert time.monotonic() - begin < 50
    finally:
        late.cancel()
        signal.signal(signal.SIGINT, before)


def test_serves_a_page_until_ctrl_c(start, monkeypatch):
    monkeypatch.setenv("BROWSER", "true %s")
    process = start("play", "kuhn_poker", "uniform", "--browser")
    line = process.stdout.readline()
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/  \(Ctrl-C ends it\)\n", line)
    assert found, line + process.stderr.read()
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=30)
    connection.request("GET", "/")
    assert "kuhn_poker" in connection.getresponse().read().decode()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (0, "", "")


@pytest.mark.parametrize("outcome", [False, webbrowser.Error("none")])
def test_a_missing_browser_is_one_line(monkeypatch, capsys, outcome):
    def fail(_):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(webbrowser, "open", fail)
    mccfr_plus.cli.play._open("http://127.0.0.1:1/")
    assert capsys.readouterr().err == "no browser was found: open that address in one on this machine\n"


# --- in a browser ---

PLAY = """
<script>
window.addEventListener("load", async () => {
    const wait = ms => new Promise(done => setTimeout(done, ms)), find = id => document.getElementById(id);
    const seen = [];
    for (let i = 0; i < 100 && now === null; i++) await wait(50);
    find("hint").click();
    const hints = document.body.textContent.includes("%");
    find("hint").click();
    for (let i = 0; i < 40 && !now.over; i++) {
        seen.push({board: now.scene.board, items: now.scene.items.length});
        const before = now.turn, button = document.querySelector("#board button:enabled, #moves button");
        button.click();
        for (let j = 0; j < 100 && now.turn === before; j++) await wait(20);
    }
    const result = find("result").textContent, story = find("story").textContent, score = find("score").textContent;
    find("again").click();
    for (let j = 0; j < 100 && now.over; j++) await wait(20);
    const shown = document.createElement("pre");
    shown.id = "found";
    shown.textContent = JSON.stringify({hints, seen, result, story, score, about: find("about").textContent,
        error: find("error").textContent, sideways: document.documentElement.scrollWidth > window.innerWidth});
    document.body.append(shown);
});
</script>
"""


@pytest.mark.parametrize(
    ("game", "width"),
    [("leduc_poker", 1400), ("liars_dice", 500), ("phantom_ttt", 500), ("bid_goofspiel(num_cards=3)", 1400)],
)
def test_plays_in_a_browser(game, width, tmp_path):
    session = session_of(game, seat=0)
    pages = PlayPages(session, game, "uniform")

    def respond(method, path, body):
        answer = pages.respond(method, path, body)
        return answer._replace(content=answer.content.replace("</body>", f"{PLAY}</body>")) if path == "/" else answer

    with serving(respond, 0) as server:
        found = found_at(server.url, tmp_path, width)
    assert (found["hints"], found["error"], found["sideways"]) == (True, "", False)
    assert found["result"].startswith("The game is over: you get ")
    assert "you: " in found["story"]
    assert found["score"] == f"score {session.score:+g} in 1 game"
    assert found["about"].startswith("game 2, you are player 0 of 2")
    if game == "phantom_ttt":
        assert all(len(each["board"]) == 3 for each in found["seen"])
    elif game != "bid_goofspiel(num_cards=3)":
        assert all(each["items"] for each in found["seen"])


def test_texts_are_not_read_as_html():
    page = PlayPages(session_of("kuhn_poker"), "<b>", "<i>").respond("GET", "/", "").content
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "innerHTML" not in page
