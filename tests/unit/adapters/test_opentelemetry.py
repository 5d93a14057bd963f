import subprocess
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION

from mainspring.adapters.opentelemetry.provider import exporting, resource_of
from mainspring.errors import ConfigurationError
from mainspring.ports.tracing import UNTRACED, trace_id_of
from mainspring.version import __version__
from mainspring.wiring.tracing import open_tracing
from tests.tracing import OTHER, PARENT, TRACE, KeptTracing, parent_of, place_of

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_a_span_is_current_within_its_block_and_no_longer() -> None:
    tracing = KeptTracing()
    assert tracing.current() is None
    with tracing.span("outer", parent=PARENT) as outer:
        assert tracing.current() == outer.traceparent
        with tracing.span("inner", parent=OTHER) as inner:
            assert tracing.current() == inner.traceparent
        assert tracing.current() == outer.traceparent
    assert tracing.current() is None
    assert [(span.name, parent_of(span)) for span in tracing.spans] == [("inner", OTHER), ("outer", PARENT)]


def test_a_span_without_a_parent_begins_a_trace_whatever_encloses_it() -> None:
    tracing = KeptTracing()
    with tracing.span("outer", parent=PARENT), tracing.span("inner"):
        pass
    assert parent_of(tracing.spans[0]) is None


def test_a_span_ends_though_its_block_is_left_by_an_error() -> None:
    tracing = KeptTracing()
    with pytest.raises(ValueError, match="broken"), tracing.span("work"):
        raise ValueError("broken")
    assert (tracing.names, tracing.current()) == (["work"], None)


def test_what_others_begin_within_a_span_is_its_child() -> None:
    tracing = KeptTracing()
    with tracing.span("ours") as ours:
        assert trace.get_current_span().get_span_context().span_id == int((ours.traceparent or "")[36:52], 16)


@pytest.mark.parametrize("lasted", [SECOND, -SECOND])
def test_what_is_over_is_told_with_its_times_and_never_ends_before_it_began(lasted: timedelta) -> None:
    tracing = KeptTracing()
    told = tracing.record("wait", parent=PARENT, began=NOON, ended=NOON + lasted, attributes={"runs": 3})
    [span] = tracing.spans
    assert (told, parent_of(span), dict(span.attributes or {})) == (place_of(span), PARENT, {"runs": 3})
    assert span.start_time == int(NOON.timestamp()) * 10**9
    assert span.end_time == span.start_time + max(int(lasted.total_seconds()), 0) * 10**9


def test_only_a_trace_that_somebody_keeps_has_an_id() -> None:
    assert trace_id_of(PARENT) == TRACE
    assert trace_id_of(PARENT[:-1] + "0") is None
    assert trace_id_of(None) is None


def test_untraced_there_is_nothing_to_hand_on() -> None:
    with UNTRACED.span("work", parent=PARENT) as span:
        span.name("other")
        span.tell({"runs": 1})
        span.fail("broken")
        assert (span.traceparent, UNTRACED.current()) == (None, None)
    assert UNTRACED.record("wait", parent=PARENT, began=NOON, ended=NOON) is None


def test_a_process_has_our_name_unless_the_environment_gives_another(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = resource_of("mainspring-api").attributes
    assert (ours[SERVICE_NAME], ours[SERVICE_VERSION]) == ("mainspring-api", __version__)
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=billing,team=blue")
    theirs = resource_of("mainspring-api").attributes
    assert (theirs[SERVICE_NAME], theirs["team"]) == ("billing", "blue")


async def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mainspring.adapters.opentelemetry.provider", None)
    async with AsyncExitStack() as closing:
        with pytest.raises(ConfigurationError, match=r"pip install 'mainspring\[tracing\]'"):
            await open_tracing("mainspring", closing)


async def test_a_collector_that_is_away_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setattr(trace, "set_tracer_provider", lambda _: None)  # a process has one, for ever
    async with exporting("mainspring") as tracing:
        with tracing.span("work") as span:
            assert span.traceparent is not None


def test_where_nobody_asks_for_traces_nothing_of_it_is_loaded() -> None:
    program = (
        "import sys, mainspring.client\n"
        "from mainspring.client.tracing import add_trace\n"
        "headers = {}; add_trace(headers)\n"
        "assert not headers and not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
        "import mainspring.cli.main, mainspring.wiring.running\n"  # the web framework may load the interface, by itself
        "assert not [name for name in sys.modules if name.startswith('opentelemetry.sdk')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
