"""Requests that nobody means well by, as bytes: some no client library would send."""

import json
from collections.abc import Iterator
from itertools import chain

ID = "01985c5e-7a53-7cc1-8f2b-3c1d5e9a0b47"
JOB = "@job"
"""Stands for the id of a job that exists."""
JOBS, BATCH, LETTERS, LOCK = "/api/v1/jobs", "/api/v1/jobs/batch", "/api/v1/dead-letter", "/api/v1/locks/l"
DEEP = "[" * 200_000

# fmt: off - tables read better in rows
VALUES = (
    "null",
    "true",
    "-1",
    "0",
    "1.5",
    "1e400",
    "9" * 4300,
    "9" * 4301,
    "-9223372036854775809",
    "18446744073709551616",
    '""',
    '"x"',
    '" "',
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\n"',
    '"\x7f"',
    '"' + "x" * 100_000 + '"',
    "[]",
    "[[]]",
    "{}",
    '{"a":1}',
    '{"a":1,"a":2}',
    "NaN",
    "Infinity",
    "-Infinity",
    "nul",
    "+1",
    "01",
    ".5",
    "1.",
    '"\t"',
    "'x'",
    "/**/1",
    DEEP,
    '{"a":' * 100_000,
)
FIELDS = (
    "name",
    "description",
    "key",
    "jobId",
    "schedule",
    "timezone",
    "starts_at",
    "priority",
    "max_retries",
    "retry",
    "timeout_ms",
    "lane",
    "misfire",
    "overlap",
    "dst",
    "allow_unknown_handler",
    "owner",
    "project_id",
)
SCHEDULES = (
    "in 99999999999999999999d",
    "in -1s",
    "in 0s",
    "in",
    "@every",
    "@every 0s",
    "@every 99999999999d",
    "@",
    "@every 1e9h",
    "9999-12-31T23:59:59.999999Z",
    "0001-01-01T00:00:00Z",
    "2030-02-30T00:00:00Z",
    "2030-01-01T00:00:00+99:99",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
    "* * * * * * *",
    "*/0 * * * *",
    "0-99 * * * *",
    "0 0 31 2 *",
    "0 0 29 2 *",
    "59 59 23 31 12 *",
    "* " * 450,
    "1," * 400 + "1 * * * *",
    "L L L L L",
    "@yearly @daily",
    "🦄 * * * *",
    "\uff12030-01-01T00:00:00Z",
    "in \uff11s",
    "0 0 * * 7#9",
    "H H * * *",
    "?" * 900,
    "\u202e* * * * *",
)
BODIES = (
    b"",
    b" ",
    b"null",
    b"1",
    b'"x"',
    b"[]",
    b"[" * 1000,
    b"{",
    b"}",
    b"{}{}",
    b"{,}",
    b'{"a"}',
    b'{"a":}',
    b"{a:1}",
    b'{"handler":"test.echo"',
    b'{"handler":"test.echo"}garbage',
    b'{"handler":"test.echo","handler":"test.echo"}',
    b'{"handler":"test.echo","payload":{"x":{"y":1,"y":2}}}',
    b'{"handler":"test.echo","payload":"\\ud800"}',
    b'{"handler":"test.echo","\\ud800":1}',
    b'{"__proto__":{},"handler":"test.echo"}',
    b'{"":1,"handler":"test.echo"}',
    b'{"handler":"test.echo","payload":' + b"[" * 62 + b"]" * 62 + b"}",
    b'{"handler":"../../etc/passwd"}',
    b'{"handler":"test.echo","payload":' + DEEP.encode() + b"}",
    b"{" + b'"a":1,' * 50_000 + b'"b":1}',
    b'{"handler":"\\u0000"}',
    b"\xff\xfe{\x00}\x00",
    b'{"handler":"\xed\xa0\x80"}',
    b'{"handler":"\xc0\xaf"}',
    b"\x00" * 1000,
    b"\x80",
    b"\xef\xbb\xbf{}",
)
QUERIES = (
    "?limit=0",
    "?limit=-1",
    "?limit=101",
    "?limit=1e3",
    "?limit=%D9%A3",
    "?limit=",
    "?limit=1&limit=2",
    "?cursor=",
    "?cursor=x",
    "?cursor=%00",
    "?cursor=" + "A" * 300,
    "?cursor=AAAA",
    "?cursor=%ff%fe",
    "?cursor=../..",
    "?cursor=null",
    "?status=nonsense",
    "?status=",
    "?status=scheduled",
    "?nosuch=1",
    "?q=%00",
    "?q=%25%5F",
    "?q=" + "x" * 5000,
    "?=",
    "?handler=%ff",
    "?name=%00%01",
    "?key=%27%20OR%201%3D1",
    "?%00=1",
    "?&&&",
    "?q[]=1",
    "?q=%ed%a0%80",
    "?job_id=x",
)
PATHS = (
    "/api/v1/jobs/x",
    "/api/v1/jobs/%00",
    "/api/v1/jobs/..%2f..%2fetc",
    f"/api/v1/jobs/{ID}/",
    f"/api/v1/jobs/{{{ID}}}",
    f"/api/v1/jobs/urn:uuid:{ID}",
    "/api/v1/jobs/" + "9" * 5000,
    "/api/v1/jobs//",
    "//api/v1/jobs",
    "/api/v1/jobs/%ff",
    f"/api/v1/executions/{ID}/attempts",
    "/api/v1/executions/-1",
    f"/api/v1/executions/{ID.upper()}",
    "/%2e%2e/",
    "/api/v1/locks/",
    "/api/v1/locks/%00",
    "/api/v1/locks/" + "x" * 300,
    "/api/v1/locks/a%2Fb",
    "/api/v1/locks/%ff%fe",
    "/api/v2/jobs",
    "/API/V1/JOBS",
    "/api/v1/jobs;x=1",
    "/api/v1/jobs%20",
    "/.env",
    "/docs/../openapi.json",
    "/metrics/",
    "/healthz/x",
    "/api/v1/metrics/executions?window=1y",
    "/api/v1/audit?job_id=x",
    "/?x=%00",
    "/docs?x=<script>",
)
HEADERS = (
    "If-Match: ",
    "If-Match: W/",
    'If-Match: "',
    'If-Match: "' + "9" * 900 + '"',
    "If-Match: *, *",
    "If-Match: \xff",
    "If-Match: " + "x" * 2000,
    'If-Match: "1.2.3"',
    'If-Match: "-1"',
    "If-None-Match: *",
    "If-None-Match: \xff",
    "Idempotency-Key: ",
    "Idempotency-Key: " + "k" * 201,
    "Idempotency-Key: \xff",
    "Idempotency-Key: a\r\nIdempotency-Key: b",
    "X-User-ID: ",
    "X-User-ID: " + "u" * 201,
    "X-User-ID: \xff",
    "X-User-ID: a\r\nX-User-ID: b",
    "X-User-ID: '; DROP TABLE job",
    "Content-Type: text/html",
    "Content-Type: application/json; charset=utf-16",
    "Content-Type: ",
    "Content-Type: a/b/c;;;",
    "Origin: null",
    "Origin: http://[",
    "Origin: \xff",
    "Host: evil.example",
    "Host: [::1",
    "Host: ",
    "Host: a b",
    "Accept: \xff",
    "Accept-Encoding: " + "gzip," * 1000,
    "Expect: 100-continue",
    "Cookie: " + "a=b;" * 1000,
    "Authorization: Basic x",
    "Authorization: Bearer",
    "Last-Event-ID: \xff",
    "Content-Encoding: gzip",
    "Range: bytes=0-0",
    "X-HTTP-Method-Override: DELETE",
    "Upgrade: websocket\r\nConnection: upgrade",
)
METHODS = ("HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW", "get", "PATCH", "PUT", "DELETE", "PROPFIND")
# fmt: on
_POST = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MALFORMED = (
    b"GET\r\n\r\n",
    b"\r\n\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon here\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    _POST + b"Content-Length: -1\r\n\r\n{}",
    _POST + b"Content-Length: x\r\n\r\n{}",
    _POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n",
    _POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
)

