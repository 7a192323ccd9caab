from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from spanwise_collector.interchange.piece import JSON, PROTOBUF, Body
from spanwise_collector.interchange.sending import ToServer, Unreachable
from spanwise_collector.otlp.decode import Malformed
from spanwise_collector.otlp.rendering import document
from spanwise_collector.store import Accepted, Store

T1 = "0af7651916cd43dd8448eb211c80319c"


@dataclass
class Odd:
    """A server that answers with these statuses, then with 200."""

    url: str
    statuses: list[int]
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def odd() -> Iterator[Callable[..., Odd]]:
    started: list[ThreadingHTTPServer] = []

    def begin(*statuses: int, **headers: str) -> Odd:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # its name is given
                found.requests.append(self.path)
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(found.statuses.pop(0) if found.statuses else 200)
                for name, text in {"Content-Length": "0", **headers}.items():
                    self.send_header(name.replace("_", "-"), text)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        found = Odd(f"http://127.0.0.1:{server.server_port}", list(statuses))
        started.append(server)
        threading.Thread(target=server.serve_forever, args=[0.01]).start()
        return found

    yield begin
    for server in started:
        server.shutdown()
        server.server_close()


def test_both_encodings_arrive_in_the_store(front: Any, store: Store, otlp: Any) -> None:
    body = otlp.body(otlp.span("a"), otlp.span("bad", trace="00" * 16))
    with ToServer(front.bound.http) as server:
        answers = [
            server.take(Body(content, kind)).result(20) for content, kind in ((body, PROTOBUF), (document(body), JSON))
        ]
    assert [(1, 1), (1, 1)] == [(answer.spans, answer.rejected) for answer in answers]
    assert all("traceId" in answer.message for answer in answers)
    assert ["a"] == [span.name for span in store.reader().trace(T1)]


def test_what_is_refused_for_now_is_sent_again(odd: Callable[..., Odd], otlp: Any) -> None:
    server = odd(503, 429, Retry_After="1")
    with ToServer(server.url) as sender:
        assert Accepted(1) == sender.take(Body(otlp.body(otlp.span()), PROTOBUF)).result(20)
    assert server.requests == ["/v1/traces"] * 3


def test_patience_ends(odd: Callable[..., Odd], otlp: Any) -> None:
    server = odd(*[503] * 50)
    with ToServer(server.url, patience_s=0.2) as sender, pytest.raises(Unreachable, match="answered 503; import again"):
        sender.take(Body(otlp.body(otlp.span()), PROTOBUF)).result(20)


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (400, Malformed, "refused"),
        (413, Malformed, "--db"),
        (404, Unreachable, "4318"),
        (405, Unreachable, "4318"),
        (401, Unreachable, "answered 401"),
    ],
)
def test_what_is_refused_for_good_is_sent_once(
    status: int, error: type[Exception], words: str, odd: Callable[..., Odd], otlp: Any
) -> None:
    server = odd(status)
    with ToServer(server.url) as sender, pytest.raises(error, match=words):
        sender.take(Body(otlp.body(otlp.span()), PROTOBUF)).result(20)
    assert len(server.requests) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://[broken"])
def test_nobody_there_is_said_at_once(url: str, otlp: Any) -> None:
    with ToServer(url) as sender, pytest.raises(Unreachable, match="spanwise serve"):
        sender.take(Body(otlp.body(otlp.span()), PROTOBUF)).result(20)
