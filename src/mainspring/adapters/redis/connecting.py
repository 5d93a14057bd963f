"""Connections to the server that fail at once instead of trying again: whoever uses one decides when to."""

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, RedisError

from mainspring.adapters.redis.address import Address
from mainspring.errors import ConfigurationError

THEIRS = (RedisError, OSError, TimeoutError)
"""All that the driver may raise."""
REFUSALS = (AuthenticationError, AuthorizationError, NoPermissionError)
"""What no waiting will change."""
ANSWER = 2.0
"""Seconds that somebody waits who only wants to know how the server is."""


def client(address: Address, name: str, answer: float) -> Redis:
    """A client that connects when it is first used; *name* is how administrators see it in CLIENT LIST."""
    try:
        created = Redis.from_url(
            address.url,
            client_name=name,
            socket_timeout=answer,
            socket_connect_timeout=answer,
            retry=Retry(NoBackoff(), 0),
            # The older protocol, which servers of every version speak: nothing here needs the newer one.
            protocol=2,
        )
        # Connects to nothing, but looks at all options.
        created.connection_pool.make_connection()  # type: ignore[no-untyped-call]  # the driver's types end here
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{address.shown} can't be used: {error}") from error
    return created


def refused(address: Address, error: BaseException) -> ConfigurationError:
    """The error of ours for one of the refusals."""
    return ConfigurationError(f"{address.shown} refuses the connection: check user and password in the URL ({error})")


def silent(address: Address, error: BaseException) -> str:
    """What to say of a server that can't be reached, or doesn't answer in time."""
    return f"{address.shown} doesn't answer ({str(error) or type(error).__name__})"
