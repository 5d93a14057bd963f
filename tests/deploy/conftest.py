from pathlib import Path

import pytest

from servers.prometheus import installed_program
from tests.missing import needing_a_program


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Skipped where Prometheus isn't installed, but not on a build machine."""
    with needing_a_program():
        installed_program("prometheus")
        return installed_program("promtool")
