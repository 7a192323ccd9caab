from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from spanwise_collector.interchange.parquet import parquet
from spanwise_collector.interchange.spantable import SCHEMA, span_tables
from spanwise_collector.store import Choice, LedgerRow, SegmentRow, Store, extract

N0 = 1_700_000_000_000_000_000
VALUES = {
    "text": "a",
    "empty": "",
    "none": None,
    "count": 3,
    "half": 0.5,
    "on": True,
    "raw": b"\xff",
    "list": [1, None, "a", b"\xff"],
    "map": {"b": [1.5]},
}
TEXTS = {
    "text": "a",
    "empty": "",
    "none": None,
    "count": "3",
    "half": "0.5",
    "on": "true",
    "raw": "/w==",
    "list": '[1, null, "a", "/w=="]',
    "map": '{"b": [1.5]}',
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "spans.parquet"


def write(store: Store, file: Path) -> None:
    file.write_bytes(b"".join(parquet(span_tables(store.reader().extract(Choice())), SCHEMA.empty_table())))


def asked(file: Path, columns: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as engine:
        return engine.execute(f"SELECT {columns} FROM read_parquet(?)", [str(file)]).fetchall()  # noqa: S608


def test_values_read_back_with_two_readers(store: Store, otlp: Any, file: Path) -> None:
    attributes = otlp.span(attributes=VALUES).attributes
    span = otlp.span(
        "chat small",
        span="00000000000000ff",
        attributes={**VALUES, "gen_ai.request.model": "small", "gen_ai.usage.input_tokens": 5},
        events=[{"time_unix_nano": N0, "name": "e", "attributes": attributes}],
        links=[{"trace_id": b"\1" * 16, "span_id": b"\2" * 8}],
    )
    store.submit(otlp.body(span, resource={"service.name": "svc", "n": [1]}, scope="lib")).result(10)
    write(store, file)
    (row,) = pq.read_table(file).to_pylist()
    assert ("00000000000000ff", "svc", "lib", "small", 5) == tuple(
        row[name] for name in ("span_id", "service", "scope_name", "model", "input_tokens")
    )
    assert {**TEXTS, "gen_ai.request.model": "small", "gen_ai.usage.input_tokens": "5"} == dict(row["attributes"])
    assert [("e", TEXTS)] == [(event["name"], dict(event["attributes"])) for event in row["events"]]
    assert ["01" * 16] == [link["trace_id"] for link in row["links"]]
    columns = "start_ns, end_ns, attributes['list'], resource['n'], events[1].time_ns, epoch_ns(start_time)"
    assert [(N0, N0 + 10**9, TEXTS["list"], "[1]", N0, N0)] == asked(file, columns)


def test_of_a_repeated_key_the_last_value_counts(store: Store, otlp: Any, file: Path) -> None:
    span = otlp.span(attributes={"a": 1, "b": 2})
    span.attributes.extend(otlp.span(attributes={"a": 3}).attributes)
    store.submit(otlp.body(span)).result(10)
    write(store, file)
    assert [({"a": "3", "b": "2"},)] == asked(file, "attributes")


def test_times_that_no_timestamp_can_hold_stay_as_numbers(store: Store, otlp: Any, file: Path) -> None:
    store.submit(otlp.body(otlp.span(start_time_unix_nano=2**64 - 1))).result(10)
    write(store, file)
    assert [(2**64 - 1, None)] == asked(file, "start_ns, start_time")


def test_every_span_is_a_row_whatever_the_row_groups(
    store: Store, otlp: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "PART", 10)
    traces = [f"{number:032x}" for number in range(1, 30)]
    sent = [otlp.span(attributes={"n": number}, trace=traces[number % 29]) for number in range(200)]
    for _ in range(2):
        store.submit(otlp.body(*sent)).result(10)
    write(store, file)
    assert pq.ParquetFile(file).num_row_groups > 3
    counts = "count(*), count(DISTINCT span_id), sum(attributes['n']::INT)"
    assert [(200, 200, sum(range(200)))] == asked(file, counts)


def test_an_empty_store_is_a_table_without_rows(store: Store, file: Path) -> None:
    write(store, file)
    assert (SCHEMA.names, 0) == (pq.read_schema(file).names, pq.read_metadata(file).num_rows)


def test_accounts_and_segments_read_back(store: Store, file: Path) -> None:
    segment = SegmentRow(1, "t", "s", "model.call", N0, N0 + 5, model="small")
    rows = [
        LedgerRow(f"c-{n}", 1, "svc", None, N0 + n, N0 + 9, 5, 1, "ok", "model.call", 5, None, segments=[segment])
        for n in (2, 1)
    ]
    store.save_ledgers(rows).result(10)
    for what, columns, expected in (
        ("segments", "conversation_id, stage, ns, model, epoch_ns(start_time)", ("model.call", 5, "small", N0)),
        ("conversations", "conversation_id, service, active_ns, epoch_ns(ended_at)", ("svc", 5, N0 + 9)),
    ):
        tables = store.reader().accounts(what)  # type: ignore[arg-type]  # the literals above
        file.write_bytes(b"".join(parquet(tables, next(tables))))
        assert [("c-1", *expected), ("c-2", *expected)] == asked(file, columns)
    assert sum(len(table) for table in store.reader().accounts("segments", ["c-2"])) == 1