Named = Iterator[tuple[str, bytes]]


def corpus() -> Named:
    """All of them, each with a name."""
    malformed = ((f"malformed {number}", sent) for number, sent in enumerate(MALFORMED))
    return chain(_fields(), _schedules(), _bodies(), _addresses(), _headers(), _methods(), malformed)


def request(method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    """A request; what *headers* give isn't given a second time."""
    given = {header.partition(":")[0].lower() for header in headers}
    lines = [f"{method} {path} HTTP/1.1", *headers]
    if "host" not in given:
        lines.append("Host: localhost")
    if body and "content-type" not in given:
        lines.append("Content-Type: application/json")
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}")
    lines.append("Connection: close")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def _fields() -> Named:
    for value in VALUES:
        shown = repr(value[:20])
        text = value.encode()
        for field in FIELDS:
            body = b'{"handler":"test.echo","' + field.encode() + b'":' + text + b"}"
            yield f"{field} {shown}", request("POST", JOBS, body)
        yield f"handler {shown}", request("POST", JOBS, b'{"handler":' + text + b"}")
        yield f"update {shown}", request("PUT", f"{JOBS}/{JOB}", b'{"payload":' + text + b"}")
        yield f"item {shown}", request("POST", BATCH, b'{"jobs":[' + text + b"]}")
        yield f"batch {shown}", request("POST", BATCH, b'{"jobs":' + text + b"}")
        yield f"ttl {shown}", request("POST", f"{LOCK}/acquire", b'{"holder":"h","ttl_ms":' + text + b"}")
        yield f"token {shown}", request("POST", f"{LOCK}/release", b'{"holder":"h","token":' + text + b"}")


