"""However spans come, early or late, once or often, together or split, half or whole, the answers are the same."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client import generate_latest
from tests.collector.conftest import Otlp

from spanwise import semconv as sc
from spanwise_analyzer.books import Books
from spanwise_analyzer.meters import registry
from spanwise_collector.store import Store

N0 = 1_700_000_000_000_000_000
_MS = 1_000_000
_CONVERSATIONS = ("c-1", "c-2", "c-3")
_TRACES = {"a" * 32: "c-1", "b" * 32: "c-1", "c" * 32: "c-2"}


def _spans() -> list[Span]:
    """Three agents' turns, each with a model call and a tool call; one span id occurs in every trace."""
    otlp, found = Otlp(), []
    for number, (trace, conversation) in enumerate(_TRACES.items()):
        at = N0 + number * 5_000 * _MS
        agent = {sc.GEN_AI_OPERATION_NAME: "invoke_agent", sc.GEN_AI_CONVERSATION_ID: conversation}
        chat = {sc.GEN_AI_OPERATION_NAME: "chat", sc.GEN_AI_REQUEST_MODEL: "m", sc.GEN_AI_USAGE_INPUT_TOKENS: 7}
        call = {sc.MCP_METHOD_NAME: "tools/call", sc.GEN_AI_TOOL_NAME: "find"}
        parts = [("invoke_agent a", "", 0, 900, agent), ("chat m", "1", 100, 500, chat), ("call", "1", 500, 800, call)]
        for index, (name, parent, start, end, attributes) in enumerate(parts, start=1):
            times: dict[str, Any] = {"start_time_unix_nano": at + start * _MS, "end_time_unix_nano": at + end * _MS}
            ids: dict[str, Any] = {"trace": trace, "span": f"{index:016x}", "parent": parent and parent.zfill(16)}
            found.append(otlp.span(name, kind=3 if parent else 1, attributes=attributes, **ids, **times))
    return found


def _variants(span: Span) -> list[Span]:
    """The span whole, unfinished, and unfinished with fewer attributes, as a sender that is cut off may deliver it."""
    unfinished, poor = Span(), Span()
    unfinished.CopyFrom(span)
    unfinished.end_time_unix_nano = 0
    poor.CopyFrom(unfinished)
    del poor.attributes[1:]
    return [span, unfinished, poor]


def _conflicts(spans: Sequence[Span]) -> list[Span]:
    """Other complete copies of some spans: another name and a later end, another tool, another conversation."""
    renamed, retooled, moved = (Span.FromString(spans[index].SerializeToString()) for index in (1, 5, 6))
    renamed.name, renamed.end_time_unix_nano = "chat n", renamed.end_time_unix_nano + 50 * _MS
    retooled.attributes[1].value.string_value = "seek"
    moved.attributes[1].value.string_value = "c-3"
    moved.attributes.add(key="later").value.bool_value = True
    return [renamed, retooled, moved]


WHOLE = _spans()
WHOLE += _conflicts(WHOLE)


@st.composite
def deliveries(draw: st.DrawFn) -> list[list[Span]]:
    """Every span whole and every other copy at least once, with more copies and halves, in any order and batches."""
    more = draw(st.lists(st.sampled_from([copy for span in WHOLE for copy in _variants(span)]), max_size=12))
    order = draw(st.permutations([*WHOLE, *more]))
    cuts = sorted(draw(st.sets(st.integers(1, len(order) - 1), max_size=5)))
    return [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]


def _answers(batches: Sequence[Sequence[Span]], *, often: bool) -> dict[str, Any]:
    """What the store, the list, the fleet and Prometheus say; ``often`` asks after every batch, too."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "spans.db")
        try:
            books = Books(store)
            for batch in batches:
                store.submit(Otlp().body(*batch)).result(10)
                if often:
                    books.refresh()
            reader = books.reader()
            rows = reader.ledgers().rows
            names = [name for name in rows[0].__slots__ if name != "seq"]
            metrics = generate_latest(registry(books, dict, dict, dict)).decode().splitlines()
            return {
                "spans": {name: reader.spans(name) for name in _CONVERSATIONS},
                "list": [[getattr(row, name) for name in names] for row in rows],
                "fleet": reader.attribution(("stage", "service", "model", "tool")),
                "answers": [books.answer(name) for name in _CONVERSATIONS],
                "metrics": [line for line in metrics if line.startswith("spanwise_stage")],
            }
        finally:
            store.close()


EXPECTED = _answers([WHOLE], often=False)


def test_the_expected_answer_holds_every_span_and_all_time() -> None:
    assert [6, 0, 3] == [len(spans) for spans in EXPECTED["spans"].values()]
    assert {"c-1": 1800 * _MS, "c-3": 900 * _MS} == {row[0]: row[5] for row in EXPECTED["list"]}
    assert 2700 * _MS == sum(row.ns for row in EXPECTED["fleet"])


@settings(max_examples=8, deadline=None)
@given(deliveries(), st.booleans())
def test_the_answers_do_not_depend_on_how_the_spans_came(batches: list[list[Span]], often: bool) -> None:  # noqa: FBT001
    _compare(batches, often=often)


@pytest.mark.soak
@settings(max_examples=400, deadline=None)
@given(deliveries(), st.booleans())
def test_nor_do_they_in_hundreds_of_ways(batches: list[list[Span]], often: bool) -> None:  # noqa: FBT001
    _compare(batches, often=often)


def _compare(batches: list[list[Span]], *, often: bool) -> None:
    found = _answers(batches, often=often)
    for what, expected in EXPECTED.items():
        assert expected == found[what], what
