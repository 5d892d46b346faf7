"""`mccfr-plus view`: a policy in the browser, from this machine only or as a file."""

from __future__ import annotations

import http.server
import sys
from http import HTTPStatus
from typing import Any

from absl import flags

from mccfr_plus.cli.command import GAME_NOTE, Command, define, text, whole
from mccfr_plus.cli.components import compile_within_budget, define_budget
from mccfr_plus.cli.policy_source import UNIFORM, read_policy, require_policy
from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.experiments import page
from mccfr_plus.experiments.strategy_table import strategy_view
from mccfr_plus.tree.game_tree import GameTree

_LOCALHOST = "127.0.0.1"


class ViewCommand(Command):
    """Shows a policy's information states, with bars for their actions."""

    name = "view"
    summary = "Look at a saved policy in the browser: information states, probabilities, values, regrets."
    positionals = ("GAME", "POLICY")
    notes = (
        GAME_NOTE
        + """
POLICY is a file that `mccfr-plus solve GAME --policy_out=FILE` wrote, or the word `uniform`.

The page is one file with everything in it. It is served to browsers on this machine until Ctrl-C, or written with
--out. Its table can be searched by words of the information state; choosing a row shows, for each action,
  probability   what the policy plays
  value         the player's expected payoff after it, given that play has come there
  regret        value - what the policy gets there: above 0, the policy should have played it more
Values are a dash where the others never let play come.
"""
    )

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "out", text("FILE"), "Write the page there instead of serving it.")
        define(values, "port", whole(0), "Port to serve on; 0: any that is free.", 0)
        define_budget(values)

    def run(self, arguments: list[str], values: Any) -> None:
        name, source = arguments
        page.bokeh()
        require_policy(source)
        if values.port > 65535:
            raise ConfigError(f"--port={values.port}: give a number up to 65535.")
        tree = compile_within_budget(name, values)
        policy: Any = {} if source == UNIFORM else read_policy(source, tree)
        content = _page(tree, name, source, policy)
        if values.out is not None:
            page.write_page(values.out, content)
            print(f"wrote {values.out} ({len(content.encode()) / 1e6:.1f} MB)")
        else:
            _serve(content.encode(), values.port)


def _page(tree: GameTree, name: str, source: str, policy: Any) -> str:
    from bokeh.layouts import column
    from bokeh.models import Div

    strategy = tree.uniform_strategy() if source == UNIFORM else strategy_of(tree, policy)
    rows = [["game", name], ["policy", source]]
    if tree.perfect_recall:
        found = evaluate_strategy(tree, strategy)
        rows.append(["values", ", ".join(f"{value:.6g}" for value in found.values.tolist())])
        rows.append(["exploitability", f"{found.exploitability:.6g}"])
    about = Div(text=f"<h1>{page.text(name)}</h1>{page.table(['', ''], rows, numbers_from=2)}", width=1100)
    return page.page_of(column(about, strategy_view(tree, strategy)), f"{name}: {source}")


def _serve(content: bytes, port: int) -> None:
    """Serves one page on this machine until Ctrl-C."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/":
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Says nothing of requests."""

    try:
        server = http.server.ThreadingHTTPServer((_LOCALHOST, port), Handler)
    except OSError as error:
        raise ConfigError(f"cannot serve on port {port}: {error.strerror or error}. Give another --port.") from None
    with server:
        print(f"http://{_LOCALHOST}:{server.server_address[1]}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("", file=sys.stderr)
