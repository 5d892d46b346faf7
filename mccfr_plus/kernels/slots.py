"""Slots: places in a kernel that a component fills, and `bind`, which fills them.

A slot is declared once, with its contract as the docstring, and kernels call it like any other kernel::

    @required_slot
    def ESTIMATE(parameters, sampling_weights, tree, strategy, scratch, player):
        \"\"\"Adds one sampled gradient; see `Estimator`.\"\"\"

    ALTERNATING = Constant("ALTERNATING", True, "Whether players are updated one after the other.")

`bind` returns a copy of a kernel in which slots are replaced by identity, at any depth: one source, one compiled kernel
per combination. Passing functions as arguments would do the same, but Numba does not keep such kernels on disk.
"""

import dataclasses
import dis
import functools
import hashlib
from collections.abc import Mapping
from types import CellType, FunctionType
from typing import Any

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import digest_of, inline_kernel, is_kernel, recompiled, source_of, values_of
from mccfr_plus.kernels.pipeline import Constant

Bindings = Mapping[Any, Any]  # slot -> kernel, or constant -> value


def required_slot(function: Any) -> Any:
    """Returns a slot without a default: a kernel that calls it cannot be compiled before `bind` has filled it."""
    slot = optional_slot(function)
    slot.slot_has_default = False
    return slot


def optional_slot(function: Any) -> Any:
    """Returns a slot that is filled with this function, or a copy of this kernel, unless `bind` replaces it."""
    slot = recompiled(function, source_of(function)) if is_kernel(function) else inline_kernel(function)
    slot.slot_has_default = True
    return slot


def bind(kernel: Any, bindings: Bindings, *, partial: bool = False) -> Any:
    """Returns a kernel whose slots are filled, in it, in all that it calls, and in what fills them.

    The same bindings of the same kernel give the same kernel. `partial`: slots may be used nowhere, or stay open.
    ConfigError: if they do otherwise, or if what fills a slot has other parameters; if a kernel calls itself; if a slot
    is reached as an attribute of a module.
    """
    numbers = (
        (id(place), type(new), new if isinstance(place, Constant) else id(new)) for place, new in bindings.items()
    )
    key = id(kernel), partial, *numbers
    if key in _bound:
        return _bound[key][0]
    binder = _Binder(bindings)
    bound = binder.bound(kernel, ())
    if not partial:
        unused = [_name(key) for key in bindings if id(key) not in binder.used]
        if unused:
            raise ConfigError(f"{_name(kernel)} does not use the slots {', '.join(sorted(unused))}.")
        if binder.open:
            raise ConfigError(f"{_name(kernel)}: nothing fills the slots {', '.join(sorted(binder.open))}.")
    _bound[key] = bound, (kernel, dict(bindings))
    return bound


_bound: dict[tuple, tuple[Any, Any]] = {}  # with what keys hold the ids of, which is kept alive


class _Binder:
    """Copies kernels with their slots filled; `used` and `open` list the slots that it has met."""

    def __init__(self, bindings: Bindings):
        self._bindings = {id(key): value for key, value in bindings.items()}
        self._done: dict[int, Any] = {}
        self.used: set[int] = set()
        self.open: set[str] = set()

    def bound(self, kernel: Any, callers: tuple[Any, ...]) -> Any:
        """Returns a kernel with its slots filled: the kernel itself where nothing changes."""
        if any(kernel is caller for caller in callers):
            why = "such kernels crash when they are loaded from the disk. Write a loop, with a stack if need be."
            raise ConfigError(f"the kernel {_name(kernel)} calls itself: {why}")
        if id(kernel) not in self._done:
            self._done[id(kernel)] = self._copied(kernel, (*callers, kernel)), kernel
        return self._done[id(kernel)][0]

    def _copied(self, kernel: Any, callers: tuple[Any, ...]) -> Any:
        source = source_of(kernel)
        changes = {}
        for name, value in values_of(source).items():
            if any(value is caller for caller in callers):
                loads = (each for each in dis.get_instructions(source) if each.argval == name)
                if not any("GLOBAL" in each.opname for each in loads):
                    continue  # an attribute has the kernel's name, as in ``np.clip``
            new = self._filled(value, callers)
            if new is value:
                continue
            changes[name] = new
            module, _, attribute = name.rpartition(".")
            if module:
                advice = f"import {attribute} by its name, so that it can be replaced."
                raise ConfigError(f"the kernel {source.__name__} reaches a slot through {name}: {advice}")
        if not changes:
            return kernel
        key = (source, tuple((name, id(new)) for name, new in changes.items()))
        if key not in _bound:
            _bound[key] = recompiled(kernel, _copy(source, changes)), changes
        return _bound[key][0]

    def _filled(self, value: Any, callers: tuple[Any, ...]) -> Any:
        """Returns what takes the place of a value that a kernel uses."""
        is_constant = isinstance(value, Constant)
        if id(value) in self._bindings and (is_constant or hasattr(value, "slot_has_default")):
            self.used.add(id(value))
            new = self._bindings[id(value)]
            if is_constant:
                return _with_value(value, new)
            _require_same_parameters(value, new)
            return self.bound(new, callers)
        if not getattr(value, "slot_has_default", True):
            self.open.add(_name(value))
        return self.bound(value, callers) if is_kernel(value) else value


@functools.lru_cache(None, typed=True)
def _with_value(constant: Constant, value: bool | int | float) -> Constant:
    """Returns the constant with a value, perhaps another; the same object for the same value of the same type."""
    is_same = type(value) is type(constant.value) and value == constant.value
    return constant if is_same else dataclasses.replace(constant, value=value)


def _copy(source: FunctionType, changes: dict[str, Any]) -> FunctionType:
    """Returns a copy of a function in which some names of globals and closures mean something else."""
    cells = tuple(
        CellType(changes[name]) if name in changes else cell
        for name, cell in zip(source.__code__.co_freevars, source.__closure__ or (), strict=True)
    )
    names = {**source.__globals__, **changes}
    copy = FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells or None)
    copy.__kwdefaults__ = source.__kwdefaults__
    # Numba names symbols after this: different kernels of one source must not share a symbol, also when some of them
    # are loaded from the disk. The name of the source tells what it was bound to before.
    label = ";".join([source.__qualname__, *(f"{name}={_label(value)}" for name, value in changes.items())])
    copy.__qualname__ = f"{source.__name__}_{hashlib.sha256(label.encode()).hexdigest()[:16]}"
    return copy


def _label(value: Any) -> str:
    if isinstance(value, Constant):
        return repr(value.value)
    source = source_of(value)
    return f"{source.__module__}.{source.__qualname__}.{digest_of(value)}"


def _require_same_parameters(place: Any, new: Any) -> None:
    expected = source_of(place).__code__
    if not is_kernel(new) or source_of(new).__code__.co_argcount != expected.co_argcount:
        parameters = ", ".join(expected.co_varnames[: expected.co_argcount])
        advice = "compile it with Numba and give it these parameters."
        raise ConfigError(f"{new!r} cannot fill {_name(place)}, a kernel of ({parameters}): {advice}")


def _name(value: Any) -> str:
    return value.name if isinstance(value, Constant) else source_of(value).__name__
