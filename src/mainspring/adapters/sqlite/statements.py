"""This adapter's statements."""

from mainspring.adapters import named_sql


def load(file: str) -> dict[str, str]:
    """The statements of one of its files, by name."""
    return named_sql.load(__package__, file)
