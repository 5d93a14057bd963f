import secrets
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tests.orders.serving import BLUE, RED, Place, Service, served


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Service]]:
    """One service for the tests of a file, on each of its databases."""
    folder = tmp_path_factory.mktemp("orders")
    if request.param == "sqlite":
        place = Place(folder=folder)
        with served(place) as service:
            yield place, service
        return
    administration: str = request.getfixturevalue("postgres_administration")
    name = f"orders_{secrets.token_hex(8)}"
    with psycopg.connect(administration, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {} TEMPLATE template0").format(Identifier(name)))
        place = Place(folder=folder, url=urlsplit(administration)._replace(path=f"/{name}").geturl())
        with served(place) as service:
            yield place, service
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def place(shop: tuple[Place, Service]) -> Place:
    """With stock as on the first day."""
    place, service = shop
    service.url()
    for sku in (RED, BLUE):
        place.restock(sku, 100)
    return place


@pytest.fixture
def url(shop: tuple[Place, Service]) -> str:
    return shop[1].url()
