"""Where the service finds its database and where it listens, from the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the variables say, or their defaults."""

    pg_host: str = "localhost"
    pg_port: int = 5432
    pg_db: str = "orders"
    pg_user: str = "app"
    pg_password: str = "app"  # noqa: S105 - the documented default, for a database on this machine
    http_host: str = "127.0.0.1"
    http_port: int = 8081
    data: Path = Path("data")

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Take each variable that is set; ValueError if a port isn't a number."""
        otherwise = cls()
        return cls(
            pg_host=environment.get("PG_HOST") or otherwise.pg_host,
            pg_port=int(environment.get("PG_PORT") or otherwise.pg_port),
            pg_db=environment.get("PG_DB") or otherwise.pg_db,
            pg_user=environment.get("PG_USER") or otherwise.pg_user,
            pg_password=environment.get("PG_PASSWORD") or otherwise.pg_password,
            http_host=environment.get("ORDERS_HTTP_HOST") or otherwise.http_host,
            http_port=int(environment.get("ORDERS_HTTP_PORT") or otherwise.http_port),
            data=Path(environment.get("MAINSPRING_DATA") or otherwise.data),
        )

    @property
    def postgres_url(self) -> str:
        """The database of the five tables and of the jobs."""
        user, password, name = (quote(part, safe="") for part in (self.pg_user, self.pg_password, self.pg_db))
        return f"postgresql://{user}:{password}@{self.pg_host}:{self.pg_port}/{name}"
