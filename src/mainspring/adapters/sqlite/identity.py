"""Who the store is, as its migration drew it."""

import apsw

from mainspring.adapters.sqlite.connection import translated


def identity(connection: apsw.Connection, path: str) -> str:
    """The same for as long as the file lives, and never another file's."""
    with translated(path):
        return str(connection.execute("SELECT id FROM identity").get)
