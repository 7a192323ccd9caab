"""Traces that nobody here wrote, with the figures that their sources or a script over unions of intervals give."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_analyzer.ledger import Ledger
from spanwise_collector.dialect import canonical
from spanwise_collector.span import Kind, Span

TRACES = Path(os.environ.get("SPANWISE_TRACES", "no traces"))

pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason="SPANWISE_TRACES names no folder of public traces")


def flat(name: str) -> Ledger:
    """A list of spans as their SDK dumped them, one trace."""
    found = json.loads((TRACES / f"strands-agents__evals__{name}.json").read_text())
    rows = found if isinstance(found, list) else found["spans"]
    return account("", [_flat(row) for row in rows])


def table(name: str, trace: str) -> Ledger:
    """One trace of an export of a ClickHouse table."""
    rows = json.loads((TRACES / f"agntcy__telemetry-hub__{name}.clickhouse.json").read_text())
    return account("", [_row(row) for row in rows if row["TraceId"].startswith(trace)])


def _flat(row: dict[str, Any]) -> Span:
    times = [
        next(row[name] for name in (edge, f"{edge}_unix_nano") if name in row) for edge in ("start_time", "end_time")
    ]
    start, end = (value if isinstance(value, int) else _ns(value) for value in times)
    parent = row.get("parent_span_id") or row.get("parent_id") or ""
    attributes = canonical(row["attributes"], row["name"], "")
    ids = row.get("context", row)
    return Span(ids["trace_id"], ids["span_id"], parent, row["name"], start, end, attributes=attributes)


def _row(row: dict[str, Any]) -> Span:
    start = row["Timestamp"] * 1_000_000 if isinstance(row["Timestamp"], int) else _ns(row["Timestamp"])
    attributes = canonical(row["SpanAttributes"], row["SpanName"], row["ScopeName"])
    kind = Kind[row["SpanKind"].upper()]
    ids = row["TraceId"], row["SpanId"], row["ParentSpanId"], row["SpanName"]
    return Span(*ids, start, start + row["Duration"], kind, attributes=attributes)


def _ns(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1_000_000) * 1000


def seconds(ledger: Ledger) -> Iterator[float]:
    """Active, model and tool time."""
    yield round(ledger.active_ns / 1e9, 3)
    yield round(ledger.stage_ns(Stage.MODEL_CALL, Stage.MODEL_FIRST_TOKEN, Stage.MODEL_GENERATE) / 1e9, 3)
    yield round(ledger.stage_ns(Stage.TOOL_LOCAL) / 1e9, 3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("adk_live_spans", [3.446, 2.108, 0.001]),
        ("openai_agents_genai_live_spans", [18.631, 18.619, 0.003]),
        ("openai_agents_openinference_adot_spans", [5.122, 5.1, 0.001]),
        ("openai_agents_otel_live_spans", [6.121, 6.095, 0.009]),
        ("otel_genai_convention_spans", [6.0, 2.0, 2.0]),
        ("pydantic_ai_live_spans", [4.519, 4.513, 0.0]),
        ("smolagents_live_spans", [4.071, 3.27, 0.791]),
    ],
)
def test_model_and_tool_time_of_one_trace(name: str, expected: list[float]) -> None:
    assert list(seconds(flat(name))) == expected


@pytest.mark.parametrize(
    ("name", "trace", "expected"),
    [("otel_traces", "c9a1484a", [16.284, 11.596, 4.593]), ("gls_linear", "6d6efbad", [27.403, 18.514, 8.374])],
)
def test_a_task_beside_its_model_call_does_not_hide_it(name: str, trace: str, expected: list[float]) -> None:
    ledger = table(name, trace)
    assert list(seconds(ledger)) == expected
    assert "shadowed" in {problem.code for problem in ledger.problems}


def test_a_total_repeated_on_the_root_is_counted_once() -> None:
    bill = flat("pydantic_ai_live_spans").tokens
    assert (bill.input, bill.output) == (1251, 78)
