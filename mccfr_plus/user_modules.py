"""Imports a user's modules, which register games and components, in this process and in its workers."""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mccfr_plus.errors import ConfigError

_imported: list[str] = []


def import_user_module(spec: str) -> None:
    """Imports a module by its name, also from the current folder, or by its file, whose folder joins `sys.path`.

    ConfigError: if there is no such module, or its import fails.
    """
    is_file = _is_file(spec)
    path = Path(spec).resolve()
    if is_file and not os.path.isfile(path):
        raise ConfigError(f"--import={spec}: there is no file {path}.")
    name, folder = (path.stem, path.parent) if is_file else (spec, Path.cwd())
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder)) if is_file else sys.path.append(str(folder))
    try:
        module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may even call sys.exit
        reason = str(error) or "no reason given"
        raise ConfigError(f"--import={spec}: cannot import it ({type(error).__name__}: {reason}).") from None
    found = getattr(module, "__file__", None)
    if is_file and (found is None or Path(found).resolve() != path):
        raise ConfigError(f"--import={spec}: Python already has a module {name!r}, {found}: rename the file.")


def import_user_modules(specs: Sequence[str]) -> None:
    """Imports modules and records their names for `imported_modules`."""
    for spec in specs:
        import_user_module(spec)
    _imported[:] = [str(Path(spec).resolve()) if _is_file(spec) else spec for spec in specs]


def imported_modules() -> tuple[str, ...]:
    """Returns the modules that the command line has imported, in order, for `import_user_module` in workers."""
    return tuple(_imported)


def _is_file(spec: str) -> bool:
    return spec.endswith(".py") or os.sep in spec
