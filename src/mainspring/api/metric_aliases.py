"""Names that say again what another name says. Made when somebody looks: what is counted is counted once.

Collectors, dashboards and alerts were written for these names before there was one program to answer them all.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from mainspring.api.instruments import Family, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A family made of another: of the samples whose labels have the values in *only*, without labels in *without*."""

    of: str
    only: Mapping[str, frozenset[str]] = field(default_factory=dict)
    without: frozenset[str] = frozenset()

    def family(self, name: str, source: Family) -> Family:
        """The source under its other name."""
        samples = [self._shown(sample) for sample in source.samples if self._chosen(sample)]
        return replace(source, name=name, help=f"Another name for {self.of}. {source.help}", samples=samples)

    def _chosen(self, sample: Sample) -> bool:
        return all(sample.labels[label] in values for label, values in self.only.items())

    def _shown(self, sample: Sample) -> Sample:
        if not self.without:
            return sample
        kept = {label: value for label, value in sample.labels.items() if label not in self.without}
        return replace(sample, labels=kept)


_DECIDED = {"status": frozenset({"success", "failed"})}

ALIASES: Final[Mapping[str, Alias]] = MappingProxyType(
    {
        "jobs_processed_total": Alias(of="jobs_completed_total", only=_DECIDED),
        "jobs_executed_total": Alias(of="jobs_completed_total", only=_DECIDED),
        "jobs_dlq_total": Alias(of="jobs_failed_total"),
        "job_execution_duration_seconds": Alias(of="job_duration_seconds"),
        "s3_operations_total": Alias(of="mainspring_blob_operations_total"),
        # Without a broker in between, a run is in the queue once the store has taken it.
        "sqs_enqueue_duration_seconds": Alias(
            of="mainspring_store_seconds", only={"operation": frozenset({"add"})}, without=frozenset({"operation"})
        ),
    }
)


def with_aliases(families: Iterable[Family]) -> Iterator[Family]:
    """Each family, and after it those that are made of it."""
    for family in families:
        yield family
        for name, alias in ALIASES.items():
            if alias.of == family.name:
                yield alias.family(name, family)
