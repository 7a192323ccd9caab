from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from spanwise_collector.origin import origins
from spanwise_collector.receiver import Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Store

ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}


@pytest.fixture
def browse(store: Store) -> Iterator[Callable[..., Any]]:
    """Sends what a browser would, to a receiver with these settings: method, status and headers come back."""
    receivers: list[Receiver] = []

    def send(method: str, origin: str, allowed: str = "https://*.example.com", **more: Any) -> Any:
        settings = ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0, cors_origins=allowed, cors_headers="x-team")
        receivers.append(Receiver(store, settings))
        connection = http.client.HTTPConnection(receivers[-1].start().http.removeprefix("http://"), timeout=10)
        headers = {"Origin": origin, "Content-Type": "application/json", **(ASKED if method == "OPTIONS" else {})}
        connection.request(method, "/v1/traces", more.get("body", b"{}"), headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer

    yield send
    for receiver in receivers:
        receiver.stop()


def test_a_preflight_of_an_allowed_origin_is_answered_without_credentials(browse: Any) -> None:
    answer = browse("OPTIONS", "https://app.example.com")
    assert 204 == answer.status
    assert {
        "access-control-allow-origin": "https://app.example.com",
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "content-type, content-encoding, authorization, x-team",
        "access-control-max-age": "7200",
        "vary": "Origin",
    } == {name: text for name, text in answer.getheaders() if name.startswith("access-") or name == "vary"}


@pytest.mark.parametrize(("body", "status"), [(b"{}", 200), (b"{", 400)])
def test_a_page_of_an_allowed_origin_may_read_the_answer_and_when_to_retry(
    browse: Any, body: bytes, status: int
) -> None:
    answer = browse("POST", "https://app.example.com", body=body)
    assert (status, "https://app.example.com") == (answer.status, answer.headers["access-control-allow-origin"])
    assert ("Retry-After", "Origin") == (answer.headers["access-control-expose-headers"], answer.headers["vary"])


@pytest.mark.parametrize("allowed", ["", "https://*.example.com"])
def test_other_origins_get_no_leave_and_nobody_does_by_default(browse: Any, allowed: str) -> None:
    for method, status in (("OPTIONS", 405), ("POST", 403)):
        answer = browse(method, "https://evil.example.org", allowed)
        assert (status, None) == (answer.status, answer.headers["access-control-allow-origin"])
        assert ("Origin" if allowed else None) == answer.headers["vary"]


@pytest.mark.parametrize(
    ("allowed", "origin", "fits"),
    [
        ("https://app.example.com", "https://app.example.com", True),
        ("https://app.example.com/", "https://APP.example.com", True),
        ("https://app.example.com", "http://app.example.com", False),
        ("https://app.example.com", "https://app.example.com.evil.org", False),
        ("https://app.example.com", "https://app-example.com", False),
        ("https://*.example.com", "https://a.b.example.com", True),
        ("https://*.example.com", "https://example.com", False),
        ("https://*.example.com", "https://evilexample.com", False),
        ("https://*.example.com", "https://evil.org/.example.com", False),
        ("http://localhost:*", "http://localhost:5173", True),
        ("http://localhost:*", "http://localhost", True),
        ("http://localhost:*", "http://localhost.evil.org", False),
        ("http://a.example, http://b.example:8080", "http://b.example:8080", True),
        ("http://a.example, http://b.example:8080", "http://b.example", False),
        ("https://app.example.com", "null", False),
    ],
)
def test_a_wildcard_stands_for_whole_labels_of_the_host_or_for_a_port(allowed: str, origin: str, *, fits: bool) -> None:
    assert fits == any(each.fullmatch(origin.lower()) for each in origins(allowed))


@pytest.mark.parametrize(
    "bad", ["*", "https://*", "app.example.com", "https://app.example.com/path", "https://a.*.com"]
)
def test_what_is_no_origin_or_any_origin_is_refused_by_name(bad: str) -> None:
    with pytest.raises(ValueError, match="SPANWISE_CORS_ORIGINS"):
        ReceiverSettings.from_environ({"SPANWISE_CORS_ORIGINS": f"http://localhost:*,{bad}"})
