"""Requests with everything that OTLP can say, for property tests."""

from __future__ import annotations

import struct
from typing import Any, Final

from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    EntityRef,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

_UINT32: Final = st.sampled_from([0, 1, 257, 2**32 - 1])
_TIMES: Final = st.sampled_from([0, 1, 1_700_000_000_000_000_000, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
_ENUMS: Final = st.sampled_from([0, 1, 3, 99, -1, 2**31 - 1, -(2**31)])
_ODD_DOUBLES: Final = st.sampled_from([1 << 63, 1, 0x7FF8 << 48, 0xFFF8 << 48 | 0x123, 0x7FF0 << 48 | 1, 0x7FF0 << 48])


def _double(bits: int) -> float:
    (found,) = struct.unpack("<d", struct.pack("<Q", bits))
    return float(found)


def _scalars() -> st.SearchStrategy[AnyValue]:
    return st.one_of(
        st.just(AnyValue()),
        st.builds(lambda text: AnyValue(string_value=text), st.text(max_size=5)),
        st.builds(lambda flag: AnyValue(bool_value=flag), st.booleans()),
        st.builds(lambda number: AnyValue(int_value=number), st.sampled_from([0, 2**63 - 1, -(2**63), 7])),
        st.builds(lambda bits: AnyValue(double_value=_double(bits)), _ODD_DOUBLES | st.integers(0, 2**64 - 1)),
        st.builds(lambda raw: AnyValue(bytes_value=raw), st.binary(max_size=4)),
    )


def _inside(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
    arrays = st.lists(values, max_size=3).map(lambda found: AnyValue(array_value=ArrayValue(values=found)))
    maps = _pairs(values).map(lambda found: AnyValue(kvlist_value=KeyValueList(values=found)))
    return arrays | maps


def _pairs(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[list[KeyValue]]:
    # Few keys, so that some are there twice; a value may be absent altogether.
    keys = st.sampled_from(["", "a", "b", "gen_ai.conversation.id"])
    return st.lists(st.builds(KeyValue, key=keys, value=st.none() | values), max_size=4)


def attributes() -> st.SearchStrategy[list[KeyValue]]:
    """Attributes with values of every type."""
    return _pairs(st.recursive(_scalars(), _inside, max_leaves=4))


def _spans() -> st.SearchStrategy[Span]:
    common: dict[str, Any] = {"attributes": attributes(), "dropped_attributes_count": _UINT32}
    events = st.builds(Span.Event, time_unix_nano=_TIMES, name=st.text(max_size=3), **common)
    ids = {"trace_id": st.sampled_from([b"", b"\3" * 16]), "span_id": st.sampled_from([b"", b"\4" * 8])}
    links = st.builds(Span.Link, trace_state=st.text(max_size=3), flags=_UINT32, **ids, **common)
    return st.builds(
        Span,
        parent_span_id=st.sampled_from([b"", bytes(8), b"12345678"]),
        trace_state=st.sampled_from(["", "a=b"]),
        flags=_UINT32,
        name=st.text(max_size=4),
        kind=_ENUMS,
        start_time_unix_nano=_TIMES,
        end_time_unix_nano=_TIMES,
        events=st.lists(events, max_size=2),
        dropped_events_count=_UINT32,
        links=st.lists(links, max_size=2),
        dropped_links_count=_UINT32,
        status=st.none() | st.builds(Status, message=st.sampled_from(["", "broken"]), code=_ENUMS),
        **common,
    )


@st.composite
def requests(draw: st.DrawFn) -> ExportTraceServiceRequest:
    """Any request; its spans have ids of their own in few traces."""
    entities = st.builds(EntityRef, type=st.just("host"), id_keys=st.just(["host.id"]), schema_url=st.text(max_size=2))
    resources = st.builds(
        Resource,
        attributes=attributes(),
        dropped_attributes_count=_UINT32,
        entity_refs=st.lists(entities, max_size=1),
    )
    scopes = st.builds(
        InstrumentationScope, name=st.sampled_from(["", "lib"]), version=st.text(max_size=2), attributes=attributes()
    )
    urls = st.sampled_from(["", "https://example/1.0"])
    below = st.builds(ScopeSpans, scope=st.none() | scopes, spans=st.lists(_spans(), max_size=6), schema_url=urls)
    all_of = st.builds(
        ResourceSpans, resource=st.none() | resources, scope_spans=st.lists(below, max_size=2), schema_url=urls
    )
    request = ExportTraceServiceRequest(resource_spans=draw(st.lists(all_of, max_size=3)))
    spans = [span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans]
    for number, span in enumerate(spans, start=1):
        span.trace_id, span.span_id = draw(st.sampled_from([b"\1" * 16, b"\2" * 16])), number.to_bytes(8)
    return request
