"""The API port behind tokens and TLS: health, metrics, page and commands; and what never leaves the process."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise import doctor
from spanwise_analyzer import report, serve, top

READ, SEND, BOTH = "reading-token", "sending-token", "any-token"
LIMIT_S = 60
PORTS = ("--port", "0", "--otlp-grpc-port", "0", "--otlp-http-port", "0")


def status(url: str, body: Any = None, **headers: str) -> tuple[int, Mapping[str, str], bytes]:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    request = urllib.request.Request(url, body, named)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:  # noqa: S310
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def bearer(token: str) -> str:
    return f"Bearer {token}"


@pytest.fixture(scope="module")
def guarded(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    tokens = f"read:{READ}, ingest:{SEND}, {BOTH}"
    return start(tmp_path_factory.mktemp("guarded") / "spans.duckdb", SPANWISE_TOKENS=tokens, SPANWISE_SQL="on")


@pytest.mark.parametrize(
    "path", ["/", "/metrics", "/openapi.json", "/static/page.js", "/api/v1/conversations", "/api/services", "/nowhere"]
)
def test_reading_needs_a_token_that_may_read(guarded: Any, path: str) -> None:
    url = guarded.addresses["api"] + path
    basic = f"Basic {base64.b64encode(f'me:{READ}'.encode()).decode()}"
    shown = [{}, {"Authorization": bearer(SEND)}, {"Cookie": f"token={READ}"}]
    refused = [status(url, **headers) for headers in shown]
    assert [401] * 3 == [each[0] for each in refused]
    assert "Spanwise" not in refused[0][2].decode()
    expected = 404 if path == "/nowhere" else 200
    assert [expected] * 3 == [status(url, Authorization=text)[0] for text in (bearer(READ), bearer(BOTH), basic)]
    assert status(f"{url}?token={READ}&access_token={READ}")[0] == 401


def test_a_refusal_is_a_problem_and_lets_browsers_ask_for_a_password(guarded: Any) -> None:
    code, headers, body = status(guarded.addresses["api"] + "/")
    assert (401, "application/problem+json") == (code, headers["content-type"])
    assert headers["www-authenticate"].startswith("Bearer, Basic realm=")
    assert json.loads(body)["detail"] == "a valid read token is needed: Authorization: Bearer TOKEN"


def test_health_needs_no_token_and_metrics_may_be_opened(
    guarded: Any, start: Callable[..., Any], tmp_path: Path
) -> None:
    assert [200, 200] == [guarded.get(path).status for path in ("/healthz", "/readyz")]
    opened = start(tmp_path / "spans.duckdb", SPANWISE_TOKENS=READ, SPANWISE_OPEN_METRICS="1")
    assert [200, 401] == [opened.get(path).status for path in ("/metrics", "/api/v1/conversations")]


def test_sql_needs_a_token_too(guarded: Any) -> None:
    url, body = guarded.addresses["api"] + "/api/v1/query", b'{"sql": "SELECT 1"}'
    codes = [
        status(url, body, Content_Type="application/json", Authorization=text)[0]
        for text in ("", bearer(SEND), bearer(READ))
    ]
    assert [401, 401, 200] == codes


def test_a_foreign_name_gets_nothing_even_of_health(guarded: Any, server: Any) -> None:
    for running in (guarded, server):
        assert status(running.addresses["api"] + "/healthz", Host="evil.example")[0] == 403


def test_commands_show_their_token_and_say_when_they_need_one(
    guarded: Any, conversation: Callable[..., Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = ExportTraceServiceRequest(resource_spans=[conversation("commanded", "c0")]).SerializeToString()
    url = guarded.addresses["otlp_http"] + "/v1/traces"
    assert status(url, body, Content_Type="application/x-protobuf", Authorization=bearer(SEND))[0] == 200
    ask = ["--json", "--url", guarded.addresses["api"]]
    assert top.main(ask) == 1
    assert "wants a token; set SPANWISE_TOKEN or name one with --token" in capsys.readouterr().err
    assert top.main([*ask, "--token", READ]) == 0
    monkeypatch.setenv("SPANWISE_TOKEN", READ)
    assert report.main([*ask, "commanded"]) == 0
    assert READ not in capsys.readouterr().out


def test_the_doctor_sends_with_one_token_and_reads_with_another(guarded: Any) -> None:
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": guarded.addresses["otlp_http"],
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{SEND}",
    }

    def told(**more: str) -> str:
        os.environ.update(environ)
        try:
            return "\n".join(map(str, doctor.examine({**environ, **more}, api=guarded.addresses["api"])))
        finally:
            for name in environ:
                del os.environ[name]

    assert "the token is accepted" in told()
    assert "set SPANWISE_TOKEN to a token that may read" in told()
    assert "read back from" in told(SPANWISE_TOKEN=READ)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0", "--require-token"], "listening on 0.0.0.0 without a token"),  # noqa: S104
        (["--host", "::", "--require-token"], "listening on :: without a token"),
        (["--token-file", "nowhere"], "the token file nowhere cannot be read"),
        (["--tls-cert", "nowhere.pem"], "TLS needs both a certificate and its key"),
        (["--tls-cert", "nowhere.pem", "--tls-key", "nowhere.key"], "nowhere.pem: No such file"),
        (["--redact", "value:phone"], "value:phone is no rule"),
    ],
)
def test_what_would_be_unsafe_or_cannot_be_meant_is_one_line_and_exit_code_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert serve.main(["--db", str(tmp_path / "spans.duckdb"), *PORTS, *arguments]) == 2
    said = capsys.readouterr()
    assert ("", 1) == (said.out, len(said.err.splitlines()))
    assert words in said.err
    assert list(tmp_path.iterdir()) == []


def test_the_whole_server_speaks_tls_and_the_commands_believe_whom_the_exporters_believe(
    start: Callable[..., Any],
    program: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    certificate, key = str(tmp_path / "server.pem"), str(tmp_path / "server.key")
    kind = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    made = [program("openssl"), "req", "-x509", *kind, "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made, "-out", certificate, "-keyout", key], check=True, capture_output=True)
    running = start(tmp_path / "spans.duckdb", SPANWISE_TLS_CERT=certificate, SPANWISE_TLS_KEY=key)
    assert ["https", "https"] == [running.addresses[port].partition(":")[0] for port in ("api", "otlp_http")]
    codes = []
    for trusted in ("", certificate):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", trusted)
        codes.append(top.main(["--token", "ignored", "--url", running.addresses["api"]]))
    assert [1, 1] == codes
    assert ["CERTIFICATE_VERIFY_FAILED" in line for line in capsys.readouterr().err.splitlines()] == [True, False]


LOUD = (
    "import logging, sys; logging.basicConfig(level=logging.DEBUG); "
    "from spanwise_analyzer.serve import main; sys.exit(main(sys.argv[1:]))"
)


def test_nothing_that_was_sent_is_in_the_output_of_the_process_or_in_its_metrics(
    conversation: Callable[..., Any], tmp_path: Path
) -> None:
    """Secrets in attributes, names, headers, paths, queries, broken bodies and wrong tokens; logging at its loudest."""
    secrets = [f"swordfish-{number:02}" for number in range(15)]
    found = iter(secrets)
    environ = {**os.environ, "SPANWISE_TOKENS": next(found), "SPANWISE_SQL": "1", "SPANWISE_REDACT": "value:email"}
    command = [sys.executable, "-c", LOUD, "--json", "--db", str(tmp_path / "spans.duckdb"), *PORTS]
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output, env=environ)
        assert process.stdout is not None
        addresses = json.loads(process.stdout.readline())
        api, traces = addresses["api"], addresses["otlp_http"] + "/v1/traces"
        good = {"Authorization": bearer(secrets[0])}

        built = conversation("c-1", "1")
        span = built.scope_spans[0].spans[0]
        span.attributes.add(key="prompt").value.string_value = next(found)
        span.name = f"invoke_agent {next(found)}"
        span.status.message = next(found)
        span.events.add(name=next(found))
        whole = ExportTraceServiceRequest(resource_spans=[built]).SerializeToString()
        binary, text = "application/x-protobuf", "application/json"
        answers = [
            status(traces, whole, Content_Type=binary, **good),
            status(traces, whole, Content_Type=binary, Authorization=bearer(next(found))),
            status(traces, next(found).encode(), Content_Type=binary, **good),
            status(traces, json.dumps({"resourceSpans": next(found)}).encode(), Content_Type=text, **good),
            status(traces, f"{{{next(found)}".encode(), Content_Type=text, **good),
            status(traces + next(found), b"", Content_Type=binary, **good),
            status(traces, b"x", Content_Type=binary, Content_Encoding=next(found), **good),
            status(f"{api}/api/v1/conversations/{next(found)}", **good),
            status(f"{api}/api/v1/conversations?service={next(found)}&sort={next(found)}", **good),
            status(f"{api}/api/v1/query", json.dumps({"sql": next(found)}).encode(), **good),
            status(f"{api}/api/v1/conversations/c-1", **good),
        ]
        assert [200, 401, 400, 400, 400, 404, 415, 404, 422, 422, 200] == [each[0] for each in answers]
        metrics = status(f"{api}/metrics", **good)
        process.terminate()
        rest, _ = process.communicate(timeout=LIMIT_S)
    said = (tmp_path / "output").read_bytes() + rest + metrics[2]
    assert b"INFO:uvicorn.error" in said  # the libraries' lines are in it, too
    assert b"spanwise_receiver_requests_total" in metrics[2]
    assert [] == re.findall(rb".*swordfish.*", said)
