from examples.orders.settings import Settings


def test_without_variables_it_is_the_database_of_the_document() -> None:
    """S0-69 to 74."""
    settings = Settings.read({})
    assert settings.postgres_url == "postgresql://app:app@localhost:5432/orders"
    assert (settings.http_host, settings.http_port) == ("127.0.0.1", 8081)


def test_every_variable_is_honoured() -> None:
    """S0-69 to 74."""
    given = {"PG_HOST": "db", "PG_PORT": "15432", "PG_DB": "shop", "PG_USER": "me", "PG_PASSWORD": "a/b@c"}
    settings = Settings.read({**given, "ORDERS_HTTP_PORT": "80"})
    assert settings.postgres_url == "postgresql://me:a%2Fb%40c@db:15432/shop"
    assert settings.http_port == 80
