import json
from collections.abc import Mapping
from typing import Any

import pytest

from mainspring import __version__
from mainspring.testing.factories import a_task
from mainspring.worker.flow import Abandon
from mainspring.worker.handlers.request import Request, read_request
from tests.unit.handlers.contexts import JOB, RUN, a_context

URL = "https://example.com/hook"


def request(**fields: Any) -> Request:
    return written(json.dumps({"url": URL, **fields}, separators=(",", ":")))


def written(payload: str) -> Request:
    """What is sent for a payload's own text."""
    context = a_context(payload=payload.encode())
    return read_request(context.payload, context)


def test_the_run_is_named_in_the_headers() -> None:
    headers = request().headers
    assert headers["x-mainspring-run"] == str(RUN)
    assert headers["x-mainspring-job"] == str(JOB)
    assert headers["x-mainspring-fence"] == "7"
    assert headers["x-mainspring-attempt"] == "2"
    assert headers["user-agent"] == f"Mainspring/{__version__}"
    assert headers["idempotency-key"] == str(RUN)


def test_without_a_body_the_run_is_described() -> None:
    made = request(headers={"X-A": "1"})
    assert made.method == "POST"
    assert made.headers["content-type"] == "application/json"
    assert json.loads(made.body) == {
        "job_id": str(JOB),
        "execution_id": str(RUN),
        "attempt": 2,
        "payload": {"url": URL, "headers": {"X-A": "1"}},
    }


@pytest.mark.parametrize("method", ["GET", "head"])
def test_methods_without_a_body_describe_nothing(method: str) -> None:
    made = request(method=method)
    assert (made.method, made.body) == (method.upper(), b"")
    assert "content-type" not in made.headers


@pytest.mark.parametrize(
    ("body", "headers", "sent", "content_type"),
    [
        ({"a": [1, None]}, {}, b'{"a":[1,null]}', "application/json"),
        ("text", {}, b'"text"', "application/json"),
        ("ä", {"Content-Type": "text/plain"}, "ä".encode(), "text/plain"),
        ("", {"Content-Type": "text/plain"}, b"", "text/plain"),
        ({"a": 1}, {"content-type": "application/vnd.x+json"}, b'{"a":1}', "application/vnd.x+json"),
        (False, {}, b"false", "application/json"),
        (0, {}, b"0", "application/json"),
        ("\ud800", {}, b'"\\ud800"', "application/json"),
    ],
)
def test_a_body_is_sent_as_json_but_typed_text_as_it_is(
    body: Any, headers: Mapping[str, str], sent: bytes, content_type: str
) -> None:
    made = request(body=body, headers=headers)
    assert (made.body, made.headers["content-type"]) == (sent, content_type)


@pytest.mark.parametrize(
    "body",
    [
        "1e400",
        "-1E-400",
        "1.0",
        "1.10",
        "-0",
        "12345678901234567890123456789012345678901234567890",
        "3.14159265358979323846264338327950288",
        '{"amount":1e400,"b":{"c":[1.0,2e2]}}',
        '{ "b" : 1,\n\t"a" : [ ] }',
        '{"a":1,"a":2}',
        r'"\u00e9\ud83d\ude00\/"',
        '"é\u2028"',
        '"}, \\"body\\": 2"',
        "true",
        "[]",
    ],
)
@pytest.mark.parametrize("around", ['{{"url":"{url}","body":{body}}}', ' {{ "body" : {body} ,\n"url":"{url}" }} '])
def test_a_body_goes_on_as_it_was_written(body: str, around: str) -> None:
    assert written(around.format(url=URL, body=body)).body == body.encode()


def test_of_two_bodies_the_last_is_meant_and_a_body_within_another_member_is_not() -> None:
    text = f'{{"headers":{{"body":"x"}},"body":1.0,"body":2.50,"url":"{URL}"}}'
    assert written(text).body == b"2.50"


def test_the_payload_of_a_run_that_is_described_is_as_it_was_written() -> None:
    text = f'{{"url": "{URL}", "timeout": 1.50e3}}'
    assert written(f"\n{text} ").body.endswith(f',"payload":{text}}}'.encode())


def test_null_sends_no_body() -> None:
    made = request(body=None)
    assert made.body == b""
    assert "content-type" not in made.headers


def test_users_add_headers_and_choose_the_idempotency_key() -> None:
    headers = request(headers={"Authorization": "Bearer x", "Idempotency-Key": "mine"}).headers
    assert (headers["authorization"], headers["idempotency-key"]) == ("Bearer x", "mine")


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "Expect",
        "Upgrade",
        "USER-AGENT",
        "webhook-id",
        "Webhook-Timestamp",
        "webhook-signature",
        "X-Mainspring-Run",
        "x-mainspring-anything",
        "Proxy-Authorization",
    ],
)
def test_headers_of_our_own_cannot_be_given(name: str) -> None:
    with pytest.raises(Abandon, match=f"headers: {name} is set by Mainspring"):
        request(headers={name: "x"})


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\x7f", "a\x01"])
def test_a_value_cannot_begin_another_header(value: str) -> None:
    with pytest.raises(Abandon, match="headers: the value of X-A must not contain line breaks"):
        request(headers={"X-A": value})


@pytest.mark.parametrize("name", ["", "X A", "X:A", "X\r\nY", "Ünicode", "X-A\t"])
def test_a_name_is_a_token(name: str) -> None:
    with pytest.raises(Abandon, match="headers: a name must consist of"):
        request(headers={name: "x"})


def test_a_header_is_given_once() -> None:
    with pytest.raises(Abandon, match="headers: x-a is given twice"):
        request(headers={"X-A": "1", "x-a": "2"})


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET /", ""])
def test_other_methods_are_refused(method: str) -> None:
    with pytest.raises(Abandon, match="method: must be one of GET, HEAD"):
        request(method=method)


def test_the_timeout_is_in_milliseconds() -> None:
    assert request().timeout.total_seconds() == 30
    assert request(timeout=1500).timeout.total_seconds() == 1.5


@pytest.mark.parametrize("timeout", [0, -1, 1e12, "30", True])
def test_a_timeout_that_makes_no_sense_is_refused(timeout: Any) -> None:
    with pytest.raises(Abandon, match="timeout: must be"):
        request(timeout=timeout)


def test_a_url_must_be_given() -> None:
    with pytest.raises(Abandon, match="url: is missing"):
        read_request({}, a_context())


def test_a_traced_run_is_followed_unless_the_job_names_another_trace() -> None:
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    context = a_context(task=a_task(trace=traceparent))
    assert read_request({"url": URL}, context).headers["traceparent"] == traceparent
    assert read_request({"url": URL, "headers": {"Traceparent": "mine"}}, context).headers["traceparent"] == "mine"
    assert "traceparent" not in request().headers
