"""The doctor: what it finds, what it sends, and what it shows back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import grpc
import pytest

from spanwise import doctor, semconv
from spanwise.command import main
from spanwise.doctor import choices, company, versions
from spanwise.doctor.finding import Finding
from spanwise.doctor.versions import judged
from spanwise.supported import SDKS

TOKEN = "Authorization=Bearer%20secret-1"  # noqa: S105 - of this test


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith(("OTEL_", "SPANWISE_"))]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter tries a wrong port again and again."""
    monkeypatch.setattr("spanwise.doctor.delivery._GRPC_LIMIT", 1.5)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A running ``spanwise serve``, by its own line of addresses."""
    database = tmp_path_factory.mktemp("doctor") / "spans.duckdb"
    ports = ("--otlp-grpc-port", "0", "--otlp-http-port", "0", "--port", "0")
    command = [sys.executable, "-m", "spanwise.command", "serve", "--db", str(database), *ports, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield json.loads(running.stdout.readline())
        running.terminate()


class Collector(BaseHTTPRequestHandler):
    """Takes everything, or answers what it was told to, and is nothing else."""

    status: ClassVar[int] = 200
    wanted: ClassVar[str | None] = None

    def do_POST(self) -> None:
        """Take it, or refuse it."""
        self.rfile.read(int(self.headers["content-length"]))
        known = self.wanted is None or self.headers["authorization"] == self.wanted
        self.send_response(self.status if known else 401)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """There are no pages here."""
        self.send_error(404)

    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


@contextmanager
def collector(**settings: Any) -> Iterator[str]:
    handler = type("Handler", (Collector,), settings)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def examined(monkeypatch: pytest.MonkeyPatch, environ: Mapping[str, str], api: str | None = None) -> list[Finding]:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return list(doctor.examine(os.environ, api=api))


def asked(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:  # noqa: S310 - the server that this module started
        return json.load(answer)


def failures(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings if finding.ok is False]


# --- the way there and back ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_span_is_sent_and_shown_back_from_the_server(
    server: dict[str, str], monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    endpoint = server["otlp_http"] if protocol != "grpc" else f"http://{server['otlp_grpc']}"
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_SERVICE_NAME": "shop",
    }
    *before, sent, shown = examined(monkeypatch, environ, server["api"])
    assert failures([*before, sent, shown]) == []
    assert (sent.ok, shown.ok) == (True, True)
    found = re.search(r"/api/traces/(\w{32}) after (\d+) ms: spanwise.doctor of service shop", shown.text)
    assert found is not None
    assert found[1] in sent.text
    (trace,) = asked(f"{server['api']}/api/traces/{found[1]}")["data"]
    assert [span["operationName"] for span in trace["spans"]] == [semconv.DOCTOR_SPAN]


def test_the_span_is_no_conversation(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    examined(monkeypatch, {"OTEL_EXPORTER_OTLP_ENDPOINT": server["otlp_http"]}, server["api"])
    assert asked(f"{server['api']}/api/v1/conversations")["conversations"] == []


def test_a_sampler_that_drops_everything_is_named_and_the_span_goes_anyway(
    server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": server["otlp_http"], "OTEL_TRACES_SAMPLER": "always_off"}
    findings = examined(monkeypatch, environ, server["api"])
    assert failures(findings) == ["OTEL_TRACES_SAMPLER=always_off: no trace that begins here is recorded"]
    assert findings[-1].ok


def test_the_command_says_the_same_as_lines_and_as_json(
    server: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server["otlp_http"])
    assert main(["doctor", "--api", server["api"]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert main(["doctor", "--api", server["api"], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True
    assert len([line for line in lines if not line.startswith("       -> ")]) == len(document["findings"])
    assert [line[:4] for line in lines[-3:]] == ["ok  "] * 3


def test_a_collector_that_is_no_spanwise_took_the_span_and_cannot_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as url:
        *_, sent, shown = examined(monkeypatch, {"OTEL_EXPORTER_OTLP_ENDPOINT": url})
        *_, named = examined(monkeypatch, {"OTEL_EXPORTER_OTLP_ENDPOINT": url}, url)
    assert (sent.ok, shown.ok, named.ok) == (True, None, False)
    assert "accepted but cannot be shown: no answer from http://127.0.0.1:4320" in shown.text
    assert "the answer is 404" in named.text
    assert "--api URL" in shown.remedy


def test_a_span_that_goes_elsewhere_than_to_the_server_is_missed_there(
    server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.doctor.proof._LIMIT", 0.1)
    with collector() as url:
        *_, shown = examined(monkeypatch, {"OTEL_EXPORTER_OTLP_ENDPOINT": url}, server["api"])
    assert shown.ok is False
    assert "does not have it after" in shown.text


def test_a_token_that_is_accepted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector(wanted="Bearer secret-1") as url:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_HEADERS": TOKEN}
        *_, taken, sent, _ = examined(monkeypatch, environ)
    assert (taken.ok, taken.text.endswith("and the token is accepted"), sent.ok) == (True, True, True)


@pytest.mark.parametrize(
    ("headers", "status", "said"),
    [
        ("", 401, "the answer is 401: no token was sent"),
        ("Authorization=Bearer%20wrong", 401, "the answer is 401: the token is not accepted"),
        (TOKEN, 403, "the answer is 403: the token is not accepted"),
        (TOKEN, 503, "the answer is 503"),
    ],
)
def test_a_refusal_is_named_with_its_status(
    monkeypatch: pytest.MonkeyPatch, headers: str, status: int, said: str
) -> None:
    with collector(wanted="Bearer secret-1", status=status) as url:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_HEADERS": headers}
        *_, taken = examined(monkeypatch, environ)
    assert (taken.ok, taken.text) == (False, f"{url}/v1/traces: not ok, spans would be lost: {said}")
    assert ("OTEL_EXPORTER_OTLP_HEADERS" in taken.remedy) == (status != 503)
    assert "secret-1" not in str(taken)


def test_a_token_that_grpc_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you")
        return request

    method = {"Export": grpc.unary_unary_rpc_method_handler(refuse)}
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    rpc = grpc.server(futures.ThreadPoolExecutor(1))
    rpc.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, method),))
    port = rpc.add_insecure_port("127.0.0.1:0")
    rpc.start()
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    *_, taken = examined(monkeypatch, environ)
    rpc.stop(None).wait()
    assert taken.ok is False
    assert "UNAUTHENTICATED" in taken.text
    assert "OTEL_EXPORTER_OTLP_HEADERS" in taken.remedy


@pytest.mark.parametrize(
    ("port", "protocol", "said"),
    [
        ("api", "http/protobuf", "4320 is its page and API"),
        ("otlp_grpc", "http/protobuf", "this looks like the gRPC port"),
        ("otlp_http", "grpc", "if this is an HTTP port"),
    ],
)
def test_a_wrong_port_is_told_with_the_right_one(
    server: dict[str, str], monkeypatch: pytest.MonkeyPatch, port: str, protocol: str, said: str
) -> None:
    url = server[port] if "://" in server[port] else f"http://{server[port]}"
    *_, taken = examined(monkeypatch, {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
    assert taken.ok is False
    assert said in taken.remedy


def test_tls_to_a_port_without_is_told(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": server["otlp_grpc"], "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    *_, taken = examined(monkeypatch, environ)
    assert "OTEL_EXPORTER_OTLP_INSECURE=true" in taken.remedy


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        ("127.0.0.1:4318", "does not begin with http:// or https://"),
        ("http://127.0.0.1:none", "is no address"),
        ("http:///base", "names no host"),
    ],
)
def test_what_is_no_address_is_named(monkeypatch: pytest.MonkeyPatch, endpoint: str, said: str) -> None:
    *_, taken = examined(monkeypatch, {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})
    assert (taken.ok, said in taken.text) == (False, True)


def test_what_keeps_spans_from_arriving_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true", "SPANWISE_RAISE": "1"}
    wrong = [text.split(":")[0].split("=")[0] for text in failures(examined(monkeypatch, environ))]
    assert wrong == ["OTEL_SDK_DISABLED", "SPANWISE_RAISE", "http"]
    assert main(["doctor"]) == 1
    assert "start one with: spanwise serve" in capsys.readouterr().out


def test_a_disabled_sdk_sends_no_span(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": server["otlp_http"], "OTEL_SDK_DISABLED": "true"}
    *_, last = examined(monkeypatch, environ, server["api"])
    assert last == Finding(None, "no test span was sent, since nothing is traced")


def test_spans_that_shall_stay_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, last = examined(monkeypatch, {"OTEL_TRACES_EXPORTER": "none"})
    assert (last.ok, last.text) == (False, "OTEL_TRACES_EXPORTER=none: spans are not sent anywhere")


# --- what is installed --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "version", "ok"),
    [
        ("mcp", "1.9.3", False),
        ("mcp", "1.9.4", True),
        ("mcp", "1.30.0", True),
        ("mcp", "2.3.0", True),
        ("mcp", "3.0.0a1", None),
        ("openai", "1.108.0", False),
        ("openai", "1.109.1", True),
        ("openai", "3.57.0", True),
        ("openai", "4.0", None),
        ("openai", "0+unknown", False),
        ("openai", None, None),
    ],
)
def test_versions_are_judged_by_what_was_checked(name: str, version: str | None, ok: bool | None) -> None:  # noqa: FBT001
    finding = judged(name, version, SDKS[name])
    assert ok == finding.ok
    assert (version or "not installed") in finding.text
    assert bool(finding.remedy) == (ok is not True and version is not None)


def test_an_environment_without_an_sdk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "SDKS", {"no-such-sdk": SDKS["mcp"]})
    said = [str(finding) for finding in versions.findings()]
    assert [line for line in said if "there is nothing to trace" in line] != []


def distribution(folder: Path, name: str, points: str = "") -> None:
    """A distribution as an installer leaves it."""
    info = folder / f"{name.replace('-', '_')}-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n")
    (info / "entry_points.txt").write_text(points)


def test_other_instrumentation_is_named_with_what_it_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = "[opentelemetry_instrumentor]\nopenai = nowhere:Nothing\n"
    for neighbour in company.NEIGHBOURS:
        distribution(tmp_path, neighbour.distributions[0], point)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = list(company.findings({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "redis"}))
    named = [one.title in finding.text for one, finding in zip(company.NEIGHBOURS, found, strict=True)]
    assert named == [True] * len(company.NEIGHBOURS)
    assert all("9.9" in finding.text and finding.ok is None for finding in found)
    assert all(one.stop in finding.remedy for one, finding in zip(company.NEIGHBOURS, found, strict=True))
    switch = "under opentelemetry-instrument: OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=redis,openai"
    assert [switch in finding.remedy for finding in found] == [True] * len(found)
    off = company.findings({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "openai"})
    assert [finding.text for finding in off if "opentelemetry-instrument" in finding.remedy] == []


# --- what the environment decides ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "content capture: off, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is not set"),
        (
            {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"},
            "content capture: on by OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
        ),
        (
            {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY"},
            "content capture: off, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=EVENT_ONLY does not",
        ),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"}, "this share of traces: 0.1"),
        ({"OTEL_TRACES_SAMPLER": "jaeger_remote"}, "not one of the SDK's own"),
        ({}, "sampling: every trace is recorded"),
        ({}, "hashes: a random key for each process"),
        ({}, "service name: none by OTEL_SERVICE_NAME"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "a=b, service.name=shop"}, "service name: shop"),
        ({"OTEL_PROPAGATORS": "b3,tracecontext"}, "OTEL_PROPAGATORS=b3,tracecontext: MCP servers in other processes"),
    ],
)
def test_a_setting_is_told_in_words(environ: dict[str, str], said: str) -> None:
    assert [finding.text for finding in choices.findings(environ) if said in finding.text] != []


def test_a_hash_key_is_known_by_its_id_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_HASH_KEY", "secret-2")
    (said,) = [finding.text for finding in choices.findings(os.environ) if finding.text.startswith("hashes")]
    assert "key id " in said
    assert "secret-2" not in said
