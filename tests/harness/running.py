"""What runs for the length of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

T = TypeVar("T", bound="Running")


class Running(ABC):
    """Starts with its block and ends with it, also if the start fails half-way."""

    @abstractmethod
    def start(self) -> None:
        """Starts it."""

    @abstractmethod
    def close(self) -> None:
        """Ends what was started of it."""

    def __enter__(self: T) -> T:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
