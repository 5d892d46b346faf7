"""A connection to a Ray cluster that is found or started here. Ray schedules, sends data and retries."""

import contextlib
import importlib
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from mccfr_plus.errors import ClusterError, ConfigError
from mccfr_plus.kernels.compile import package_digest
from mccfr_plus.solver.saved_state import package_version
from mccfr_plus.trees.loading import load_game
from mccfr_plus.user_modules import import_user_module

RAY = "ray"
LOCAL = "local"  # no cluster: this process does the work
_CLIENT = "ray://"
_CLIENT_ATTEMPTS = 5  # Ray's client server forks a process for each client, which sometimes fails
_CONNECT_SECONDS = 5.0
_PACKAGES = ("open_spiel", "numpy", "numba")  # results depend on their versions; Ray compares Python's and its own

# Environment variables of Ray, which reads the first one when it is imported.
_ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # a cluster that starts here listens on localhost only, on Linux also
    "RAY_worker_niceness": "0",  # with Ray's 15, workers starve beside other programs
}


class Cluster(contextlib.AbstractContextManager):
    """A connection to Ray for the length of a ``with`` block.

    Args:
        address: ``"ray"``: the cluster that this program is connected to; else the cluster of RAY_ADDRESS, or of ``ray
            start`` on this machine; else a new cluster on this machine for the length of the block. The latter listens
            on localhost only, unless the program has already imported Ray. ``"HOST:PORT"``: a cluster to which this
            machine belongs. ``"ray://HOST:PORT"``: any cluster, through Ray's client server.
        cpus: Number of CPUs of a cluster that is started here. Default: all CPUs of the machine.
        imports: Modules that workers import before they load a game, such as a module that registers it.

    Raises:
        ConfigError, ClusterError: If Ray is not installed, there is no cluster at the address, it has no CPU, or a node
            has different versions of packages.
    """

    def __init__(self, address: str = RAY, *, cpus: int | None = None, imports: Sequence[str] = ()):
        self.address, self._cpus, self.imports = check_address(address), cpus, tuple(imports)
        self.ray = _import_ray()
        self._is_own_connection = False

    def __enter__(self) -> Self:
        if not self.ray.is_initialized():
            self._connect()
            self._is_own_connection = True
        try:
            self._check_versions()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection if it was opened here, and stops a cluster that was started here."""
        if self._is_own_connection:
            self._is_own_connection = False
            self.ray.shutdown()

    def _connect(self) -> None:
        address = os.environ.get("RAY_ADDRESS", "auto") if self.address == RAY else self.address
        if address not in ("auto", "local"):
            _check_listens(check_address(address))
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        before = signal.getsignal(signal.SIGTERM)
        try:
            if address == "auto":
                with contextlib.suppress(ConnectionError):  # no cluster runs on this machine
                    self.ray.init(address, **options)
                    return
                address = "local"
            if address == "local":
                options |= {"include_dashboard": False, "num_cpus": self._cpus}
            self._init(address, options)
        except (OSError, RuntimeError, ValueError) as error:
            self.ray.shutdown()  # a failed client would stay one
            raise ClusterError(f"cannot connect to Ray at {address}: {_in_short(error)}") from None
        finally:
            # Ray's handler would end the program without its result so far.
            if callable(before) and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, before)

    def _init(self, address: str, options: dict[str, Any]) -> None:
        for left in reversed(range(_CLIENT_ATTEMPTS if address.startswith(_CLIENT) else 1)):
            try:
                self.ray.init(address, **options)
                return
            except ConnectionAbortedError:
                if not left:
                    raise
                self.ray.shutdown()

    @contextlib.contextmanager
    def worker_errors(self) -> Iterator[None]:
        """Turns Ray's errors in a ``with`` block into `ClusterError`."""
        try:
            yield
        except (self.ray.exceptions.RayError, ConnectionError) as error:
            raise ClusterError(f"the cluster, or one of its workers, failed: {_in_short(error)}") from None

    def nodes(self) -> list[dict[str, Any]]:
        """Returns Ray's descriptions of the living nodes that have CPUs; raises ClusterError if there is none."""
        found = [node for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        if not found:
            raise ClusterError("the cluster has no CPUs: start a node with `ray start --num-cpus=N`.")
        return found

    def on_every_node(self, advice: str, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Returns a function's results on all nodes with CPUs, by name; ClusterError with the advice if it fails."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        task, waiting, found = self.ray.remote(function), {}, {}
        for node in self.nodes():
            here = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
            name = f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"
            waiting[name] = task.options(num_cpus=0, scheduling_strategy=here).remote(*arguments)
        for name, reference in waiting.items():
            try:
                found[name] = self.ray.get(reference)
            except self.ray.exceptions.RayError as error:
                raise ClusterError(f"node {name} of the cluster failed: {_in_short(error)} {advice}") from None
        return found

    def _check_versions(self) -> None:
        here = versions()
        advice = f"Install mccfr_plus {here['mccfr_plus']} there."
        for node, there in self.on_every_node(advice, versions).items():
            for name, version in here.items():
                if there[name] != version:
                    raise ClusterError(
                        f"node {node} has {name} {there[name]}, but this program has {version}: results might differ. "
                        "Install the same version on every machine."
                    )

    def check_game(self, game: str) -> None:
        """Raises ClusterError if a node cannot load a game."""
        advice = "Name a module that registers the game with imports=('MODULE',) or --import=MODULE."
        self.on_every_node(advice, _load, game, self.imports)


def _load(game: str, imports: tuple[str, ...]) -> None:
    for name in imports:
        import_user_module(name)
    load_game(game)


def _import_ray() -> Any:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ConfigError(
            f"running on a cluster needs Ray, which cannot be imported ({error}): pip install 'mccfr_plus[ray]'"
        ) from None


def check_address(address: Any) -> str:
    """Returns the address of a cluster; raises ConfigError if it is malformed."""
    if address == RAY:
        return RAY
    match = re.fullmatch(r"(?:ray://)?[^/\s]+:(\d{1,5})", address) if isinstance(address, str) else None
    if match is None or not 0 < int(match[1]) < 2**16:
        raise ConfigError(f"cluster={address!r}: give 'ray', 'ray://HOST:PORT' or 'HOST:PORT'.")
    return address


def _check_listens(address: str) -> None:
    """Raises ClusterError if nothing listens at an address: Ray would try for minutes."""
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterError(
            f"there is no cluster at {address}: {error.strerror or error}. Check the host and the port, "
            "and make sure that `ray start --head` was run there."
        ) from None


def versions() -> dict[str, str]:
    """Returns the versions of packages that results depend on; two working copies of this one may share a version."""
    own = f"{package_version()} (sources {package_digest()[:12]})"
    return {"mccfr_plus": own} | {name: package_version(name) for name in _PACKAGES}


def _in_short(error: Exception) -> str:
    """Returns the text of an error in one line, without the traceback of another process that Ray adds."""
    text = str(getattr(error, "cause", None) or error).strip()
    if "Traceback" in text:
        text = text.splitlines()[-1]
    return " ".join(text.split())[:400] or type(error).__name__
