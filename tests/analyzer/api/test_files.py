"""``spanwise export`` and ``spanwise import``, from the terminal, with a running server and with a file."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow.parquet as pq
import pytest

from spanwise import command
from spanwise_collector.store import Choice, Store

PAGE = Path(__file__).parents[3] / "docs" / "export-and-import.md"
FENCE = re.compile(r"```(sh|sql)\n(.*?)```\n", re.DOTALL)


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Run: TypeAlias = Callable[..., Said]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``spanwise`` with these arguments; ``stdin`` is a file to read from."""

    def main(*arguments: str | Path, stdin: Path | None = None) -> Said:
        capsys.readouterr()
        with (stdin or Path(os.devnull)).open(encoding="utf-8") as file:
            monkeypatch.setattr("sys.stdin", file)
            try:
                code = command.main([str(each) for each in arguments])
            except SystemExit as usage:
                code = int(str(usage.code))
        return Said(code, *capsys.readouterr())

    return main


@pytest.fixture(scope="module")
def shop(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return start(tmp_path_factory.mktemp("files") / "spans.duckdb")


@pytest.fixture
def filled(shop: Any, conversation: Callable[..., Any]) -> Any:
    for number in (1, 2, 3):
        shop.send(conversation(f"c-{number}", f"{number}", at_ms=60_000.0 * number, service=f"shop-{number}"))
    return shop


def test_a_server_and_its_file_export_the_same(filled: Any, run: Run, tmp_path: Path) -> None:
    over_http = filled.get("/api/v1/export?format=otlp-proto")
    assert (over_http.status, over_http.media_type) == (200, "application/octet-stream")
    file, copy = tmp_path / "spans.otlp", tmp_path / "copy.duckdb"
    found = run("export", "--url", filled.addresses["api"], "--format", "otlp-proto", "--output", file)
    assert (found.returncode, found.stderr) == (0, "")
    assert over_http.body == file.read_bytes()
    assert run("import", "--db", copy, file).stdout == f"{file}: 9 spans imported (OTLP protobuf)\n"
    again = run("export", "--db", copy, "--format", "otlp-proto", "--output", tmp_path / "again.otlp", "--json")
    assert json.loads(again.stdout)["files"] == [{"file": f"{tmp_path}/again.otlp", "bytes": len(over_http.body)}]
    assert over_http.body == (tmp_path / "again.otlp").read_bytes()


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("id=c-1&id=c-2", ["c-1", "c-2"]),
        ("service=shop-3", ["--service", "shop-3"]),
        ("since=2023-11-14T22:15:00Z", ["--since", "2023-11-14T22:15:00Z"]),
        ("until=2023-11-14T22:15:00Z", ["--until", "2023-11-14T22:15:00Z"]),
    ],
)
def test_choices_mean_the_same_to_both(filled: Any, run: Run, query: str, arguments: list[str]) -> None:
    found = run("export", "--url", filled.addresses["api"], "--output", "-", *arguments)
    assert filled.get(f"/api/v1/export?{query}").body.decode() == found.stdout
    traces = {span["traceId"] for span in _spans(found.stdout)}
    assert 0 < len(traces) < 3


def _spans(lines: str) -> list[dict[str, Any]]:
    resources = [each for line in lines.splitlines() for each in json.loads(line)["resourceSpans"]]
    return [span for each in resources for scope in each["scopeSpans"] for span in scope["spans"]]


def test_what_is_unknown_or_wrong_is_said(filled: Any, run: Run, tmp_path: Path) -> None:
    assert [404, 422, 422] == [
        filled.get(f"/api/v1/export?{query}").status for query in ("id=nobody", "format=xml", "since=soon")
    ]
    file = tmp_path / "none.jsonl"
    found = run("export", "nobody", "--url", filled.addresses["api"], "--output", file)
    assert (found.returncode, "no conversation 'nobody'" in found.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
    assert run("export", "--output", "-", "--json").returncode == 2


def test_parquet_is_three_tables_that_agree(filled: Any, run: Run, tmp_path: Path) -> None:
    found = run("export", "--url", filled.addresses["api"], "--format", "parquet", "--output", tmp_path / "tables")
    assert (found.returncode, found.stderr) == (0, "")
    rows = {file.stem: pq.read_table(file).to_pylist() for file in (tmp_path / "tables").iterdir()}
    assert {"spans": 9, "conversations": 3} == {name: len(rows[name]) for name in ("spans", "conversations")}
    for row in rows["conversations"]:
        own = [each["ns"] for each in rows["segments"] if each["conversation_id"] == row["conversation_id"]]
        assert sum(own) == row["active_ns"] == 1_000_000_000


def test_an_import_goes_on_after_a_bad_line_and_exits_with_one(filled: Any, run: Run, tmp_path: Path) -> None:
    lines = filled.get("/api/v1/export").body
    file = tmp_path / "spans.jsonl"
    file.write_bytes(b"nonsense\n" + lines)
    found = run("import", "--dry-run", "--json", file)
    said = json.loads(found.stdout)
    assert (found.returncode, said["spans"], said["left_out"]) == (1, 9, 1)
    assert said["files"][0]["problems"][0]["place"] == "line 1"
    found = run("import", "--url", filled.addresses["otlp_http"], file)
    assert (found.returncode, f"{file}, line 1: left out" in found.stderr) == (1, True)
    assert filled.get("/api/v1/export").body == lines


def test_the_api_port_and_a_port_of_nobody_are_told_apart(filled: Any, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(filled.get("/api/v1/export").body)
    for url, words in ((filled.addresses["api"], "is it the API?"), ("http://127.0.0.1:9", "spanwise serve")):
        found = run("import", "--url", url, file)
        assert (found.returncode, words in found.stderr, len(found.stderr.splitlines())) == (1, True, 1)


def test_standard_input_goes_into_a_file(filled: Any, run: Run, tmp_path: Path) -> None:
    lines = tmp_path / "spans.jsonl"
    lines.write_bytes(filled.get("/api/v1/export?id=c-1").body)
    found = run("import", "-", "--db", tmp_path / "copy.duckdb", stdin=lines)
    assert (found.returncode, found.stdout) == (0, "-: 3 spans imported (OTLP JSON)\n")
    store = Store.open(tmp_path / "copy.duckdb")
    assert 3 == sum(len(table) for table in store.reader().extract(Choice()).tables)
    store.close()


def shown(kind: str) -> str:
    return "".join(text for found, text in FENCE.findall(PAGE.read_text(encoding="utf-8")) if found == kind)


def test_the_page_can_be_followed(filled: Any, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANWISE_URL", filled.addresses["api"])
    run("export", "--output", "seed.jsonl")
    run("import", "--db", "spanwise.duckdb", "seed.jsonl")
    (tmp_path / "old-traces").mkdir()
    shutil.copy("seed.jsonl", "old-traces")
    for line in shown("sh").splitlines():
        words, _, stdin = line.replace("http://127.0.0.1:4318", filled.addresses["otlp_http"]).partition(" < ")
        found = run(*shlex.split(words)[1:], stdin=Path(stdin) if stdin else None)
        assert (found.returncode, found.stderr) == (0, ""), line
    with duckdb.connect() as engine:
        (row,) = engine.execute(shown("sql")).fetchall()
    assert row == ("small", 3, None, 600.0)
