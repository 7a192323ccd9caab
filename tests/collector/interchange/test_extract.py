from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise_collector.interchange.requests import requests
from spanwise_collector.store import Choice, Extract, Store, extract

T1, T2, T3 = (f"{digit}" * 32 for digit in "123")
N0 = 1_700_000_000_000_000_000
CONVERSATION = {"gen_ai.conversation.id": "c-1"}


def spans(found: Extract) -> Iterator[Any]:
    for request in requests(found):
        for each in ExportTraceServiceRequest.FromString(request).resource_spans:
            for scope in each.scope_spans:
                yield from scope.spans


def names(store: Store, **chosen: Any) -> list[str]:
    return [span.name for span in spans(store.reader().extract(Choice(**chosen)))]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Tables of so few spans that some traces need several of them."""
    monkeypatch.setattr(extract, "PART", 5)
    return 5


def test_of_copies_the_most_complete_one_goes_out(store: Store, otlp: Any) -> None:
    whole = otlp.span("whole", span="b7ad6b7169203331", attributes={"n": 1})
    parts = [
        otlp.span("open", span="b7ad6b7169203331", end_time_unix_nano=0, attributes={"n": 1, "m": 2}),
        otlp.span("late", span="b7ad6b7169203331", start_time_unix_nano=N0 + 1, attributes={"n": 1, "m": 2}),
        otlp.span("bare", span="b7ad6b7169203331"),
    ]
    for each in (parts[0], whole, parts[1], whole, parts[2]):
        store.submit(otlp.body(each)).result(10)
    assert [whole] == list(spans(store.reader().extract(Choice())))


def test_equal_copies_that_differ_give_one_answer_in_any_order(tmp_path: Path, otlp: Any) -> None:
    copies = [otlp.span(name, span="b7ad6b7169203331") for name in ("a", "b", "c")]
    answers = []
    for seed in range(3):
        store = Store.open(tmp_path / f"{seed}.db")
        for each in random.Random(seed).sample(copies, 3):  # noqa: S311
            store.submit(otlp.body(each)).result(10)
        answers.append(names(store))
        store.close()
    assert len(answers[0]) == 1
    assert answers[0] == answers[1] == answers[2]


def test_large_traces_come_in_several_tables_and_whole(store: Store, otlp: Any, small: int) -> None:
    sent = [otlp.span(f"{n}", trace=(T1, T1, T2)[n % 3], start_time_unix_nano=N0 - n) for n in range(60)]
    for _ in range(2):
        store.submit(otlp.body(*sent)).result(10)
    tables = list(store.reader().extract(Choice()).tables)
    assert sum(len(table) for table in tables) == len(sent)
    assert max(len(table) for table in tables) <= 3 * small
    assert {span.name for span in sent} == set(names(store))


def test_the_order_is_that_of_ends_then_starts(store: Store, otlp: Any, small: int) -> None:
    def span(name: str, trace: str, start: int, end: int) -> Any:
        return otlp.span(name, trace=trace, start_time_unix_nano=N0 + start, end_time_unix_nano=N0 + end)

    for each in (
        span("3", T3, 0, 9),
        span("2", T1, 2, 3),
        span("4", T3, 1, 2),
        span("1", T1, 1, 4),
        span("0", T2, 3, 3),
    ):
        store.submit(otlp.body(each)).result(10)
    assert names(store) == ["0", "1", "2", "3", "4"]


def test_a_choice_takes_whole_traces(store: Store, otlp: Any) -> None:
    late = {"start_time_unix_nano": N0 + 10, "end_time_unix_nano": N0 + 20}
    store.submit(otlp.body(otlp.span("a", trace=T1, attributes=CONVERSATION), otlp.span("b", trace=T1, **late))).result(
        10
    )
    store.submit(otlp.body(otlp.span("c", trace=T2, **late), resource={"service.name": "other"})).result(10)
    store.submit(otlp.body(otlp.span("d", trace=T2, **late))).result(10)
    assert set(names(store, traces=store.reader().traces("c-1"))) == {"a", "b"}
    assert set(names(store, service="other")) == {"c", "d"}
    assert set(names(store, since_ns=N0 + 10)) == {"c", "d"}
    assert set(names(store, until_ns=N0 + 10)) == {"a", "b"}
    assert names(store, traces=[]) == []


def test_what_arrives_later_does_not_change_an_extract(store: Store, otlp: Any) -> None:
    store.submit(otlp.body(otlp.span("a", trace=T1))).result(10)
    begun = store.reader().extract(Choice())
    store.submit(otlp.body(otlp.span("b", trace=T1), otlp.span("c", trace=T2))).result(10)
    assert [span.name for span in spans(begun)] == ["a"]


def test_requests_are_bounded_in_spans_and_bytes(store: Store, otlp: Any) -> None:
    store.submit(otlp.body(*(otlp.span(f"{n}") for n in range(600)))).result(10)
    wide = [otlp.span("wide", trace=T2, attributes={"text": "x" * 3_000_000}) for _ in range(3)]
    store.submit(otlp.body(*wide)).result(10)
    sizes = [len(request) for request in requests(store.reader().extract(Choice()))]
    assert len(sizes) == 4
    assert max(sizes) < 5_000_000


def test_an_empty_store_is_an_empty_file(store: Store, exported: Any) -> None:
    assert exported(store, "otlp-json") == exported(store, "otlp-proto") == b""
