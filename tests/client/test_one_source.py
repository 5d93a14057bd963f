import inspect

from mainspring import Client, sync
from scripts.write_blocking import TARGET, blocking, modules


def test_the_blocking_client_is_up_to_date() -> None:
    """If this fails: python -m scripts.write_blocking."""
    written = {path: path.read_text(encoding="utf-8") for path in TARGET.glob("*.py")}
    assert written == modules()


def test_both_clients_have_the_same_calls() -> None:
    def calls(client: type) -> dict[str, list[str]]:
        public = inspect.getmembers(client, inspect.isfunction)
        return {name: list(inspect.signature(call).parameters) for name, call in public if not name.startswith("_")}

    assert calls(Client) == calls(sync.Client)
    assert not any(inspect.iscoroutinefunction(call) for _, call in inspect.getmembers(sync.Client))


def test_words_inside_names_and_texts_are_left_alone() -> None:
    source = (
        'async def awaiting(a):\n    async with a as b:  # async\n        return await b("async with await", asyncs)\n'
    )
    expected = 'def awaiting(a):\n    with a as b:  # async\n        return b("with await", asyncs)\n'
    assert blocking(source) == expected
