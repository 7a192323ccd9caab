"""What the server still says of conversations whose spans it has deleted, and where it sends them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT_S = 30
MOMENT = "0.00002"  # days: about two seconds


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_conversation_outlives_its_spans_by_its_answer_and_its_hours(
    start: Callable[..., Any], conversation: Callable[..., Any], tmp_path: Path
) -> None:
    running = start(tmp_path / "spans.duckdb", SPANWISE_RETENTION_DAYS=MOMENT)
    running.send(conversation("c-1", "a1"), conversation("c-2", "a2", slow=2.0))
    before = running.get("/api/v1/conversations/c-1").json
    whole = running.get("/api/v1/attribution?group_by=stage,model").json
    until(lambda: running.get("/api/v1/attribution").json["basis"] == "estimated")
    until(lambda: running.get(f"/api/traces/{before['traces'][0]}").status == 404)
    after = running.get("/api/v1/conversations/c-1").json
    assert "raw-spans-gone" in [notice["code"] for notice in after["notices"]]
    assert before == {**after, "notices": before["notices"]}
    assert running.get("/api/v1/conversations/c-1/timeline").status == 410
    assert running.get("/conversations/c-1").status == 200
    hours = running.get("/api/v1/attribution?group_by=stage,model").json
    exact = ("stage", "model", "ms", "share", "conversations", "segments")
    assert [{name: row[name] for name in exact} for row in whole["groups"]] == [
        {name: row[name] for name in exact} for row in hours["groups"]
    ]
    assert (whole["basis"], whole["notices"], hours["active_ms"]) == ("exact", [], whole["active_ms"])
    assert [notice["code"] for notice in hours["notices"]] == ["estimated-from-hours"]
    left_out = running.get("/api/v1/attribution?status=ok").json
    assert (left_out["groups"], left_out["notices"][0]["code"]) == ([], "hours-left-out")

    running.send(conversation("c-1", "a9", at_ms=5000.0))  # late: it must not make a shorter answer
    assert after == running.get("/api/v1/conversations/c-1").json
    listed = running.get("/api/v1/conversations").json["conversations"]
    assert {"c-1": 1000.0, "c-2": 2000.0} == {row["conversation_id"]: row["active_ms"] for row in listed}
    assert running.end() == 0


def test_everything_stored_goes_to_the_targets_also_what_waits_at_the_end(
    start: Callable[..., Any], conversation: Callable[..., Any], tmp_path: Path
) -> None:
    last = start(tmp_path / "last.duckdb")
    targets = f"{last.addresses['otlp_http']},grpc://{last.addresses['otlp_grpc']} http://127.0.0.1:1"
    first = start(tmp_path / "first.duckdb", SPANWISE_FORWARD=targets, SPANWISE_STOP_GRACE_S="2")
    for number in range(10):
        assert first.send(conversation(f"c-{number}", f"b{number}")).status == 200
    name = last.addresses["otlp_grpc"]
    until(lambda: f'target="{name}"}} 30.0' in first.get("/metrics").body.decode())
    metrics = first.get("/metrics").body.decode()
    assert 'spanwise_forward_spans_total{outcome="dropped",target="127.0.0.1:1"} 0.0' in metrics
    assert 'spanwise_forward_queue_bytes{target="127.0.0.1:1"} 0.0' not in metrics
    first.send(*(conversation(f"d-{number}", f"c{number}") for number in range(50)))
    assert first.end() == 0
    assert len(last.get("/api/v1/conversations?limit=1000").json["conversations"]) == 60


def test_headers_that_cannot_be_meant_are_refused_in_one_line_without_their_value(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spanwise_analyzer.serve", "--db", str(tmp_path / "x.duckdb")]
    environ = {"SPANWISE_FORWARD": "http://x", "SPANWISE_FORWARD_HEADERS": "hidden"}
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S, env=environ)
    assert (found.returncode, len(found.stderr.splitlines())) == (2, 1)
    assert "SPANWISE_FORWARD_HEADERS: header 1" in found.stderr
    assert "hidden" not in found.stderr


def test_a_server_told_to_forward_to_itself_does_not_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spanwise_analyzer.serve", "--db", str(tmp_path / "x.duckdb"), "--port", "0"]
    ports = ["--otlp-grpc-port", "0", "--otlp-http-port", "0"]
    with subprocess.Popen([*command, *ports, "--json"], stdout=subprocess.PIPE, text=True) as free:
        assert free.stdout is not None
        port = json.loads(free.stdout.readline())["otlp_http"].rsplit(":", 1)[1]
        free.terminate()
    chosen = ["--otlp-grpc-port", "0", "--otlp-http-port", port, "--forward", f"http://localhost:{port}"]
    found = subprocess.run([*command, *chosen], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert (found.returncode, len(found.stderr.splitlines())) == (1, 1)
    assert "is this server itself" in found.stderr
