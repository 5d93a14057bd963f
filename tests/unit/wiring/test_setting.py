import pytest

from mainspring.wiring.setting import without_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:hunter2@db/x?schema=y", "postgresql://me:***@db/x?schema=y"),
        ("postgresql://me:hunter@2@db:5432/x", "postgresql://me:***@db:5432/x"),
        ("postgresql://me:hunter/2@db/x", "postgresql://me:***@db/x"),
        ("postgresql://me@db/x?password=hunter2&schema=y", "postgresql://me@db/x?password=***&schema=y"),
        ("postgresql://me:hunter2@[not an address/x", "postgresql://me:***@[not an address/x"),
        ("postgresql://me@db:5432/x", "postgresql://me@db:5432/x"),
        ("sqlite:////data/a:b.db", "sqlite:////data/a:b.db"),
    ],
)
def test_a_password_is_masked_wherever_it_stands_in_a_url(url: str, shown: str) -> None:
    assert without_password(url) == shown
