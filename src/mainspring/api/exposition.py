"""Families of samples as collectors read them: in Prometheus' text format, or as OpenMetrics, which has exemplars."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mainspring.api.instruments import Exemplar, Family, Kind, Sample

_OPENMETRICS = "application/openmetrics-text"
_PLAIN = "text/plain"
_TOTAL = "_total"


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write an exposition."""

    media_type: str
    openmetrics: bool

    def write(self, families: Iterable[Family]) -> str:
        """All of them."""
        lines = [line for family in families for line in self._lines(family)]
        return "\n".join([*lines, "# EOF"] if self.openmetrics else lines) + "\n"

    def _lines(self, family: Family) -> Iterator[str]:
        # To OpenMetrics a counter's family lacks the suffix that its samples have.
        counter = self.openmetrics and family.kind is Kind.COUNTER
        name = family.name.removesuffix(_TOTAL) if counter else family.name
        yield f"# HELP {name} {family.help}"
        yield f"# TYPE {name} {family.kind}"
        for sample in family.samples:
            yield self._line(family.name, sample)

    def _line(self, name: str, sample: Sample) -> str:
        labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in sample.labels.items())
        written = f"{name}{sample.suffix}{{{labels}}}" if labels else f"{name}{sample.suffix}"
        exemplar = _exemplar(sample.exemplar) if self.openmetrics and sample.exemplar is not None else ""
        return f"{written} {sample.value}{exemplar}"


TEXT = Format("text/plain; version=0.0.4; charset=utf-8", openmetrics=False)
OPENMETRICS = Format("application/openmetrics-text; version=1.0.0; charset=utf-8", openmetrics=True)


def format_for(accept: str) -> Format:
    """The format that an `Accept` header prefers: OpenMetrics only where it is asked for by name."""
    weights: dict[str, float] = {}
    for each in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in each.split(";"))
        weights[kind] = max(weights.get(kind, 0.0), _weight(parameters))
    wanted = weights.get(_OPENMETRICS, 0.0)
    return OPENMETRICS if wanted > 0 and wanted >= weights.get(_PLAIN, 0.0) else TEXT


def _weight(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _exemplar(exemplar: Exemplar) -> str:
    return f' # {{trace_id="{exemplar.trace_id}"}} {exemplar.value}'


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
