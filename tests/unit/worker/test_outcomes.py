import pytest

from mainspring.adapters.system.tasks import SystemTasks
from mainspring.worker.outcomes import described


def work() -> None:
    raise ValueError("broken")


async def test_a_failure_shows_the_handlers_own_frames_and_none_on_the_way_to_them() -> None:
    tasks = SystemTasks(1)
    with pytest.raises(ValueError, match="broken") as failed:
        await tasks.in_thread(work)
    tasks.close()
    # The first frame is this test's, which stands where the worker's would.
    assert failed.value.__traceback__ is not None
    failed.value.__traceback__ = failed.value.__traceback__.tb_next
    text = described(failed.value)
    assert text.startswith("ValueError: broken\n")
    assert "in work" in text
    assert "in_thread" not in text
    assert "concurrent" not in text
