"""What a judge says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that didn't hold, and where it was seen."""

    prop: str
    text: str
    at: float = -1.0
    """Virtual seconds; before everything for what only the end shows."""

    def __str__(self) -> str:
        return f"{self.prop}: {self.text}" + (f" (at {self.at:.4f} s)" if self.at >= 0 else "")
