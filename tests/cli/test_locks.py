import json

from tests.cli.commands import Command


def test_a_lock_is_taken_renewed_shown_and_released(on_store: Command) -> None:
    held = on_store("lock", "acquire", "a/b c", "--ttl", "10m", "--json").json()
    assert on_store("lock", "show", "a/b c", "--json").json()["holder"] == held["holder"]
    token = str(held["token"])
    longer = on_store("lock", "renew", "a/b c", "--token", token, "--ttl", "20m", "--json").json()
    assert longer["expires_at"] > held["expires_at"]
    on_store("lock", "release", "a/b c", "--token", token)
    on_store("lock", "show", "a/b c", code=3)


def test_two_commands_of_one_person_exclude_each_other(on_store: Command) -> None:
    token = on_store("lock", "acquire", "nightly", "--ttl", "10m", "--quiet").out.strip()
    assert "holds the lock" in on_store("lock", "acquire", "nightly", code=4).err
    on_store("lock", "release", "nightly", "--token", token)
    assert int(on_store("lock", "acquire", "nightly", "--quiet").out) > int(token)


def test_a_lock_that_is_free_can_be_waited_for(on_store: Command) -> None:
    on_store("lock", "acquire", "soon", "--ttl", "1s")
    assert int(on_store("lock", "acquire", "soon", "--wait", "1m", "--quiet").out) == 2


def test_a_late_holder_is_refused(on_store: Command) -> None:
    on_store("lock", "acquire", "x", "--holder", "me", "--ttl", "10m")
    on_store("lock", "renew", "x", "--holder", "me", "--token", "0", code=4)
    on_store("lock", "release", "x", "--token", "99", code=4)
    assert "nobody holds" in on_store("lock", "release", "y", "--token", "1", code=4).err


def test_held_locks_are_listed(on_store: Command) -> None:
    assert "no lock is held" in on_store("lock", "list").out
    late = on_store("lock", "acquire", "late", "--ttl", "20m", "--json").json()
    soon = on_store("lock", "acquire", "a/b c", "--ttl", "10m", "--json").json()
    listed = on_store("lock", "list").out
    assert listed.index("a/b c") < listed.index("late")
    assert [json.loads(line) for line in on_store("lock", "list", "--json").out.splitlines()] == [soon, late]
    one = on_store("lock", "list", "--limit", "1")
    assert "late" not in one.out
    assert "--all" in one.err
    assert "late" in on_store("lock", "list", "--limit", "1", "--all").out
