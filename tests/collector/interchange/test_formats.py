from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.collector.interchange.spellings import (
    ATTRIBUTES,
    CHILD,
    CHILD_NS,
    LINES,
    ROOT,
    SPELLINGS,
    START_NS,
    TRACE,
)

from spanwise import semconv
from spanwise_collector.interchange.destination import Nowhere
from spanwise_collector.interchange.formats.source import SOURCE_SPAN_ID
from spanwise_collector.interchange.importing import imported
from spanwise_collector.span import Kind, Status
from spanwise_collector.store import Store

_DIALECT = {
    "id": "o-1",
    "traceId": TRACE,
    "startTime": "2025-10-09T08:53:20.250Z",
    "endTime": "2025-10-09T08:53:21.250Z",
    "type": "GENERATION",
    "name": "ChatOpenAI",
    "model": "m-1",
    "level": "DEFAULT",
    "usageDetails": {"input": 12, "output": 3},
    "completionStartTime": "2025-10-09T08:53:20.750Z",
    "metadata": json.dumps({"thread": "t", "attributes": {"x": 1}, "resourceAttributes": {"service.name": "shop"}}),
}
_RUN = {
    "run_id": "r",
    "scenario": "tool_calling",
    "variant": "mcp-cold",
    "model": "m-1",
    "started_at": "2025-10-09T08:53:20Z",
    "total_ms": 2000,
    "success": True,
    "usage": {"input": 12, "output": 3, "cached": 0},
    "timings_ms": {"mcp_discovery": 300, "tool_selection": 700.5, "tool_execution": 99.5, "final_generation": 900},
    "metadata": {"fixture": "f-1", "round": 4, "position": 2, "seed": 7},
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_format_tells_the_same_trace(spelling: str, store: Store, read_in: Any) -> None:
    report = read_in(store, json.dumps(SPELLINGS[spelling]).encode())
    spans = {span.name: span for span in store.reader().trace(TRACE)}
    root, child = spans["agent"], spans["chat m-1"]
    assert (report.shown, len(spans)) == ([], 2)
    assert (ROOT, CHILD, ROOT) == (root.span_id, child.span_id, child.parent_id)
    assert (START_NS, 2 * 10**9) == (root.start_ns, root.end_ns - root.start_ns)
    assert (CHILD_NS, 10**9) == (child.start_ns, child.end_ns - child.start_ns)
    assert (Kind.CLIENT, Status.ERROR, "shop") == (child.kind, child.status, child.service)
    assert "m-1" == child.text(semconv.GEN_AI_REQUEST_MODEL)
    assert 12 == child.integer(semconv.GEN_AI_USAGE_INPUT_TOKENS)
    assert set(ATTRIBUTES) <= set(child.attributes)


@pytest.mark.parametrize("spelling", LINES)
def test_rows_may_stand_one_a_line(spelling: str, store: Store, read_in: Any) -> None:
    report = read_in(store, b"\n".join(json.dumps(row).encode() for row in SPELLINGS[spelling]))
    assert (report.spans, report.shown) == (2, [])


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_document_over_many_lines_is_read_as_one(spelling: str, store: Store, read_in: Any) -> None:
    report = read_in(store, json.dumps(SPELLINGS[spelling], indent=2).encode())
    assert (report.spans, report.shown) == (2, [])
    assert read_in(store, json.dumps(SPELLINGS[spelling], indent=None).encode()).spans == 2
    assert 2 == len(store.reader().trace(TRACE))


def test_an_observation_of_langfuse_is_a_model_call_with_its_tokens(store: Store, read_in: Any) -> None:
    trace = {"id": TRACE, "sessionId": "s-1", "name": "run"}
    event = {**_DIALECT, "id": "e-1", "type": "EVENT", "endTime": None}
    report = read_in(store, json.dumps({"trace": trace, "observations": [_DIALECT, event]}).encode())
    call, moment = sorted(store.reader().trace(TRACE), key=lambda span: span.start_ns == span.end_ns)
    assert report.shown == []
    assert ("chat", "m-1") == (call.text(semconv.GEN_AI_OPERATION_NAME), call.text(semconv.GEN_AI_REQUEST_MODEL))
    assert 12 == call.integer(semconv.GEN_AI_USAGE_INPUT_TOKENS)
    assert 0.5 == call.number(semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK)
    assert ("o-1", "s-1", 1, "shop") == (
        call.attributes[SOURCE_SPAN_ID],
        call.attributes["session.id"],
        call.attributes["x"],
        call.service,
    )
    assert moment.start_ns == moment.end_ns


def test_a_run_of_a_benchmark_is_a_conversation_with_its_timed_parts(store: Store, read_in: Any) -> None:
    report = read_in(store, json.dumps(_RUN).encode())
    conversation = "r/tool_calling/mcp-cold/f-1/4"
    spans = {span.name: span for span in store.reader().spans(conversation)}
    run = spans["invoke_agent tool_calling"]
    assert (report.shown, len(spans)) == ([], 5)
    assert ("mcp-cold", "f-1", 4) == tuple(
        run.attributes[name] for name in (semconv.EXPERIMENT_ARM, semconv.EXPERIMENT_FIXTURE, semconv.EXPERIMENT_ROUND)
    )
    assert [300_000_000, 700_500_000, 99_500_000, 900_000_000] == [
        spans[name].end_ns - spans[name].start_ns
        for name in _RUN["timings_ms"]  # type: ignore[attr-defined]
    ]
    assert 3 == spans["final_generation"].integer(semconv.GEN_AI_USAGE_OUTPUT_TOKENS)


def _changed(spelling: str, **fields: Any) -> bytes:
    document = copy.deepcopy(SPELLINGS[spelling])
    row = document["data"][0]["spans"][0] if spelling == "Jaeger" else document[0]
    row.update(fields)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (_changed("Jaeger", startTime="soon"), "data[0].spans[0].startTime", "no number of time units"),
        (_changed("Jaeger", spanID=None), "data[0].spans[0].spanID", "is missing"),
        (_changed("Jaeger", tags=7), "data[0].spans[0].tags", "expected a list"),
        (_changed("ClickHouse", Timestamp="yesterday"), "rows[0].Timestamp", "no point in time"),
        (_changed("ClickHouse", Duration=-1), "rows[0].Duration", "no number of time units"),
        (_changed("flat", start_time=10**30), "[0].start_time", "no point in time"),
        (_changed("flat", attributes="x"), "[0].attributes", "expected an object"),
        (_changed("flat", name=[1]), "[0].name", "expected text"),
    ],
)
def test_a_span_that_cannot_be_read_is_left_out_and_its_field_named(
    content: bytes, place: str, words: str, store: Store, read_in: Any
) -> None:
    report = read_in(store, content)
    (fault,) = report.shown
    assert (1, 1) == (report.spans, fault.spans)
    assert fault.place.endswith(place)
    assert words in fault.reason


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"schema_version": "ATIF-v1.7", "agent": {}, "steps": []}, "an ATIF trajectory"),
        ({"version": 2, "eval": {}, "plan": {}, "samples": []}, "an Inspect evaluation log"),
        ({"runId": "r", "models": [], "results": []}, "a summary of runs"),
        ({"hello": 1}, "has the fields hello, which is none of"),
        ([], "none of"),
        ([1, 2], "none of"),
    ],
)
def test_what_is_no_trace_is_refused_by_what_it_is(content: Any, words: str, store: Store, read_in: Any) -> None:
    report = read_in(store, json.dumps(content).encode())
    assert (0, 1) == (report.spans, report.faults)
    assert words in report.shown[0].reason


