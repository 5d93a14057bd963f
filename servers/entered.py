"""A server for the length of a block: started as it begins, ended with it, and with a start that fails."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Entered(ABC):
    """Something that runs during a `with` block."""

    @abstractmethod
    def start(self) -> None:
        """Run, and return once it answers."""

    @abstractmethod
    def close(self) -> None:
        """End it and delete its data; also after a start that failed."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
