"""A collector of traces that only takes note of who sent any."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """Where it listens, and the names of the services whose spans came."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.services: set[str] = set()

    def take(self, body: bytes) -> None:
        """Read what an exporter sent."""
        for spans in ExportTraceServiceRequest.FromString(body).resource_spans:
            named = {each.key: each.value.string_value for each in spans.resource.attributes}
            self.services.add(named["service.name"])


@contextmanager
def collecting() -> Iterator[Collector]:
    """One that listens on a free port of this machine."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: what came is in the collector."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
