"""A journal's notes as bytes: compact where there is one per run, JSON for the rest."""

import base64
import json
import struct
from datetime import timedelta
from typing import Any, assert_never
from uuid import UUID

from mainspring.domain.ids import BlobId, Fence, RunId, SessionId
from mainspring.domain.outcome import Verdict
from mainspring.domain.run import State
from mainspring.ports.journal import Began, Finished, Note, Opened

_OPENED, _BEGAN, _SUCCEEDED, _FINISHED = 1, 2, 3, 4
_OPENED_BODY = struct.Struct("<Bq")
_BEGAN_BODY = struct.Struct("<B16sq")
_SUCCEEDED_BODY = struct.Struct("<B16sqIII")
_MICROSECOND = timedelta(microseconds=1)


def encode(note: Note) -> bytes:
    """The note as bytes; the first says which kind follows."""
    if isinstance(note, Began):
        return _BEGAN_BODY.pack(_BEGAN, note.run_id.bytes, note.fence)
    if isinstance(note, Finished):
        return _encode_verdict(note.verdict)
    if isinstance(note, Opened):
        return _OPENED_BODY.pack(_OPENED, note.session)
    assert_never(note)


def decode(body: bytes) -> Note:
    """Read back what `encode` wrote."""
    match body[0]:
        case 1:
            return Opened(SessionId(_OPENED_BODY.unpack(body)[1]))
        case 2:
            _, run, fence = _BEGAN_BODY.unpack(body)
            return Began(RunId(UUID(bytes=run)), Fence(fence))
        case 3:
            _, run, fence, attempt, failures, losses = _SUCCEEDED_BODY.unpack(body)
            return Finished(
                Verdict(
                    run_id=RunId(UUID(bytes=run)),
                    fence=Fence(fence),
                    state=State.SUCCEEDED,
                    attempt=attempt,
                    failures=failures,
                    losses=losses,
                )
            )
        case _:
            return Finished(_decode_verdict(json.loads(body[1:])))


def _encode_verdict(verdict: Verdict) -> bytes:
    if verdict.state is State.SUCCEEDED and _is_plain(verdict):
        return _SUCCEEDED_BODY.pack(
            _SUCCEEDED, verdict.run_id.bytes, verdict.fence, verdict.attempt, verdict.failures, verdict.losses
        )
    fields = {
        "run": verdict.run_id.hex,
        "fence": verdict.fence,
        "session": verdict.session,
        "state": int(verdict.state),
        "delay": verdict.delay // _MICROSECOND,
        "attempt": verdict.attempt,
        "failures": verdict.failures,
        "losses": verdict.losses,
        "suspect": verdict.suspect,
        "result": None if verdict.result is None else base64.b64encode(verdict.result).decode(),
        "blob": verdict.blob,
        "error": verdict.error,
        "reason": verdict.reason,
        "log": base64.b64encode(verdict.log).decode(),
    }
    return bytes((_FINISHED,)) + json.dumps(fields, separators=(",", ":")).encode()


def _is_plain(verdict: Verdict) -> bool:
    """Whether nothing is said beyond what the compact form holds."""
    return (
        verdict.result is None
        and not verdict.log
        and verdict.blob is None
        and verdict.error is None
        and verdict.reason is None
        and verdict.session is None
        and not verdict.delay
        and not verdict.suspect
    )


def _decode_verdict(fields: dict[str, Any]) -> Verdict:
    return Verdict(
        run_id=RunId(UUID(hex=fields["run"])),
        fence=Fence(fields["fence"]),
        session=None if fields["session"] is None else SessionId(fields["session"]),
        state=State(fields["state"]),
        delay=fields["delay"] * _MICROSECOND,
        attempt=fields["attempt"],
        failures=fields["failures"],
        losses=fields["losses"],
        suspect=fields.get("suspect", False),  # a journal from before doesn't say
        result=None if fields["result"] is None else base64.b64decode(fields["result"]),
        blob=None if fields["blob"] is None else BlobId(fields["blob"]),
        error=fields["error"],
        reason=fields["reason"],
        log=base64.b64decode(fields["log"]),
    )
