from base64 import b64encode
from datetime import UTC, datetime

import pytest

from mainspring.errors import ConfigurationError
from mainspring.worker.handlers.signature import signed_headers, signing_key

# The example that the Standard Webhooks specification prints.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - published
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
AT = datetime.fromtimestamp(1614265330, tz=UTC)
BODY = b'{"test": 2432232314}'


def test_the_signature_is_the_one_that_the_specification_prints() -> None:
    assert signed_headers(signing_key(SECRET), MESSAGE, AT, BODY) == {
        "webhook-id": MESSAGE,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_without_a_key_a_message_is_identified_but_not_signed() -> None:
    assert set(signed_headers(None, MESSAGE, AT, BODY)) == {"webhook-id", "webhook-timestamp"}


def encoded(length: int) -> str:
    return b64encode(bytes(length)).decode()


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", encoded(32), "whsec_" + encoded(23), "whsec_" + encoded(65), "whsec_no base64!", "whsec_ä"],
)
def test_a_secret_of_another_form_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(ConfigurationError, match="the webhook secret must be whsec_") as refused:
        signing_key(secret)
    assert not secret.removeprefix("whsec_") or secret not in str(refused.value)


@pytest.mark.parametrize("length", [24, 64])
def test_keys_of_every_allowed_length_are_taken(length: int) -> None:
    assert signing_key("whsec_" + encoded(length)) == bytes(length)
