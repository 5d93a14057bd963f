import os
from pathlib import Path

import pytest

from servers.process import NotInstalled
from servers.prometheus import installed_program


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Skipped where Prometheus isn't installed, but not on a build machine."""
    try:
        installed_program("prometheus")
        return installed_program("promtool")
    except NotInstalled as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))
