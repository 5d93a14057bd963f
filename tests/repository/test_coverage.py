import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OF_THIS_RUN = ("COV_", "COVERAGE_", "PYTEST_")


@pytest.mark.slow
def test_domain_and_services_have_no_branch_that_their_own_tests_do_not_take(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(OF_THIS_RUN)}
    measured = ("--cov", "--cov-report=term", "tests/unit/domain", "tests/unit/services")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--quiet", "-n", "0", "-p", "no:cacheprovider", *measured],
        cwd=ROOT,
        env={**variables, "COVERAGE_FILE": str(tmp_path / "coverage")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
