"""`mccfr-plus view`: a policy in the browser, from this machine only or as a file."""

from __future__ import annotations

import contextlib
import functools
import http.server
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from mccfr_plus.cli.command import Command, define, text, whole
from mccfr_plus.cli.components import compile_within_budget, define_budget
from mccfr_plus.cli.policy_source import read_policy, require_policy
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
    notes = """
POLICY is a file that `mccfr-plus solve GAME --policy_out=FILE` wrote, or the word `uniform`.

The page is one file with everything in it. It is served to browsers on this machine until Ctrl-C, or written with
--out. Its table can be searched by words of the information state; choosing a row shows, for each action,
  probability   what the policy plays
  value         the player's expected payoff after it, given that play has come there
  regret        value - what the policy gets there: above 0, the policy should have played it more
Values are a dash where the others never let play come.
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "out", text("FILE"), "Write the page there instead of serving it.")
        define(values, "port", whole(0), "Port to serve on; 0: any that is free.", 0)
        define_budget(values)

    def run(self, arguments: list[str], values: Any) -> None:
        name, source = arguments
        page.require_library("bokeh")
        require_policy(source)
        if values.port > 65535:
            raise ConfigError(f"--port={values.port}: give a number up to 65535.")
        tree = compile_within_budget(name, values)
        content = _page(tree, name, source, strategy_of(tree, read_policy(source, tree)))
        if values.out is not None:
            page.write_page(values.out, content)
            print(f"wrote {values.out} ({len(content.encode()) / 1e6:.1f} MB)")
        else:
            _serve(content, values.port)


def _page(tree: GameTree, name: str, source: str, strategy: np.ndarray) -> str:
    from bokeh.layouts import column

    rows = [["game", name], ["policy", source]]
    if tree.perfect_recall:
        found = evaluate_strategy(tree, strategy)
        rows.append(["values", ", ".join(f"{value:.6g}" for value in found.values.tolist())])
        rows.append(["exploitability", f"{found.exploitability:.6g}"])
    about = page.block(f"<h1>{escape(name)}</h1>{page.table(['', ''], rows, numbers_from=2)}")
    return page.page_of(column(about, strategy_view(tree, strategy)), f"{name}: {source}")


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of browsers that hang up before they have read everything."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _serve(content: str, port: int) -> None:
    """Serves one page on this machine until Ctrl-C."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def guess_type(self, path: Any) -> str:
            return "text/html; charset=utf-8"

        def log_message(self, *_: Any) -> None:
            """Says nothing of requests."""

    with tempfile.TemporaryDirectory(prefix="mccfr_plus_") as folder:
        page.write_page(Path(folder) / "index.html", content)
        handler = functools.partial(Handler, directory=folder)
        try:
            server = _Server((_LOCALHOST, port), handler)
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"cannot serve on port {port}: {reason}. Give another --port.") from None
        with server, contextlib.suppress(KeyboardInterrupt):
            print(f"http://{_LOCALHOST}:{server.server_address[1]}/  (Ctrl-C ends it)", flush=True)
            server.serve_forever()
