"""Names in the store's schema, as statements on somebody else's connection have to write them."""

from mainspring.adapters.postgres.address import checked_schema


def qualified(schema: str, function: str) -> str:
    """A function of the schema, whatever the connection's search path."""
    return f'"{checked_schema(schema)}".{function}'
