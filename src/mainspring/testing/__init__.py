"""For tests of programs that use Mainspring: `inline` and `virtual`. The rest of the package tests Mainspring."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mainspring.testing.inlining import inline as inline
    from mainspring.testing.virtual_time import VirtualTime as VirtualTime
    from mainspring.testing.virtual_time import virtual as virtual

_EXPORTS = {
    "VirtualTime": "mainspring.testing.virtual_time",
    "inline": "mainspring.testing.inlining",
    "virtual": "mainspring.testing.virtual_time",
}


def __getattr__(name: str) -> Any:
    # Imported when asked for: the contract suites need none of it.
    if name not in _EXPORTS:
        raise AttributeError(f"module 'mainspring.testing' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_EXPORTS[name]), name)
