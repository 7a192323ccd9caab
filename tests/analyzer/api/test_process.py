"""The server as a process: it starts, refuses, drains, and answers many at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

LIMIT_S = 60


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"spanwise_analyzer.{module}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def serve(db: Path) -> subprocess.CompletedProcess[str]:
    return run("serve", "--db", str(db), "--port", "0", "--otlp-grpc-port", "0", "--otlp-http-port", "0")


def test_a_second_server_on_the_same_file_says_so_in_one_line_and_the_first_keeps_working(
    start: Callable[..., Any], conversation: Callable[..., Any], tmp_path: Path
) -> None:
    first = start(tmp_path / "spans.duckdb")
    second = serve(tmp_path / "spans.duckdb")
    assert (second.returncode, second.stdout, len(second.stderr.splitlines())) == (1, "", 1)
    assert "in use by another process" in second.stderr
    assert first.send(conversation("kept", "1")).status == 200
    assert first.get("/api/v1/conversations/kept").status == 200


def test_a_port_that_is_taken_is_named_in_one_line(server: Any, tmp_path: Path) -> None:
    port = server.addresses["api"].rsplit(":", 1)[1]
    found = run("serve", "--db", str(tmp_path / "spans.duckdb"), "--port", port)
    assert (found.returncode, len(found.stderr.splitlines())) == (1, 1)
    assert port in found.stderr
    assert "is another `spanwise serve` running? choose another port with --port" in found.stderr
    assert not (tmp_path / "spans.duckdb").exists()


def test_a_file_that_is_no_database_is_said_in_one_line_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but somebody's notes\n" * 100)
    found = serve(tmp_path / "notes.txt")
    assert (found.returncode, len(found.stderr.splitlines())) == (1, 1)
    assert (tmp_path / "notes.txt").read_text().startswith("not a database")


def test_sigterm_ends_with_zero_and_everything_acknowledged_is_there_again(
    start: Callable[..., Any], conversation: Callable[..., Any], tmp_path: Path
) -> None:
    first = start(tmp_path / "spans.duckdb")
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda number: first.send(conversation(f"c-{number}", f"{number + 1:x}")), range(40)))
    assert {200} == {answer.status for answer in sent}
    assert first.end() == 0
    second = start(tmp_path / "spans.duckdb")
    found = second.get("/api/v1/conversations?limit=1000").json["conversations"]
    assert {f"c-{number}" for number in range(40)} == {row["conversation_id"] for row in found}


def test_eight_threads_read_the_right_rows_while_spans_come_in(
    start: Callable[..., Any], conversation: Callable[..., Any], tmp_path: Path
) -> None:
    running = start(tmp_path / "spans.duckdb")
    for number in range(8):
        running.send(conversation(f"c-{number}", f"{number + 1:x}", slow=number + 1))

    def read(number: int) -> set[tuple[str, float]]:
        answers = [running.get(f"/api/v1/conversations/c-{number}").json for _ in range(50)]
        return {(said["conversation_id"], said["active_ms"]) for said in answers}

    with ThreadPoolExecutor(9) as pool:
        writing = pool.submit(lambda: [running.send(conversation(f"w-{n}", f"{n:x}ff")).status for n in range(60)])
        seen = list(pool.map(read, range(8)))
    assert [{(f"c-{number}", 1000.0 * (number + 1))} for number in range(8)] == seen
    assert writing.result() == [200] * 60
    assert len(running.get("/api/v1/conversations?limit=1000").json["conversations"]) == 68


def test_health_and_metrics_answer(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("measured", "3ea5"))
    assert [server.get(path).status for path in ("/healthz", "/readyz")] == [200, 200]
    plain = server.get("/metrics")
    assert plain.media_type == "text/plain"
    assert b'spanwise_stage_seconds_sum{service="shop",stage="model.call"}' in plain.body
    assert b"_total" in plain.body
    values = dict(line.rsplit(b" ", 1) for line in plain.body.splitlines() if not line.startswith(b"#"))
    commits = float(values[b"spanwise_commit_seconds_count"])
    assert commits == float(values[b'spanwise_commit_seconds_bucket{le="+Inf"}']) > 0
    assert float(values[b"spanwise_queue_capacity_spans"]) == 200_000
    assert float(values[b'spanwise_database_bytes{file="database"}']) > 0
    assert float(values[b"process_resident_memory_bytes"]) > 0
    open_metrics = server.get("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert open_metrics.media_type == "application/openmetrics-text"
    assert open_metrics.body.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("serve", ["--port", "many"]),
        ("serve", ["--port", "65536"]),
        ("report", ["--url", "http://127.0.0.1:1", "--db", "x"]),
        ("top", ["--limit", "0"]),
        ("top", ["--since", "yesterday"]),
    ],
)
def test_a_usage_error_is_exit_code_two(module: str, arguments: list[str]) -> None:
    assert run(module, *arguments).returncode == 2


@pytest.mark.parametrize("module", ["report", "top"])
def test_a_server_that_does_not_answer_is_said_in_one_line(module: str) -> None:
    found = run(module, "--url", "http://127.0.0.1:1")
    assert (found.returncode, found.stdout, len(found.stderr.splitlines())) == (1, "", 1)
    assert "http://127.0.0.1:1" in found.stderr


@pytest.mark.parametrize("module", ["report", "top"])
def test_a_file_that_a_server_has_open_is_said_in_one_line(
    start: Callable[..., Any], tmp_path: Path, module: str
) -> None:
    start(tmp_path / "spans.duckdb")
    found = run(module, "--db", str(tmp_path / "spans.duckdb"))
    assert (found.returncode, found.stdout, len(found.stderr.splitlines())) == (1, "", 1)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert run("top", "--db", str(tmp_path / "none.duckdb")).returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_health_says_what_a_damaged_write_ahead_file_lost(
    start: Callable[..., Any], tmp_path: Path, conversation: Callable[..., Any]
) -> None:
    """D-43."""
    database, log = tmp_path / "spans.duckdb", tmp_path / "spans.duckdb.wal"
    before = start(database)
    for number in range(9):
        before.send(conversation(f"c{number}", f"da{number}"))
    before.process.kill()
    before.process.wait()
    found = bytearray(log.read_bytes())
    found[len(found) // 2 : len(found) // 2 + 64] = b"x" * 64
    log.write_bytes(found)
    after = start(database)
    said = after.get("/healthz").json["checks"]["damage"]
    assert f"kept as {next(tmp_path.glob('*.damaged-*')).name}" in said
    assert "spans in them:" in said
    assert after.get("/readyz").status == 200
