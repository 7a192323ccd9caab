"""``spanwise doctor`` says of each port of a running server whether spans sent there would be taken."""

from __future__ import annotations

from typing import Any

import pytest

from spanwise import doctor

PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def finding(server: Any, port: str, protocol: str) -> doctor.Finding:
    address = server.addresses[port]
    url = address if "://" in address else f"http://{address}"
    found = doctor.examine({ENDPOINT: url, PROTOCOL: protocol})
    return next(finding for finding in found if finding.text.startswith(url))


@pytest.mark.parametrize(("port", "protocol"), [("otlp_http", "http/protobuf"), ("otlp_grpc", "grpc")])
def test_the_right_port_takes_spans(server: Any, port: str, protocol: str) -> None:
    found = finding(server, port, protocol)
    assert (True, f"takes spans ({protocol})") == (found.ok, found.text.split(": ", 1)[1])


@pytest.mark.parametrize(
    ("port", "protocol", "words"),
    [
        (
            "otlp_grpc",
            "http/protobuf",
            "this looks like the gRPC port; set OTEL_EXPORTER_OTLP_PROTOCOL=grpc or use 4318",
        ),
        ("api", "http/protobuf", "the answer is 404; no OTLP/HTTP here"),
        ("otlp_http", "grpc", "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf with 4318 or use 4317"),
        ("api", "grpc", "if this is an HTTP port, set"),
    ],
)
def test_a_port_where_spans_would_be_lost_is_not_ok(server: Any, port: str, protocol: str, words: str) -> None:
    found = finding(server, port, protocol)
    assert found.ok is False
    assert words in f"{found.text}; {found.remedy}"


def test_the_exit_code_tells_whether_spans_would_arrive(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPANWISE_RAISE", raising=False)
    codes = []
    for port in ("otlp_http", "api"):
        monkeypatch.setenv(ENDPOINT, server.addresses[port])
        codes.append(doctor.main([]))
    assert codes == [0, 1]
