"""What ends at the end of a ``with`` block."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import Self


class Closing(abc.ABC):
    """Something with a `close`, which a ``with`` block calls."""

    @abc.abstractmethod
    def close(self) -> None:
        """Gives back what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
