"""What must be the same in all processes of a cluster, so that they compute the same."""

from __future__ import annotations

import functools
import hashlib
import platform
from importlib import metadata
from pathlib import Path

import mccfr_plus

_PACKAGES = ("open_spiel", "numpy", "numba")  # Ray looks at Python's version and its own


@functools.cache
def versions() -> dict[str, str]:
    """Returns the versions of this package and of those that its results depend on, by name."""
    found = {"mccfr_plus": f"{_version('mccfr_plus')} (sources {_digest_of_sources()})"}
    found["python"] = ".".join(platform.python_version_tuple()[:2])
    return found | {name: _version(name) for name in _PACKAGES}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _digest_of_sources() -> str:
    """Returns a digest of this package's files: two working copies may have one version and two contents."""
    root, digest = Path(mccfr_plus.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
