import json

import pytest

from mainspring.worker.payload import parsed


@pytest.mark.parametrize(
    "text", ["1", '{"a": [1, "\u00e4"]}', '"\\ud83d"', " 1", "1 ", "\n[1]\t", "NaN", "-0.0", "null"]
)
def test_a_payload_means_what_the_standard_library_says(text: str) -> None:
    assert repr(parsed(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", " ", "{", "1 2", "nul", "[1],", "\ufeff1"])
def test_a_payload_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        parsed(text.encode())
