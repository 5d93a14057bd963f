"""What a `redis://` URL says."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from mainspring.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the server is: the driver's own URL, and the number of the database."""

    url: str
    database: int = 0

    @property
    def shown(self) -> str:
        """The address without its password, for messages."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def address(url: str) -> Address:
    """Read a URL such as `redis://:password@host:6379/0`; ConfigurationError if it can't be one."""
    parts = urlsplit(url)
    database = parts.path.strip("/") or "0"
    if not parts.hostname or not database.isascii() or not database.isdigit():
        raise ConfigurationError(
            f"{Address(url=url).shown} names no database: write redis://host:6379/0, or rediss:// for TLS"
        )
    return Address(url=url, database=int(database))
