"""Signatures by the Standard Webhooks scheme, version 1: receivers verify them with any of its libraries."""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime

from mainspring.errors import ConfigurationError

_PREFIX = "whsec_"
_SHORTEST, _LONGEST = 24, 64


def signing_key(secret: str) -> bytes:
    """The key inside `whsec_…`; ConfigurationError, which never repeats the secret, if it isn't one."""
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(_PREFIX) or not _SHORTEST <= len(key) <= _LONGEST:
        raise ConfigurationError("the webhook secret must be whsec_ and the base64 of 24 to 64 random bytes")
    return key


def signed_headers(key: bytes | None, message: str, at: datetime, body: bytes) -> Mapping[str, str]:
    """What identifies a message, the same on every attempt, and when it was sent; signed if there is a key."""
    timestamp = str(int(at.timestamp()))
    headers = {"webhook-id": message, "webhook-timestamp": timestamp}
    if key is not None:
        content = b".".join((message.encode(), timestamp.encode(), body))
        headers["webhook-signature"] = "v1," + b64encode(hmac.digest(key, content, "sha256")).decode()
    return headers
