"""Who the store is, as its migration drew it."""

from mainspring.adapters.postgres.engine import Engine


async def identity(engine: Engine) -> str:
    """The same for as long as the schema lives, and never another schema's."""
    return str(await engine.value("SELECT id FROM identity"))
