"""Compiled kernels on disk, under a digest of all the code that they contain.

Numba's own cache checks only the file of the outermost function and lies beside it, where an installation empties it.
This one lies in the user's cache folder, or in ``NUMBA_CACHE_DIR``. Each compiled version is one file, so that
processes need no lock.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, compiler, config
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from mccfr_plus.kernels import pipeline
from mccfr_plus.kernels.digest import digest_of


def cache_folder() -> Path:
    """Returns the folder of the compiled kernels."""
    return Path(getattr(config, "CACHE_DIR", "") or AppDirs("mccfr_plus", appauthor=False).user_cache_dir) / "kernels"


class DiskCache(caching.NullCache):
    """The compiled versions of one kernel, in the place of Numba's own cache.

    The digest is computed when the kernel is first needed: what it calls may be defined later than itself. It covers
    the kernel's options: an inlined kernel and its copy for Python have the same function.
    """

    def __init__(self, kernel: Dispatcher):
        self._kernel = kernel

    @functools.cached_property
    def digest(self) -> str | None:
        """The digest of the code; None if it cannot be identified, so that nothing is kept."""
        return digest_of(self._kernel)

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        if self.digest is None:
            return None
        key = repr((sig, codegen.magic_tuple(), numba.__version__, compiler.__file__))
        version = hashlib.sha256(key.encode()).hexdigest()[:16]
        return cache_folder() / f"{self._kernel.py_func.__name__}-{self.digest}-{version}.nbc"

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Returns whether there is a compiled version for a signature."""
        path = self._path(sig, target_context.codegen())
        return path is not None and path.exists()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the compiled version for a signature, or None."""
        # Enough for compiled code: `target_context.refresh()` would import all that compiling needs, for 0.4 s.
        rtsys.initialize(target_context)
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        try:
            return self._unpacked(target_context, pickle.loads(path.read_bytes()))
        except OSError:
            return None
        except Exception:  # cut off when the machine lost its power, or damaged otherwise: compiled again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a compiled version; it is compiled again in the next process if the folder cannot be written."""
        path = self._path(sig, data.codegen)
        if path is None or data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(dumps(self._packed(data)))
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise

    def _packed(self, result: Any) -> tuple:
        return result._reduce()

    def _unpacked(self, target_context: Any, packed: tuple) -> Any:
        return compiler.CompileResult._rebuild(target_context, *packed)


class InlineCache(DiskCache):
    """The same for an inline kernel, of which there is no machine code."""

    def _packed(self, result: Any) -> tuple:
        result.fndesc.typemap = result.fndesc.calltypes = None  # large, and not needed
        name, _, bitcode = result.library.serialize_using_bitcode()
        return name, bitcode, result.fndesc, result.signature

    def _unpacked(self, target_context: Any, packed: tuple) -> Any:
        name, bitcode, descriptor, signature = packed
        library = pipeline.InlineLibrary.load(target_context.codegen(), name, bitcode)
        return compiler.compile_result(
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=object(),
            fndesc=descriptor,
            library=library,
            signature=signature,
            objectmode=False,
        )
