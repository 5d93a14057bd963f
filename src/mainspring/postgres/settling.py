"""A handler's success in its own transaction: the effect and the outcome commit together."""

import hashlib
import json
from typing import Any

from mainspring.adapters.postgres.address import DEFAULT_SCHEMA
from mainspring.errors import WrongState
from mainspring.postgres.drivers import Marker, Rows, ask
from mainspring.postgres.names import qualified
from mainspring.worker.context import Context

MAX_INLINE = 4096
"""Longer results lie in a blob."""


def settle(connection: Any, context: Context, result: Any = None, *, schema: str = DEFAULT_SCHEMA) -> Any:
    """Record that the run of *context* succeeded, in the transaction of *connection*; awaitable if the driver is.

    Raises WrongState if somebody else has taken the run since: then the transaction must be rolled back, as it will be
    if the error leaves its block. Whatever the handler returns or raises afterwards changes nothing any more.
    """
    answer = None if result is None else json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
    blob = hashlib.sha256(answer).hexdigest() if answer is not None and len(answer) > MAX_INLINE else None

    def statement(marker: Marker) -> str:
        function = qualified(schema, "succeed")
        types = ("uuid", "integer", "bytea", "text")
        return f"SELECT {function}({', '.join(f'CAST({marker(n)} AS {t})' for n, t in enumerate(types, 1))})"

    def read(rows: Rows) -> None:
        if not rows[0][0]:
            raise WrongState(f"run {context.run_id} was taken from this attempt: roll back what it has done")

    return ask(connection, statement, [context.run_id, context.fence, answer, blob], read)
