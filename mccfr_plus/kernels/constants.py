"""Constants that kernels call, so that `mccfr_plus.kernels.slots.bind` can replace them before compilation."""

from typing import Any


class Constant:
    """A number or truth value that the compiler sees as a literal; a kernel reads it by a call, ``ALTERNATING()``.

    A plain `True` has no identity, so that a kernel could not say which constant it means. `bind` may give the constant
    another value.
    """

    def __init__(self, name: str, value: bool | int | float, description: str = ""):
        self.name, self.value, self.__doc__ = name, value, description
        self._others: dict[tuple[type, Any], Constant] = {}

    def __call__(self) -> Any:
        return self.value

    def with_value(self, value: bool | int | float) -> "Constant":
        """Returns the constant with another value; the same object for the same value."""
        key = type(value), value
        if key not in self._others:
            self._others[key] = Constant(self.name, value, self.__doc__ or "")
        return self._others[key]

    def __repr__(self) -> str:
        return f"Constant({self.name!r}, {self.value!r})"
