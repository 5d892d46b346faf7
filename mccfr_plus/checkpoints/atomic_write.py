"""A file that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mccfr_plus.experiments.record import record_errors


@contextlib.contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[Path]:
    """Gives the name of a temporary file beside `path`, with its ending, that takes its place if nothing goes wrong.

    Raises:
        RecordError: If it cannot be written; what stood there stays.
    """
    path = Path(path)
    with record_errors(path):
        handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        try:
            yield Path(name)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)  # mkstemp makes private files
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
