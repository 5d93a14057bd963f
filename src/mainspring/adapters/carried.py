"""The trace that a run carries, behind the text of its retry policy: a column that no statement compares or reads.

A text without a trace is the policy's alone, and a policy's text has no space in it.
"""


def with_trace(retry: str | None, trace: str | None) -> str | None:
    """What the column keeps."""
    return retry if trace is None else f"{retry or ''} {trace}"


def without_trace(kept: str | None) -> tuple[str | None, str | None]:
    """The policy's text, None for the default, and the trace."""
    if kept is None or " " not in kept:
        return kept, None
    retry, _, trace = kept.partition(" ")
    return retry or None, trace
