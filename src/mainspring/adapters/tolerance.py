"""Which older programs a step of the schema leaves able to work: those from the one that its first line names.

A step that only adds what older programs don't mention can name an older one, and then both versions run side by side.
One that says nothing needs a program that knows it.
"""

import re

_TOLERATES = re.compile(r"\A-- Programs of schema (\d+) work on this\.\n")


def oldest_program(number: int, script: str) -> int:
    """The oldest schema whose programs work once step *number* was made."""
    named = _TOLERATES.match(script)
    return number if named is None else int(named[1])
