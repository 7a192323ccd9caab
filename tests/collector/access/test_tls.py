"""TLS and client certificates on both OTLP ports, as exporters and other clients meet them."""

from __future__ import annotations

import shutil
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from spanwise_collector.receiver import Entrance
from spanwise_collector.receiver.tls import BadCertificate
from spanwise_collector.settings import ReceiverSettings

OTLP = "OTEL_EXPORTER_OTLP_"
GIVING_UP_S = 0.5  # exporters try again until then


@pytest.fixture(autouse=True)
def _no_other_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the machine would come before those of the exporters."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


def sent(door: Any, protocol: str, timeout: float = 10) -> SpanExportResult:
    found: SpanExporter
    if protocol == "grpc":
        found = GrpcExporter(f"https://{door.bound.grpc}", timeout=timeout)
    else:
        found = HttpExporter(f"{door.bound.http}/v1/traces", timeout=timeout)
    span = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("work")
    span.end()
    result = found.export([span])  # type: ignore[list-item] # a span of the SDK
    found.shutdown()
    return result


def netloc(door: Any, protocol: str) -> tuple[str, int]:
    host, _, port = (door.bound.grpc if protocol == "grpc" else door.bound.http.removeprefix("https://")).rpartition(
        ":"
    )
    return host, int(port)


def serial(door: Any, protocol: str, context: ssl.SSLContext) -> str:
    """Who answers there, by the serial number of its certificate."""
    with socket.create_connection(netloc(door, protocol), 5) as raw, context.wrap_socket(raw) as secured:
        return str((secured.getpeercert() or {})["serialNumber"])


def trusting(authority: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.ca))
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    return context


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_exporters_send_over_tls_to_a_server_that_they_trust_and_to_no_other(
    door: Callable[..., Any], authority: Any, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    certificate, key = authority.certificate("server")
    opened = door(tls_cert=certificate, tls_key=key)
    assert opened.bound.http.startswith("https://")
    assert SpanExportResult.FAILURE is sent(opened, protocol, GIVING_UP_S)
    monkeypatch.setenv(f"{OTLP}CERTIFICATE", str(authority.ca))
    assert SpanExportResult.SUCCESS is sent(opened, protocol)
    assert opened.receiver.counts()[protocol, "accepted"] == 1


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_with_a_client_ca_only_exporters_with_a_certificate_of_it_get_in(
    door: Callable[..., Any], authority: Any, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    certificate, key = authority.certificate("server")
    opened = door(tls_cert=certificate, tls_key=key, tls_client_ca=str(authority.ca))
    monkeypatch.setenv(f"{OTLP}CERTIFICATE", str(authority.ca))
    assert SpanExportResult.FAILURE is sent(opened, protocol, GIVING_UP_S)
    certificate, key = authority.certificate("client")
    monkeypatch.setenv(f"{OTLP}CLIENT_CERTIFICATE", certificate)
    monkeypatch.setenv(f"{OTLP}CLIENT_KEY", key)
    assert SpanExportResult.SUCCESS is sent(opened, protocol)
    assert opened.receiver.counts()[protocol, "accepted"] == 1


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_nothing_older_than_tls_1_2_is_spoken(door: Callable[..., Any], authority: Any, protocol: str) -> None:
    certificate, key = authority.certificate("server")
    opened = door(tls_cert=certificate, tls_key=key)
    context = trusting(authority)
    context.set_ciphers("ALL:@SECLEVEL=0")  # or this side would refuse by itself
    context.minimum_version = ssl.TLSVersion.TLSv1_1
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert serial(opened, protocol, context)
    assert opened.entrance.tls.context().minimum_version is ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        serial(opened, protocol, context)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_renewed_certificate_is_served_without_a_restart_and_half_a_renewal_is_not(
    door: Callable[..., Any], authority: Any, tmp_path: Path, protocol: str
) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    for source, target in zip(authority.certificate("first"), (certificate, key), strict=True):
        shutil.copy(source, target)
    opened = door(tls_cert=str(certificate), tls_key=str(key))
    context = trusting(authority)
    first = serial(opened, protocol, context)
    renewed, new_key = authority.certificate("second")
    shutil.copy(renewed, certificate)
    between = serial(opened, protocol, context)
    shutil.copy(new_key, key)
    second = serial(opened, protocol, context)
    assert first == between
    assert first != second


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no key", "TLS needs both a certificate and its key"),
        ("other key", r"the key .*other\.key does not belong to the certificate .*server\.pem"),
        ("no file", r"nowhere\.pem: No such file or directory"),
        ("no certificate", r"notes and .*server\.key are no certificate and plain key in PEM form"),
        ("no ca", r"notes holds no CA certificate in PEM form"),
    ],
)
def test_files_that_do_not_fit_are_named_at_the_start(authority: Any, tmp_path: Path, fault: str, words: str) -> None:
    certificate, key = authority.certificate("server")
    (tmp_path / "notes").write_text("not PEM\n")
    files: dict[str, dict[str, Any]] = {
        "no key": {"tls_cert": certificate},
        "other key": {"tls_cert": certificate, "tls_key": authority.certificate("other")[1]},
        "no file": {"tls_cert": str(tmp_path / "nowhere.pem"), "tls_key": key},
        "no certificate": {"tls_cert": str(tmp_path / "notes"), "tls_key": key},
        "no ca": {"tls_cert": certificate, "tls_key": key, "tls_client_ca": str(tmp_path / "notes")},
    }
    with pytest.raises(BadCertificate, match=words):
        Entrance.of(ReceiverSettings(**files[fault]))
