"""Check, offline, that the lock files hold what pyproject.toml asks for, by version and hash and nothing else."""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock import LOCKS, ROOT, TOOL_GROUP

PIN = re.compile(r"==[^,*]+")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One line of a lock file: a requirement and what follows it."""

    requirement: Requirement
    options: Sequence[str]

    @property
    def name(self) -> str:
        """The name as indexes compare it."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """The one version that the line allows, if it is a pin at all."""
        return str(self.requirement.specifier).removeprefix("==")


def parse_lock(text: str) -> list[Pin]:
    """Read a lock file; a line that isn't a requirement raises InvalidRequirement."""
    pins = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            requirement, *options = re.split(r"\s+(?=--)", line.strip())
            pins.append(Pin(requirement=Requirement(requirement), options=options))
    return pins


def complaints(wanted: Iterable[Requirement], pins: Sequence[Pin]) -> Iterator[str]:
    """Say what keeps *pins* from being an exact, hashed answer to *wanted*."""
    for pin in pins:
        if pin.requirement.url or not PIN.fullmatch(str(pin.requirement.specifier)):
            yield f"{pin.requirement} is not pinned to one version"
        if not pin.options or not all(HASH.fullmatch(option) for option in pin.options):
            yield f"{pin.requirement} needs sha256 hashes and nothing else"
    for requirement in wanted:
        found = [pin for pin in pins if pin.name == canonicalize_name(requirement.name)]
        if not found:
            yield f"{requirement} is missing"
        for pin in found:
            if not requirement.specifier.contains(pin.version, prereleases=True):
                yield f"{requirement} is locked to {pin.version}"


def disagreements(smaller: Sequence[Pin], larger: Sequence[Pin]) -> Iterator[str]:
    """Say which pins of *smaller* the file that should contain it lacks or changes."""
    known = {(pin.name, pin.version) for pin in larger}
    for pin in smaller:
        if (pin.name, pin.version) not in known:
            yield f"{pin.requirement} is not there in the same version"


def main() -> int:
    """Print each complaint and return how the process should exit."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = project["dependency-groups"]
    wanted = {
        name: [*project["project"]["dependencies"], *(line for group in chosen for line in groups[group])]
        for name, chosen in LOCKS.items()
    }
    wanted[TOOL_GROUP] = groups[TOOL_GROUP]
    pins = {name: parse_lock(lock_file(name).read_text(encoding="utf-8")) for name in wanted}

    found = [
        f"{lock_file(name).relative_to(ROOT)}: {complaint}"
        for name, requirements in wanted.items()
        for complaint in complaints(map(Requirement, requirements), pins[name])
    ]
    found += [
        f"{lock_file(larger).relative_to(ROOT)}: {smaller}.txt's {complaint}"
        for smaller, larger in zip(LOCKS, list(LOCKS)[1:], strict=False)
        for complaint in disagreements(pins[smaller], pins[larger])
    ]
    for line in found:
        print(line, file=sys.stderr)
    print(f"lock files: {len(found)} complaints; `make lock` renews them" if found else "lock files: in step")
    return 1 if found else 0


def lock_file(name: str) -> Path:
    """Where the lock of that name is kept."""
    return ROOT / "requirements" / f"{name}.txt"


if __name__ == "__main__":
    sys.exit(main())
