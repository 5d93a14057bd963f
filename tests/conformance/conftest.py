import pytest

pytest.register_assert_rewrite("mainspring.testing.contracts")
