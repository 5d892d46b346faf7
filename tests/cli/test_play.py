"""`mccfr-plus play`: in the terminal and in a browser; nothing is shown that the player does not know."""

import io
import random
import re
import signal
import socket
import sys
import threading
import urllib.request

import pytest
from browser import found_at

import mccfr_plus
from mccfr_plus import Solver, save_policy
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.play import app_of
from mccfr_plus.cli.play_session import PlaySession, scene_of


def session_of(game, policy=None, seat=None, seed=1):
    return PlaySession(mccfr_plus.load_game(game), policy or {}, seat, random.Random(seed))


@pytest.fixture
def typed(monkeypatch):
    def type_lines(*lines):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_lines


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
            assert sum(session.probability(move) for move in moves) == pytest.approx(1)
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
    for wrong in ("2", "-1", "fold", "", "0 1"):
        with pytest.raises(UsageError, match=r"is not legal here\. Legal actions: 0 \(Pass\), 1 \(Bet\)"):
            session.play(wrong)
    for _ in range(20):
        session.play("Pass")
        assert session.state.information_state_string(0)[1:] == "pb"
        assert [session.probability(move) for move in session.moves()] == [0.0, 1.0]
        session.play("1")
        session.begin()


def test_plays_in_the_terminal(command, typed):
    typed("?", "7", "pass", "bet", "PASS", "0", "1", "1")
    found = command("play", "kuhn_poker", "uniform", "--games=2", "--seat=1", "--seed=3")
    assert found.code == 0, found.err
    assert "game 2: you are player 1 of 2" in found.out
    assert "Pass  0.500" in found.out
    assert "'7' is not legal here" in found.out
    assert re.search(r"your card: [JQK]\n(  bets: .*\n)?actions:", found.out)  # in place of the state's own text
    for game in found.out.split("---")[2::2]:
        first, second = re.findall(r"Deal:(\d)", game)
        before, _, after = game.partition("player 0's card: ")
        assert f"player 0's card: {'JQK'[int(first)]}\n" in game
        assert "\nactions:" not in after  # at the end alone
        assert f"your card: {'JQK'[int(second)]}\n" in before
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


@pytest.mark.usefixtures("interpreted_public_trees")
def test_searches(command, typed):
    typed("?", "q")
    found = command("play", "kuhn_poker", "uniform", "--seat=1", "--search=1", "--search_start=1", "--seed=1")
    assert found.code == 0, found.err
    shown = dict(re.findall(r"^.*  (Pass|Bet)  +(\d\.\d+)$", found.out, re.MULTILINE))
    assert float(shown["Pass"]) + float(shown["Bet"]) == pytest.approx(1, abs=2e-3)
    assert shown["Pass"] != "0.500"  # that of the policy
    refused = command("play", "kuhn_poker", "uniform", "--search=1", "--search_start=99")
    assert (refused.code, refused.out) == (2, "")
    assert "has no decision after that many actions" in refused.err.splitlines()[-1]


@pytest.mark.usefixtures("interpreted_public_trees")
def test_searches_in_a_game_with_more_actions(command, typed, tmp_path):
    name, path = "holdem_subgame(board=2c3d4c5d,ranks=5,suits=2,pot=20,stack=40,bets={})", str(tmp_path / "pot.npz")
    save_policy(Solver(name.format("100%"), "full", tree="public").run(3).average_policy(), path)
    typed("20", "?", "q")
    found = command("play", name.format("0.5 1"), path, "--seat=0", "--search=1", "--search_start=3", "--seed=1")
    assert found.code == 0, found.err
    assert "bets=r20" in found.out  # which the policy answers, though its own game lacks it
    refused = command("play", "kuhn_poker", path, "--search=1")
    assert (refused.code, refused.out) == (2, "")
    assert "only 0 occur in" in refused.err.splitlines()[-1]


@pytest.fixture
def client():
    return app_of(session_of("kuhn_poker", seat=0), "<kuhn>", "<uniform>").test_client()


def token_of(page):
    return re.search(r'name="token" value="([^"]+)"', page)[1]