def test_ten_thousand_levels_are_no_json_that_anybody_means(store: Store, read_in: Any) -> None:
    report = read_in(store, b'{"data":' + b"[" * 10_000 + b"]" * 10_000 + b"}")
    assert (0, 1) == (report.spans, report.faults)


def test_ids_that_are_no_numbers_are_the_same_each_time(store: Store, read_in: Any) -> None:
    """The parent is found by the same way as the span that it is."""
    content = json.dumps(SPELLINGS["flat"]).replace(ROOT, "root!").encode()
    read_in(store, content)
    read_in(store, content)
    spans = {span.name: span for span in store.reader().trace(TRACE)}
    assert spans["agent"].span_id == spans["chat m-1"].parent_id
    assert "root!" == spans["agent"].attributes[SOURCE_SPAN_ID]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_whatever_is_changed_in_a_document_nothing_is_raised(spelling: str, tmp_path: Path) -> None:
    file = tmp_path / "odd"
    for seed in range(60):
        file.write_text(json.dumps(_odd(copy.deepcopy(SPELLINGS[spelling]), random.Random(seed))))  # noqa: S311  # repeatable
        report = imported(str(file), Nowhere(), lambda *_: None)
        assert all(fault.reason for fault in report.shown)


def _odd(document: Any, chance: random.Random) -> Any:
    """Some values, at any depth, replaced by what does not belong there or taken away."""
    if chance.random() < 0.04:
        return chance.choice(
            [None, True, -1, 2**70, 1e300, float("nan"), "\ud800", "", [], {}, [[]], {"": None}, "0" * 40]
        )
    if isinstance(document, dict):
        return {key: _odd(value, chance) for key, value in document.items() if chance.random() > 0.02}
    if isinstance(document, list):
        return [_odd(value, chance) for value in document]
    return document
