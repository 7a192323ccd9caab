from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from spanwise_collector.forwarding import Target, headers, target
from spanwise_collector.forwarding.loops import refuse_own
from spanwise_collector.forwarding.verdict import LONGEST_WAIT_S, retry_after_s


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://jaeger:4318", Target("http://jaeger:4318/v1/traces", "jaeger", 4318)),
        ("http://jaeger:4318/", Target("http://jaeger:4318/v1/traces", "jaeger", 4318)),
        ("https://x.example/otlp?a=b", Target("https://x.example/otlp?a=b", "x.example", 443, secure=True)),
        ("grpc://[::1]:4317", Target("[::1]:4317", "::1", 4317, grpc=True)),
        ("grpcs://x.example", Target("x.example:4317", "x.example", 4317, grpc=True, secure=True)),
    ],
)
def test_a_target_is_a_url_and_http_without_a_path_gets_the_usual_one(text: str, found: Target) -> None:
    assert found == target(text)


@pytest.mark.parametrize("text", ["jaeger:4318", "ftp://x:1", "http://", "http://x:99999", "grpc://x:1/path", ""])
def test_what_is_no_target_is_named_with_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected http://host:4318|a host and a port"):
        target(text)


def test_what_may_be_secret_in_an_address_is_not_repeated() -> None:
    with pytest.raises(ValueError, match=r"^(?!.*hidden).*x\.example"):
        target("ftp://user:hidden@x.example/?token=hidden")


def test_headers_are_those_of_the_otel_variables_and_a_wrong_one_is_told_by_its_place() -> None:
    assert headers(" Authorization=Bearer%20a%3Db , x-a = 1,,") == {"authorization": "Bearer a=b", "x-a": "1"}
    for text in ("a=1,hidden", "a=1,b c=hidden", "a=1,b=hidden%0d%0ax"):
        with pytest.raises(ValueError, match=r"^(?!.*hidden).*header 2"):
            headers(text)


def test_retry_after_is_a_number_or_a_date_and_within_bounds() -> None:
    assert [retry_after_s(text) for text in ("7", "0", "99999", "soon", None)] == [7, 0.1, LONGEST_WAIT_S, None, None]
    then = retry_after_s(format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True))
    assert then == pytest.approx(60, abs=5)


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://localhost:4318", "http://127.0.0.1:4318"),
        ("http://127.0.0.1:4318/other", "http://0.0.0.0:4318"),
        (f"grpc://{socket.gethostname()}:4317", "0.0.0.0:4317"),
        ("grpc://[::1]:4317", "[::1]:4317"),
    ],
)
def test_a_server_does_not_forward_to_itself(url: str, own: str) -> None:
    with pytest.raises(OSError, match="is this server itself"):
        refuse_own([target(url)], ["http://127.0.0.1:1", own])


def test_another_port_or_host_is_no_loop() -> None:
    urls = ["http://127.0.0.1:4319", "grpc://127.0.0.2:4318", "http://no-such-host.invalid:4318"]
    refuse_own([target(url) for url in urls], ["http://127.0.0.1:4318"])
