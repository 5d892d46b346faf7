"""A connection to a Ray cluster, which is found or started, and checked before work begins.

Ray schedules, sends data and retries. This module adds what Ray does not do: it says within seconds why a cluster
cannot do the work.
"""

import abc
import contextlib
import functools
import hashlib
import logging
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from mccfr_plus.cluster.connection import (
    CLIENT,
    is_on_localhost_only,
    messages_to_stderr,
    on_localhost,
    own_sigterm,
    probe,
    ray_module,
)
from mccfr_plus.errors import ClusterError, ConfigError
from mccfr_plus.solver.saved_state import package_version

logger = logging.getLogger("mccfr_plus")

RAY = "ray"
LOCAL = "local"  # no cluster: this process does the work
_ATTEMPTS = 5  # to connect through a client server
_NO_SERVER = ("Starting Ray client server failed", "ZombieProcess", "NoSuchProcess")  # in its errors
_ANSWER_SECONDS = 60.0  # for a node to start a process and import this package
WORK_SECONDS = 3600.0  # for a task of a worker; a lost one is repeated within this time
_ROOM = 0.9  # of an object store that may be taken
_PACKAGES = ("open_spiel", "numpy", "numba")  # results depend on their versions; Ray checks Python's and its own


class Closing(contextlib.AbstractContextManager):
    """Base class of objects with a `close`, which a ``with`` block calls."""

    @abc.abstractmethod
    def close(self) -> None:
        """Frees the resources."""

    def __exit__(self, *error: object) -> None:
        self.close()