def test_a_game_by_requests(client):
    page = client.get("/").text
    assert "&lt;kuhn&gt;" in page
    assert 'score <span id="score">+0 in 0 games' in page
    while "The game is over" not in page:
        outdated = token_of(page)
        assert client.post("/", data={"token": outdated, "action": "1"}).status_code == 303
        page = client.get("/").text
    assert "you: Bet" in page
    assert re.search(r"[+-]\d in 1 game<", page)
    assert client.post("/", data={"token": token_of(page), "action": "1"}).status_code == 409
    assert client.post("/", data={"token": token_of(page), "action": "next"}).status_code == 303
    page = client.get("/").text
    assert "game 2, you are player 0 of 2" in page
    for data, message in [
        ({"token": outdated, "action": "1"}, "out of date"),
        ({"action": "1"}, "out of date"),
        ({"token": token_of(page), "action": "9"}, "&#39;9&#39; is not legal"),
        ({"token": token_of(page), "action": "next"}, "&#39;next&#39; is not legal"),
    ]:
        answer = client.post("/", data=data)
        assert (answer.status_code, message in answer.text) == (409, True)
    assert token_of(client.get("/").text) == token_of(page)  # nothing was played


def test_other_sites_are_refused(client):
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert client.get("/", headers={"Host": "localhost:8000"}).status_code == 200
    assert "frame-ancestors 'self'" in client.get("/").headers["Content-Security-Policy"]


@pytest.mark.integration
def test_serves_the_page_until_ctrl_c(start, monkeypatch):
    monkeypatch.setenv("BROWSER", "true %s")
    process = start("play", "kuhn_poker", "uniform", "--browser")
    line = process.stdout.readline()
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/  \(Ctrl-C ends it\)\n", line)
    assert found, line + process.stderr.read()
    with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/", timeout=30) as answer:
        assert "kuhn_poker" in answer.read().decode()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (0, "", "")


def test_what_the_page_needs(command, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = command("play", "kuhn_poker", "uniform", "--browser", f"--port={port}")
        found.assert_one_line_error(f"cannot serve on port {port}: Address already in use")
    monkeypatch.setitem(sys.modules, "flask", None)
    found = command("play", "kuhn_poker", "uniform", "--browser")
    found.assert_one_line_error("--browser needs Flask: pip install 'mccfr_plus[browser]'")


# A page that plays in a frame until the game has ended, as a person would.
DRIVER = """<!DOCTYPE html><iframe src="/" style="width:WIDTHpx;height:900px;border:0"></iframe><script>
const frame = document.querySelector("iframe"), seen = [];
frame.onload = () => {
    const page = frame.contentDocument, text = id => page.getElementById(id)?.innerText ?? "";
    seen.push({cells: page.querySelectorAll(".cell").length, items: page.querySelectorAll(".item").length});
    page.querySelector("details")?.setAttribute("open", "");
    const story = text("story"), sideways = page.documentElement.scrollWidth > frame.clientWidth;
    if (!story) return page.querySelector("form button").click();
    const shown = document.createElement("pre");
    shown.id = "found";
    shown.textContent = JSON.stringify({seen, result: text("result"), score: text("score"), story, sideways});
    document.body.append(shown);
};
</script>"""


@pytest.mark.integration
@pytest.mark.parametrize(("game", "width", "cells", "items"), [("leduc_poker", 1200, 0, 2), ("phantom_ttt", 400, 9, 0)])
def test_plays_in_a_browser(game, width, cells, items, tmp_path):
    from werkzeug.serving import make_server

    session = session_of(game, seat=0)
    app = app_of(session, game, "uniform")
    app.add_url_rule("/drive", view_func=lambda: DRIVER.replace("WIDTH", str(width)))
    app.after_request_funcs[None].clear()  # the page that plays has a script
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        found = found_at(f"http://127.0.0.1:{server.server_port}/drive", tmp_path, width)
    finally:
        server.shutdown()
        thread.join()
    assert found["result"].startswith("The game is over: you get ")
    assert "you: " in found["story"]
    assert found["score"] == f"{session.score:+g} in 1 game"
    assert found["sideways"] is False
    assert all(each["cells"] == cells and each["items"] >= items for each in found["seen"])
