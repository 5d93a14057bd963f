"""What most contenders have in common, for the few answers that are the same."""

from benchmarks.contender import Place


class Peer:
    """Always there once the requirements are installed, and without a journal."""

    def unavailable(self) -> str:
        return ""

    def recorded(self, place: Place) -> frozenset[int] | None:  # noqa: ARG002 - the Protocol's signature
        return None