class Cluster(Closing):
    """A connection to Ray, for the length of a ``with`` block.

    Args:
        address: ``"ray"``: what this program is connected to already; else the cluster that the environment variable
            RAY_ADDRESS names, or that ``ray start`` has begun on this machine; else a cluster of this machine alone is
            started, for the length of the block, listening on localhost only. ``"HOST:PORT"``: a cluster that this
            machine is a node of. ``"ray://HOST:PORT"``: any, through Ray's client server.
        cpus: How many CPUs a cluster that is started here offers; None: as many as the machine has.
        imports: Modules that workers import before they load a game, such as one that registers it.
        object_store: Bytes of shared memory of a cluster that is started here; None: what Ray finds right.

    Raises:
        ConfigError: If Ray is not installed, or the address is none.
        ClusterError: If there is no cluster at the address, or its nodes have other versions of this package or of
            what its results depend on.
    """

    def __init__(
        self,
        address: str = RAY,
        *,
        cpus: int | None = None,
        imports: Sequence[str] = (),
        object_store: int | None = None,
    ):
        self.address = check_address(address)
        self.imports = tuple(imports)
        self._cpus, self._object_store = cpus, object_store
        self._is_own_connection = False
        self.ray: Any = ray_module()

    def __enter__(self) -> Self:
        if not self.ray.is_initialized():
            with own_sigterm():
                self._connect()
            messages_to_stderr()
            self._is_own_connection = True
        try:
            self._check_versions()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Ends the connection if it was made here, and with it a cluster that was started here."""
        if self._is_own_connection:
            self._is_own_connection = False
            self.ray.shutdown()

    # --- connecting ---

    def _connect(self) -> None:
        address: str | None = self.address
        if address == RAY:
            address = self._find()
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            if address is None:
                with on_localhost():
                    self.ray.init(
                        "local",
                        num_cpus=self._cpus,
                        object_store_memory=self._object_store,
                        include_dashboard=False,
                        **quiet,
                    )
                return
            probe(address)
            with on_localhost() if is_on_localhost_only(address) else contextlib.nullcontext():
                self._init(address, quiet)
        except ClusterError:
            raise
        except Exception as error:  # Ray raises all sorts, RuntimeError if versions differ
            with contextlib.suppress(Exception):
                self.ray.shutdown()  # else it takes itself for a client from now on
            where = "on this machine" if address is None else f"at {address}"
            raise ClusterError(f"cannot connect to Ray {where}: {_in_short(error)}") from None

    def _init(self, address: str, options: dict[str, Any]) -> None:
        """Connects, and tries again if Ray's client server fails to start its process for this client.

        It forks that process from one with many threads, which sometimes hangs or crashes.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self.ray.init(address, **options)
                return
            except ConnectionError as error:
                if attempt == _ATTEMPTS or not any(words in str(error) for words in _NO_SERVER):
                    raise
                logger.warning("Ray's client server at %s has failed to begin; trying again.", address)
                self.ray.shutdown()

    def _find(self) -> str | None:
        """Returns the address of a running cluster, or None."""
        named = os.environ.get("RAY_ADDRESS")
        if named and named != "local":
            return named if named.startswith(CLIENT) else check_address(named)
        services = sys.modules.get("ray._private.services")
        try:
            found = None if services is None else services.canonicalize_bootstrap_address(None)
        except (AttributeError, ConnectionError, ValueError):
            return None
        if found is not None:
            try:
                probe(found)
            except ClusterError:
                logger.warning("a Ray cluster has run at %s and does not answer any more: one is started here.", found)
                return None
        return found

    # --- looking at it ---

    @contextlib.contextmanager
    def worker_errors(self, what: str) -> Iterator[None]:
        """Turns Ray's errors in a ``with`` block into `ClusterError`; `what` names what is waited for."""
        try:
            yield
        except self.ray.exceptions.GetTimeoutError:
            raise ClusterError(
                f"{what} has not ended within {WORK_SECONDS / 60:.0f} minutes: look at `ray status` whether nodes are "
                "busy or were lost, or make the work of a task smaller."
            ) from None
        except self.ray.exceptions.RayError as error:
            raise ClusterError(f"a worker of the cluster has failed: {error}") from None

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """What Ray tells of every node that is alive."""
        return [node for node in self.ray.nodes() if node["Alive"]]

    @property
    def cpus(self) -> int:
        """How many CPUs all nodes offer together."""
        return int(self.ray.cluster_resources().get("CPU", 0))

    def on_every_node(self, what: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Returns what a function returns on every node, by the node's name.

        Args:
            what: A function defined within another one, so that nodes need not be able to import it. What it raises is
                returned, as a text.
            *arguments: Its arguments.

        Raises:
            ClusterError: If a node does not answer.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        task = self.ray.remote(_caught(what))
        tasks = {}
        for node in self.nodes:
            name = f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"
            where = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
            tasks[name] = task.options(num_cpus=0, max_retries=-1, scheduling_strategy=where).remote(*arguments)
        answers = {}
        for name, reference in tasks.items():
            try:
                answers[name] = self.ray.get(reference, timeout=_ANSWER_SECONDS)
            except Exception as error:
                raise ClusterError(f"node {name} of the cluster does not answer: {_in_short(error)}") from None
        return answers

    def _check_versions(self) -> None:
        def answer() -> dict[str, str]:
            from mccfr_plus.cluster.cluster import versions

            return versions()

        here = versions()
        for node, found in self.on_every_node(answer).items():
            if isinstance(found, str):
                raise ClusterError(
                    f"node {node} cannot import this package: {found}. Install the same version there: "
                    f"mccfr_plus {here['mccfr_plus']}."
                )
            for name, version in here.items():
                if found[name] != version:
                    raise ClusterError(
                        f"node {node} has {name} {found[name]}, and this program {version}: results would not be the "
                        "same. Install the same version on every machine."
                    )

    def check_game(self, game: str) -> None:
        """Makes sure that every node can load a game.

        Raises:
            ClusterError: If one cannot.
        """
        for node, problem in self.on_every_node(_loading(), game, self.imports).items():
            if problem is not None:
                raise ClusterError(
                    f"node {node} cannot load {game!r}, which this program can: {problem} If a module of yours "
                    "registers the game, workers must import it, too: name it with imports=('MODULE',), or on the "
                    "command line with --import=MODULE; each node must find it, by PYTHONPATH for example."
                )

    def check_room(self, size: int, what: str) -> None:
        """Makes sure that the shared memory of every node that has CPUs can hold something.

        Raises:
            ClusterError: If one cannot.
        """
        for node in self.nodes:
            room = node["Resources"].get("object_store_memory", 0.0)
            if node["Resources"].get("CPU", 0) and size > _ROOM * room:
                raise ClusterError(
                    f"{what} takes {size / 2**20:,.0f} MiB, and the object store of node "
                    f"{node['NodeManagerHostname']} ({node['NodeID'][:8]}) has {room / 2**20:,.0f} MiB: start Ray "
                    "there with a larger --object-store-memory, which is a number of bytes."
                )

    def check_workers(self, workers: int) -> None:
        """Warns if there are fewer CPUs than workers."""
        if workers > self.cpus:
            logger.warning("%s workers share the %s CPUs that the cluster has.", workers, self.cpus)


def check_address(address: Any) -> str:
    """Returns the address of a cluster, if it has the form of one.

    Raises:
        ConfigError: If it does not.
    """
    if address == RAY:
        return RAY
    match = re.fullmatch(r"(?:ray://)?([^/\s]+):(\d{1,5})", address) if isinstance(address, str) else None
    if match is None or not 0 < int(match[2]) < 2**16:
        raise ConfigError(f"cluster={address!r}: give 'ray', 'ray://HOST:PORT', or 'HOST:PORT'.")
    return address


@functools.cache
def versions() -> dict[str, str]:
    """Returns the versions of this package and of those that its results depend on, by name."""
    found = {"mccfr_plus": f"{package_version()} (sources {_digest_of_sources()})"}
    found["python"] = ".".join(platform.python_version_tuple()[:2])
    return found | {name: package_version(name) for name in _PACKAGES}


def _digest_of_sources() -> str:
    """Returns a digest of this package's files: two working copies may have one version and two contents."""
    root, digest = Path(__file__).parent.parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _caught(what: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        try:
            return what(*arguments)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    return run


def _loading() -> Callable[..., str | None]:
    def load(game: str, imports: tuple[str, ...]) -> str | None:
        from mccfr_plus.errors import MccfrPlusError
        from mccfr_plus.trees.game import load_game
        from mccfr_plus.user_modules import import_user_module

        try:
            for name in imports:
                import_user_module(name)
            load_game(game)
        except MccfrPlusError as error:
            return str(error)
        return None

    return load


def _in_short(error: Exception) -> str:
    """Returns what an error says, without the traceback of another process that Ray may put into it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    traceback = [number for number, line in enumerate(lines) if "Traceback (most recent" in line]
    lines = [*lines[: traceback[0]], lines[-1]] if traceback else lines[:3]
    return " ".join(lines)[:400] or type(error).__name__
