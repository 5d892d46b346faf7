"""Ray, which is optional: importing it, starting it on localhost only, and probing addresses."""

import contextlib
import importlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

from mccfr_plus.errors import ClusterError, ConfigError

# Ray reads this before it determines the machine's address: without it, what it starts listens on every interface.
_LOCALHOST_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
CLIENT = "ray://"
_PROBE_SECONDS = 5.0  # to reach a port
_HELLO_SECONDS = 15.0  # for a busy head to answer
_SETTINGS = 4  # the type of HTTP/2's first frame


def ray_module() -> Any:
    """Returns the module ``ray``.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ConfigError(
            f"running on a cluster needs Ray, which cannot be imported ({error}): pip install 'mccfr_plus[ray]'"
        ) from None


@contextlib.contextmanager
def on_localhost() -> Iterator[None]:
    """Makes what Ray starts in a ``with`` block listen on localhost only, report no usage and have our priority."""
    before, was_imported = os.environ.get(_LOCALHOST_SWITCH), "ray" in sys.modules
    os.environ[_LOCALHOST_SWITCH] = "0"
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 lets workers starve beside other work
    ray_module()
    constants = sys.modules.get("ray._private.ray_constants")  # has read the switch when it was imported
    was_enabled = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    if not was_imported and before is None:  # what it would have read without the switch
        was_enabled = sys.platform.startswith("linux")
    if constants is not None:
        constants.ENABLE_RAY_CLUSTER = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if constants is not None:
            constants.ENABLE_RAY_CLUSTER = was_enabled  # type: ignore[attr-defined]
        if before is None:
            del os.environ[_LOCALHOST_SWITCH]
        else:
            os.environ[_LOCALHOST_SWITCH] = before


def messages_to_stderr() -> None:
    """Makes Ray write what it has to say, of lost workers for example, on standard error.

    Its thread prints it on standard output, whatever `log_to_driver` says: in the middle of a program's results.
    """
    worker: Any = sys.modules.get("ray._private.worker")
    write = getattr(worker, "print_to_stdstream", None)
    if write is None or getattr(write, "is_ours", False):
        return

    def write_on_stderr(data: dict[str, Any], *arguments: Any, **named: Any) -> None:
        write({**data, "is_err": True}, *arguments, **named)

    write_on_stderr.is_ours = True  # type: ignore[attr-defined]
    worker.print_to_stdstream = write_on_stderr


@contextlib.contextmanager
def own_sigterm() -> Iterator[None]:
    """Keeps the program's handler of SIGTERM, if it has one: Ray's would end it at once, without what it does then."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit as end:  # by Ray's handler
        if callable(before) and end.code == signal.SIGTERM:
            before(signal.SIGTERM, None)
        raise
    finally:
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def probe(address: str) -> None:
    """Raises ClusterError if nothing listens at an address, or something else than Ray: it would try for minutes."""
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE_SECONDS) as connection:
            # Not for Ray's client server, where Ray itself notices within half a minute.
            is_ray = address.startswith(CLIENT) or _speaks_http2(connection)
            problem = None if is_ray else "what listens there is not Ray"
    except OSError as error:
        problem = error.strerror or str(error)
    if problem is not None:
        hint = "the port of Ray's client server, usually 10001" if address.startswith(CLIENT) else "the GCS's port"
        raise ClusterError(
            f"no cluster at {address}: {problem}. Check that `ray start --head` has been run there, "
            f"and whether the port is right ({hint}) and open."
        )


def _speaks_http2(connection: socket.socket) -> bool:
    """Returns whether the other end answers as gRPC does, which Ray speaks (RFC 9113, section 3.4)."""
    if os.environ.get("RAY_USE_TLS", "0") != "0":
        return True  # it would not answer without a certificate
    empty_settings = bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0))
    connection.settimeout(_HELLO_SECONDS)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + empty_settings)
    answer = b""
    while len(answer) < len(empty_settings) and (more := connection.recv(len(empty_settings) - len(answer))):
        answer += more
    return len(answer) == len(empty_settings) and answer[3] == _SETTINGS


def is_on_localhost_only(address: str) -> bool:
    """Returns whether a cluster listens on localhost, and not on the machine's address, which Ray would put there."""
    host, _, port = address.rpartition(":")
    services = sys.modules.get("ray._private.services")
    if host not in ("127.0.0.1", "localhost", "[::1]") or services is None:
        return False
    try:
        probe(f"{services.get_node_ip_address()}:{port}")
    except ClusterError:
        return True
    return False
