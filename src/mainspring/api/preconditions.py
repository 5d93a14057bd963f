"""ETag, If-Match and If-None-Match: nobody overwrites what somebody else has changed meanwhile.

A tag is the job's version and a check of all that is shown: `"3.9d5ed678"`. A change of the job makes a new version; a
tick or the end of a run changes only the rest. If-Match compares the version alone (and takes a bare `"3"` too), since
nobody's edit is lost to a tick; If-None-Match compares the whole.
"""

import re
from collections.abc import Callable
from zlib import crc32

from mainspring.domain.job import Job
from mainspring.errors import Conflict

_TAG = re.compile(r'(?:W/)?"([^"]*)"')

Check = Callable[[Job], None]
"""Raises unless the job may be touched; asked each time that the job is read."""

HandlerCheck = Callable[[str], None]
"""Raises unless a job for this handler may be made; see `Caller.check_handler`."""


class PreconditionFailed(Conflict):
    """The job isn't at the version that If-Match names."""


def tag(version: int, shown: bytes) -> str:
    """The ETag of a job that is shown like this."""
    return f'"{version}.{crc32(shown):08x}"'


def unchanged(if_none_match: str | None, current: str) -> bool:
    """Whether the client has what is shown already."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or current.strip('"') in _TAG.findall(if_none_match)


def if_match(header: str | None) -> Check:
    """A check that the job is at a version that the header names."""
    versions = None if header is None or header.strip() == "*" else _versions(header)

    def check(job: Job) -> None:
        if versions is not None and str(job.version) not in versions:
            raise PreconditionFailed(
                f"the job is at version {job.version}, and If-Match says {header}: read it again and decide anew"
            )

    return check


def _versions(header: str) -> frozenset[str]:
    return frozenset(each.partition(".")[0] for each in _TAG.findall(header))
