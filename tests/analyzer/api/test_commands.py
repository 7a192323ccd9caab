"""``spanwise report`` and ``spanwise top`` say in the terminal what the API says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LIMIT_S = 60


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"spanwise_analyzer.{module}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


@pytest.fixture(scope="module")
def shop(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return start(tmp_path_factory.mktemp("commands") / "spans.duckdb")


@pytest.fixture
def filled(shop: Any, conversation: Callable[..., Any]) -> Any:
    for number in (1, 2, 3):
        shop.send(conversation(f"c-{number}", f"{number}", at_ms=60_000.0 * number, slow=4 - number))
    return shop


def test_report_names_stages_shares_and_the_long_pole(filled: Any) -> None:
    found = run("report", "c-1", "--url", filled.addresses["api"])
    assert (found.returncode, found.stderr) == (0, "")
    for words in (
        "c-1",
        "3.00 s active in 1 turn",
        "model.call",
        "60.0 %",
        "mcp.opaque",
        "25.0 %",
        "define-correct-first",
    ):
        assert words in found.stdout


def test_report_as_json_is_the_answer_of_the_api(filled: Any) -> None:
    found = run("report", "c-2", "--json", "--url", filled.addresses["api"])
    assert filled.get("/api/v1/conversations/c-2").json == json.loads(found.stdout)


def test_report_without_an_id_takes_the_newest_conversation(filled: Any) -> None:
    found = run("report", "--json", "--url", filled.addresses["api"])
    assert json.loads(found.stdout)["conversation_id"] == "c-3"


def test_report_of_an_unknown_conversation_is_one_line_and_exit_code_one(filled: Any) -> None:
    found = run("report", "nobody", "--url", filled.addresses["api"])
    assert (found.returncode, found.stdout, len(found.stderr.splitlines())) == (1, "", 1)


@pytest.mark.parametrize("command", [["top"], ["report"], ["report", "c-1"]])
@pytest.mark.parametrize(
    ("port", "words"),
    [
        ("otlp_grpc", "does not speak HTTP; is it the gRPC port? the API is on 4320"),
        ("otlp_http", "is not a Spanwise API"),
    ],
)
def test_a_port_that_is_not_the_api_is_said_in_one_line(filled: Any, command: list[str], port: str, words: str) -> None:
    found = run(*command, "--url", filled.addresses[port])
    assert (found.returncode, found.stdout, len(found.stderr.splitlines())) == (1, "", 1)
    assert words in found.stderr


def test_an_address_needs_no_scheme(filled: Any) -> None:
    found = run("report", "c-2", "--json", "--url", filled.addresses["api"].removeprefix("http://"))
    assert json.loads(found.stdout)["conversation_id"] == "c-2"


def test_the_start_of_an_id_is_enough_where_only_one_begins_so(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("unlike-others", "a11"))
    found = run("report", "unlike", "--json", "--url", server.addresses["api"])
    assert json.loads(found.stdout)["conversation_id"] == "unlike-others"


def test_the_start_of_several_ids_lists_them(filled: Any) -> None:
    found = run("report", "c-", "--url", filled.addresses["api"])
    assert (found.returncode, found.stdout, len(found.stderr.splitlines())) == (1, "", 1)
    assert "'c-' is the start of 3 conversations: c-3, c-2, c-1" in found.stderr


def test_top_ranks_by_active_time(filled: Any) -> None:
    found = run("top", "--json", "--limit", "2", "--url", filled.addresses["api"])
    assert [row["conversation_id"] for row in json.loads(found.stdout)["conversations"]] == ["c-1", "c-2"]
    assert "c-1" in run("top", "--url", filled.addresses["api"]).stdout


def test_top_by_saving_puts_the_largest_saving_first(filled: Any) -> None:
    rows = json.loads(run("top", "--json", "--by", "saving", "--url", filled.addresses["api"]).stdout)["conversations"]
    savings = [row["saving_ms"]["expected"] if row["saving_ms"] else 0.0 for row in rows]
    assert len(rows) == 3
    assert sorted(savings, reverse=True) == savings


def test_a_file_is_read_when_no_server_has_it_open(
    start: Callable[..., Any], conversation: Callable[..., Any], tmp_path: Path
) -> None:
    running = start(tmp_path / "spans.duckdb")
    running.send(conversation("filed", "f11e"))
    expected = running.get("/api/v1/conversations/filed").json
    assert running.end() == 0
    found = run("report", "filed", "--json", "--db", str(tmp_path / "spans.duckdb"))
    assert expected == json.loads(found.stdout)
