"""An exposition as a strict collector reads it, written from the formats' own grammar and not from our writer."""

import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
_LABELS = rf"\{{(?:{_LABEL}(?:,{_LABEL})*)?\}}"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|Inf)|NaN"
_SAMPLE = re.compile(rf"({_NAME})({_LABELS})? ({_NUMBER})(?: # ({_LABELS}) ({_NUMBER}))?")
_PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
_SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}

Labels = frozenset[tuple[str, str]]


@dataclass
class Read:
    """A family: its samples by name and labels, and the traces that its exemplars name."""

    kind: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)
    exemplars: dict[tuple[str, Labels], str] = field(default_factory=dict)

    @property
    def labels(self) -> set[str]:
        return {name for _, labels in self.samples for name, _ in labels} - {"le"}

    def value(self, name: str, **labels: str) -> float:
        return self.samples[name, frozenset(labels.items())]


def read(text: str, *, openmetrics: bool) -> dict[str, Read]:
    """The families of an exposition; whatever the format forbids is an AssertionError."""
    assert text.endswith("# EOF\n" if openmetrics else "\n")
    families: dict[str, Read] = {}
    name, helped = "", ""
    for line in text.removesuffix("# EOF\n").splitlines():
        if line.startswith("# HELP "):
            helped = line.split(" ")[2]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == helped, f"{name} isn't described"
            assert name not in families, f"{name} comes twice"
            families[name] = Read(kind)
        else:
            _take(families[name], name, line, openmetrics=openmetrics)
    for name, family in families.items():
        if family.kind == "histogram":
            _check_histogram(name, family)
    return families


def _take(family: Read, name: str, line: str, *, openmetrics: bool) -> None:
    match = _SAMPLE.fullmatch(line)
    assert match is not None, line
    sample, labels, value, exemplar, _ = match.groups()
    suffixes = _SUFFIXES[family.kind if openmetrics or family.kind != "counter" else "gauge"]
    assert sample.removeprefix(name) in suffixes, line
    pairs = _PAIR.findall(labels or "")
    assert len(dict(pairs)) == len(pairs), f"a label comes twice: {line}"
    key = (sample, frozenset(pairs))
    assert key not in family.samples, f"comes twice: {line}"
    assert family.kind == "gauge" or float(value) >= 0, line
    family.samples[key] = float(value)
    if exemplar is not None:
        assert openmetrics, f"the text format has no exemplars: {line}"
        assert sample.endswith(("_bucket", "_total")), line
        family.exemplars[key] = dict(_PAIR.findall(exemplar))["trace_id"]


def _check_histogram(name: str, family: Read) -> None:
    series: dict[Labels, list[tuple[float, float]]] = {}
    for (sample, labels), value in family.samples.items():
        if sample == f"{name}_bucket":
            bound = dict(labels)["le"]
            series.setdefault(labels - {("le", bound)}, []).append((float(bound), value))
    for labels, buckets in series.items():
        bounds, counts = zip(*buckets, strict=True)
        assert list(bounds) == sorted(set(bounds)), f"{name}: buckets out of order"
        assert bounds[-1] == float("inf"), f"{name}: no last bucket"
        assert list(counts) == sorted(counts), f"{name}: buckets must include those before"
        assert counts[-1] == family.samples[f"{name}_count", labels]
        assert (f"{name}_sum", labels) in family.samples