def _schedules() -> Named:
    for schedule in SCHEDULES:
        shown = repr(schedule[:20])
        job = {"handler": "test.echo", "schedule": schedule}
        preview = {"schedule": schedule, "count": 100}
        start = {"handler": "test.echo", "schedule": "@daily", "starts_at": schedule[:100], "timezone": schedule[:100]}
        yield f"job {shown}", request("POST", JOBS, json.dumps(job).encode())
        yield f"preview {shown}", request("POST", "/api/v1/schedules/preview", json.dumps(preview).encode())
        yield f"start {shown}", request("POST", JOBS, json.dumps(start).encode())


def _bodies() -> Named:
    for path in (JOBS, BATCH, f"{LETTERS}/requeue", f"{LOCK}/acquire", f"{LOCK}/release"):
        for body in BODIES:
            yield f"body {path} {body[:20]!r}", request("POST", path, body)


def _addresses() -> Named:
    for path in (JOBS, "/api/v1/executions", LETTERS, "/api/v1/audit", f"{JOBS}/{JOB}/executions", "/api/v1/workers"):
        for query in QUERIES:
            yield f"query {path}{query[:30]}", request("GET", path + query)
    for path in PATHS:
        yield f"path {path[:60]}", request("GET", path)
        yield f"post {path[:60]}", request("POST", path, b"{}")


def _headers() -> Named:
    for header in HEADERS:
        shown = repr(header[:30])
        yield f"create {shown}", request("POST", JOBS, b'{"handler":"test.echo"}', header)
        yield f"change {shown}", request("PUT", f"{JOBS}/{JOB}", b'{"name":"x"}', header)
        yield f"trigger {shown}", request("POST", f"{JOBS}/{JOB}/trigger", b"", header)
        yield f"show {shown}", request("GET", f"{JOBS}/{JOB}", b"", header)


def _methods() -> Named:
    for method in METHODS:
        for path in (JOBS, f"{JOBS}/{JOB}", f"{LOCK}/acquire", "/metrics", "/nowhere"):
            yield f"method {method} {path}", request(method, path)
