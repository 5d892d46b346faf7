"""A web server for browsers on this machine, until Ctrl-C: the pages of `mccfr-plus view` and `mccfr-plus play`."""

import contextlib
import http.server
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, NamedTuple

from mccfr_plus.errors import ConfigError

LOCALHOST = "127.0.0.1"
HTML, JSON = "text/html; charset=utf-8", "application/json"

_MOST_CONNECTIONS = 16
_MOST_BYTES = 1 << 16  # of a request's body
_SECONDS = 20.0  # that a connection may last
_POLL_SECONDS = 0.1


class Answer(NamedTuple):
    """What a request is answered with."""

    content: str
    kind: str = HTML
    status: HTTPStatus = HTTPStatus.OK


Respond = Callable[[str, str, str], Answer | None]  # from method, path and body; None: there is no such page


class LocalServer(http.server.ThreadingHTTPServer):
    """Serves browsers on this machine.

    Pages of other sites cannot reach it under a name that they own (the Host header is checked), nor send what changes
    something (POST takes JSON only, which browsers do not send to other sites without permission). Connections that
    exceed a limit are closed.

    Args:
        respond: Called in a thread per request.
        port: 0: any that is free.

    Raises:
        ConfigError: If the port cannot be used.
    """

    daemon_threads = True
    request_queue_size = 128  # or some of many connections at once would wait for seconds

    def __init__(self, respond: Respond, port: int):
        self.respond = respond
        self._since: dict[Any, float] = {}  # when each open connection began
        try:
            super().__init__((LOCALHOST, port), _Handler)
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"cannot serve on port {port}: {reason}. Give another --port.") from None
        self.hosts = {f"{name}:{self.server_address[1]}" for name in (LOCALHOST, "localhost")}

    @property
    def url(self) -> str:
        """The address for a browser."""
        return f"http://{LOCALHOST}:{self.server_address[1]}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Starts a thread for a connection, or closes it if there are too many."""
        if len(self._since) < _MOST_CONNECTIONS:
            self._since[request] = time.monotonic()
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Ends connections whose time is over, also if they send a byte now and then."""
        for request, since in list(self._since.items()):
            if time.monotonic() - since > _SECONDS:
                self._since.pop(request, None)
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection. Its place is free before it is closed, and so for who sees it closed."""
        self._since.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of browsers that hang up before they have read everything."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serving(respond: Respond, port: int) -> Iterator[LocalServer]:
    """Yields a server that has begun to serve, and ends it after the block."""
    with LocalServer(respond, port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def serve_until_interrupted(respond: Respond, port: int, opened: Callable[[str], None] | None = None) -> None:
    """Serves until Ctrl-C, and prints where; `opened` is called with the address."""
    with contextlib.suppress(KeyboardInterrupt), serving(respond, port) as server:
        print(f"{server.url}  (Ctrl-C ends it)", flush=True)
        if opened is not None:
            opened(server.url)
        while True:  # a signal that arrives in the thread of a connection ends no wait of this one
            time.sleep(_POLL_SECONDS)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: LocalServer
    timeout = _SECONDS

    def do_GET(self) -> None:
        self._answer("")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != JSON:
            self.send_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body must be JSON")
        elif not length.isdecimal() or len(length) > len(str(_MOST_BYTES)) or int(length) > _MOST_BYTES:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            self._answer(self.rfile.read(int(length)).decode(errors="replace"))

    def _answer(self, body: str) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.FORBIDDEN, f"this page is for {self.server.url}")
            return
        answer = self.server.respond(self.command, self.path.partition("?")[0], body)
        if answer is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        content = answer.content.encode()
        self.send_response(answer.status)
        for name, value in (
            ("Content-Type", answer.kind),
            ("Content-Length", str(len(content))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "frame-ancestors 'none'"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Says nothing of requests."""
