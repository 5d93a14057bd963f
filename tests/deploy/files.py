"""What deploy/ holds, read as those do who use it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
STACKS = sorted(path.parent.name for path in DEPLOY.glob("*/docker-compose.yml"))
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.stem != "kustomization")

_VARIABLE = re.compile(r"\$\{(?P<name>\w+):-(?P<default>[^}]*)\}")


def documents(path: Path) -> list[Any]:
    """Everything that a YAML file says, with what it refers to put in."""
    return list(YAML(typ="safe", pure=True).load_all(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service of a stack, with the defaults of its variables."""

    name: str
    definition: Mapping[str, Any]

    @property
    def is_mainspring(self) -> bool:
        image = str(self.definition.get("image", ""))
        return image.startswith("mainspring:") and "entrypoint" not in self.definition

    @property
    def command(self) -> Sequence[str]:
        return [str(word) for word in self.definition.get("command", ())]

    @property
    def environment(self) -> Mapping[str, str]:
        return {name: str(value) for name, value in self.definition.get("environment", {}).items()}

    @property
    def published(self) -> Sequence[str]:
        return [str(port) for port in self.definition.get("ports", ())]

    @property
    def scaled(self) -> bool:
        """Whether it is started only by `--profile scale`."""
        return "scale" in self.definition.get("profiles", ())


def services(stack: str) -> list[Service]:
    """The services of a stack, as nobody has set any variable."""
    [project] = documents(DEPLOY / stack / "docker-compose.yml")
    return [Service(name=name, definition=_filled(each)) for name, each in project["services"].items()]


def _filled(value: Any) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: match["default"], value)
    if isinstance(value, Mapping):
        return {key: _filled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each) for each in value]
    return value


def image_environment() -> dict[str, str]:
    """The variables that the image sets."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    final = text.rpartition("\nFROM ")[2]
    lines = [line for line in final.splitlines() if line.startswith("ENV ")]
    return dict(pair.split("=", 1) for line in lines for pair in line.removeprefix("ENV ").split())


def panels(dashboard: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The panels of a dashboard, those inside of rows too."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panels(panel) if "panels" in panel else ()
