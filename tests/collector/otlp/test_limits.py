from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanwise.semconv import TRUNCATED
from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import flatten
from spanwise_collector.otlp.decode import Parcel, decode
from spanwise_collector.otlp.limits import Cut, SpanLimits


def rows(parcel: Parcel) -> list[dict[str, Any]]:
    columns = {name: column.to_pylist() for name, column in flatten([parcel]).columns.items()}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return value.attributes(holder["attributes"])


@pytest.fixture
def request_of_many(otlp: Any) -> ExportTraceServiceRequest:
    """One span with five attributes, three events and two links, each of which has three, and a small one."""
    span = otlp.span(attributes={f"a{number}": number for number in range(5)})
    for holders, count in ((span.events, 3), (span.links, 2)):
        for _ in range(count):
            holders.add().attributes.extend(otlp.span(attributes={"x": 1, "y": 2, "z": 3}).attributes)
    request: ExportTraceServiceRequest = otlp.request(span, otlp.span(attributes={"only": 1}))
    return request


def test_what_is_over_a_count_is_left_out_and_added_to_the_dropped_counts(
    request_of_many: ExportTraceServiceRequest,
) -> None:
    parcel = decode(request_of_many.SerializeToString(), SpanLimits(attributes=2, events=2, links=1))
    large, small = rows(parcel)
    assert ({"a0": 0, "a1": 1}, 3) == (attributes(large), large["dropped_attributes"])
    assert ([({"x": 1, "y": 2}, 1)] * 2, 1) == (
        [(attributes(each), each["dropped_attributes"]) for each in large["events"]],
        large["dropped_events"],
    )
    assert (1, 1) == (len(large["links"]), large["dropped_links"])
    assert ({"only": 1}, 0) == (attributes(small), small["dropped_attributes"])
    assert {Cut.ATTRIBUTES: 3 + 2 + 1, Cut.EVENTS: 1, Cut.LINKS: 1} == parcel.cuts
    assert (2, 0) == (parcel.spans, parcel.rejected)
    assert "6 attributes were over the limit" in parcel.message


def test_a_request_within_the_limits_is_not_touched(request_of_many: ExportTraceServiceRequest) -> None:
    limits = SpanLimits(attributes=5, events=3, links=2, value_bytes=1, value_depth=1)
    body = request_of_many.SerializeToString()
    parcel = decode(body, limits)
    assert ({}, "") == (parcel.cuts, parcel.message)
    assert rows(decode(body)) == rows(parcel)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("x" * 11, "x" * 10),
        ("\U0001f600" * 3, "\U0001f600" * 2),
        (b"\xff" * 11, b"\xff" * 10),
        ([1, 2, 3, 4], [1]),
        ({"a": True, "b": False}, {}),
        ("x" * 10, "x" * 10),
        (12345678901234, 12345678901234),
    ],
)
@pytest.mark.parametrize("place", ["span", "event"])
def test_a_value_that_is_too_long_is_shortened_whole_characters_and_items_staying(
    otlp: Any, place: str, sent: Any, kept: Any
) -> None:
    span = otlp.span(attributes={"v": sent, "w": 1})
    if place == "event":
        span = otlp.span(events=[Span.Event(attributes=span.attributes)])
    parcel = decode(otlp.body(span), SpanLimits(value_bytes=10))
    row = rows(parcel)[0]
    found = attributes(row if place == "span" else row["events"][0])
    cut = kept != sent
    assert ({Cut.LENGTH: 1} if cut else {}) == parcel.cuts
    assert cut == (found.pop(TRUNCATED, 0) > 10)
    assert {"v": kept, "w": 1} == found


def test_a_long_value_leaves_its_own_length(otlp: Any) -> None:
    """In bytes, of the longest that was cut."""
    body = otlp.body(otlp.span(attributes={"v": "x" * 65_536, "w": "y" * 50_000}))
    parcel = decode(body, SpanLimits(value_bytes=1_000))
    assert {"v": "x" * 1_000, "w": "y" * 1_000, TRUNCATED: 65_536} == attributes(rows(parcel)[0])


def test_an_attribute_that_is_nested_too_deep_is_dropped_and_counted(otlp: Any) -> None:
    deep = {"list": [[1]], "map": {"a": {"b": 1}}, "both": [{"a": 1}]}
    flat = {"none": 1, "one": [1, "a"], "pair": {"a": 1}}
    parcel = decode(otlp.body(otlp.span(attributes=deep | flat)), SpanLimits(value_depth=1))
    row = rows(parcel)[0]
    assert (flat, 3, {Cut.DEPTH: 3}) == (attributes(row), row["dropped_attributes"], parcel.cuts)
    assert not decode(otlp.body(otlp.span(attributes=deep | flat)), SpanLimits(value_depth=2)).cuts
