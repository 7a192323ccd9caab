from __future__ import annotations

import gzip
import http.client
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.rpc import status_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanwise_collector.receiver import Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Limits, Store

T1 = "0af7651916cd43dd8448eb211c80319c"
PROTOBUF = "application/x-protobuf"
JSON = "application/json"


class Answer(NamedTuple):
    """What came back, header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Sender:
    """One connection; every header is as the test says."""

    def __init__(self, netloc: str) -> None:
        self._connection = http.client.HTTPConnection(netloc, timeout=10)

    def send(self, body: Any, content_type: str | None = PROTOBUF, **more: Any) -> Answer:
        """One request; ``more`` holds headers, method, path, chunked."""
        headers = dict(more.get("headers", {}))
        if content_type is not None:
            headers["Content-Type"] = content_type
        method, path = more.get("method", "POST"), more.get("path", "/v1/traces")
        self._connection.request(method, path, body, headers, encode_chunked=more.get("chunked", False))
        answer = self._connection.getresponse()
        return Answer(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@pytest.fixture
def sender(front: Any) -> Iterator[Sender]:
    sender = Sender(front.netloc)
    yield sender
    sender.close()


@pytest.fixture
def document() -> bytes:
    span = {"traceId": T1, "spanId": "b7ad6b7169203331", "name": "chat"}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def stored(store: Store) -> int:
    return len(store.reader().trace(T1))


def test_a_good_request_leaves_partial_success_unset_and_is_stored_when_answered(
    sender: Sender, store: Store, otlp: Any, document: bytes
) -> None:
    """The protobuf body is empty, the JSON one {}."""
    first, second = sender.send(otlp.body(otlp.span())), sender.send(document, JSON)
    assert (first.status, first.body, first.headers["content-type"]) == (200, b"", PROTOBUF)
    assert (second.status, second.body, second.headers["content-type"]) == (200, b"{}", JSON)
    assert stored(store) == 2


def test_rejected_spans_are_counted_in_the_encoding_of_the_request(
    sender: Sender, store: Store, otlp: Any, document: bytes
) -> None:
    answer = sender.send(otlp.body(otlp.span(span="00" * 8), otlp.span()))
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, partial.rejected_spans) == (200, 1)
    assert "spanId" in partial.error_message
    answer = sender.send(document.replace(T1.encode(), b"0" * 32), JSON)
    assert (answer.status, json.loads(answer.body)["partialSuccess"]["rejectedSpans"]) == (200, "1")
    assert stored(store) == 1


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compressed_bodies_are_read_also_chunked_and_without_a_length(
    sender: Sender, store: Store, otlp: Any, document: bytes, coding: str
) -> None:
    compress = gzip.compress if coding == "gzip" else zlib.compress
    headers = {"Content-Encoding": coding}
    small = compress(otlp.body(otlp.span()))
    assert sender.send(small, headers=headers).status == 200
    assert sender.send(compress(document), JSON, headers=headers).status == 200
    pieces = iter([small[:7], small[7:]])
    chunked = {**headers, "Transfer-Encoding": "chunked"}
    assert sender.send(pieces, headers=chunked, chunked=True).status == 200
    assert stored(store) == 2


@pytest.mark.parametrize(
    ("body", "coding", "expected"),
    [
        (b"plain", "gzip", (400, "gzip")),
        (gzip.compress(b"x" * 99)[:20], "gzip", (400, "cut off")),
        (gzip.compress(b"") * 100_000, "gzip", (400, "over 1000 members")),
        (b"plain", "br", (415, "br")),
        (b"\xff\xff", "identity", (400, "")),
    ],
    ids=["not packed", "cut off", "too many members", "unknown coding", "no protobuf"],
)
def test_a_bad_body_is_refused_with_its_reason(
    sender: Sender, store: Store, body: bytes, coding: str, expected: tuple[int, str]
) -> None:
    """Errors are a google.rpc.Status in the encoding of the request."""
    status, names = expected
    for content_type in (PROTOBUF, JSON):
        answer = sender.send(body, content_type, headers={"Content-Encoding": coding})
        assert (status, content_type) == (answer.status, answer.headers["content-type"])
        message = (
            status_pb2.Status.FromString(answer.body).message
            if content_type == PROTOBUF
            else json.loads(answer.body)["message"]
        )
        assert message
        assert names in message
    assert store.reader().seq() == 0


@pytest.mark.parametrize("coding", ["", "identity", "IDENTITY"])
def test_no_coding_may_be_spelled_out(sender: Sender, store: Store, document: bytes, coding: str) -> None:
    assert sender.send(document, JSON, headers={"Content-Encoding": coding}).status == 200
    assert stored(store) == 1


@pytest.mark.parametrize(
    ("content_type", "status"),
    [("application/json; charset=utf-8", 200), ("Application/JSON", 200), (None, 415), ("text/plain", 415)],
)
def test_the_media_type_decides_whatever_its_case_and_parameters(
    sender: Sender, document: bytes, content_type: str | None, status: int
) -> None:
    assert status == sender.send(document, content_type).status


def test_an_empty_protobuf_body_is_an_empty_request(sender: Sender, store: Store) -> None:
    answer = sender.send(b"")
    assert (answer.status, answer.body, store.reader().seq()) == (200, b"", 0)


def test_the_field_that_is_wrong_is_named(sender: Sender, document: bytes) -> None:
    answer = sender.send(document.replace(b'"name": "chat"', b'"attributes": {"a": "b"}'), JSON)
    assert answer.status == 400
    assert "resourceSpans[0].scopeSpans[0].spans[0].attributes" in json.loads(answer.body)["message"]


def test_other_paths_and_methods_say_what_is_right(sender: Sender) -> None:
    answer = sender.send(b"", path="/")
    assert answer.status == 404
    assert "/v1/traces" in status_pb2.Status.FromString(answer.body).message
    answer = sender.send(None, method="GET")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_spans_are_counted(front: Any, sender: Sender, otlp: Any) -> None:
    sender.send(otlp.body(otlp.span(), otlp.span(), otlp.span(span="00" * 8)))
    sender.send(b"\xff\xff")
    assert front.receiver.counts() == {("http", "accepted"): 2, ("http", "rejected"): 1, ("http", "failed"): 1}


def test_a_body_over_the_limit_is_refused_declared_chunked_or_unpacked(store: Store, otlp: Any) -> None:
    limit = 100_000
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0, max_message_bytes=limit))
    netloc = receiver.start().http.removeprefix("http://")
    bomb = gzip.compress(b"\x00" * 50 * limit)
    pieces = (b"x" * 1000 for _ in range(200))
    tries: list[dict[str, Any]] = [
        {"body": bomb, "headers": {"Content-Encoding": "gzip"}},
        {"body": pieces, "headers": {"Transfer-Encoding": "chunked"}, "chunked": True},
    ]
    try:
        for each in tries:
            sender = Sender(netloc)
            assert sender.send(**each).status == 413
            sender.close()
        declared = http.client.HTTPConnection(netloc, timeout=10)
        declared.putrequest("POST", "/v1/traces")
        declared.putheader("Content-Type", PROTOBUF)
        declared.putheader("Content-Length", str(limit + 1))
        declared.endheaders()
        assert declared.getresponse().status == 413
        declared.close()
        sender = Sender(netloc)
        assert sender.send(otlp.body(otlp.span())).status == 200
        sender.close()
    finally:
        receiver.stop()


def test_overload_asks_for_a_later_retry(tmp_path: Path, otlp: Any) -> None:
    """503 with a Retry-After of 1 to 3: 429 is dropped by older SDKs, 0 makes others fire at once."""
    store = Store.open(tmp_path / "closing.db", Limits(patience_s=0))
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0))
    sender = Sender(receiver.start().http.removeprefix("http://"))
    store.close()
    try:
        answer = sender.send(otlp.body(otlp.span()))
        assert answer.status == 503
        assert answer.headers["retry-after"] in {"1", "2", "3"}
        assert status_pb2.Status.FromString(answer.body).code == 14
    finally:
        sender.close()
        receiver.stop()


def test_large_prompts_arrive_whole(sender: Sender, store: Store, otlp: Any) -> None:
    """On the receiving side: 40 spans of 130 KB, and one of 12 MB."""
    spans = [otlp.span(attributes={"prompt": "p" * 130_000}) for _ in range(40)]
    assert sender.send(otlp.body(*spans, otlp.span(attributes={"prompt": "p" * 12_000_000}))).status == 200
    assert sorted(len(str(each.attributes["prompt"])) for each in store.reader().trace(T1)) == [130_000] * 40 + [
        12_000_000
    ]
