from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.collector.otlp.requests import EXTENDED, comparable, official_attributes

from spanwise_collector.span import Span
from spanwise_collector.store import Store


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("spans") / "spans.db")
    yield store
    store.close()


def _own_ids(request: ExportTraceServiceRequest) -> tuple[str, list[Any]]:
    """Gives every span an id of its own in a fresh trace; (resource, scope, span) of each in order."""
    trace, numbers, found = os.urandom(16), itertools.count(1), []
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                span.trace_id, span.span_id = trace, next(numbers).to_bytes(8, "big")
                found.append((resource_spans.resource, scope_spans.scope, span))
    return trace.hex(), found


def _expected(resource: Any, scope: Any, span: Any) -> dict[str, Any]:
    return {
        "ids": (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()),
        "texts": (span.name, span.trace_state, span.status.message, scope.name, scope.version),
        "numbers": (span.start_time_unix_nano, span.end_time_unix_nano, span.kind, span.status.code, span.flags),
        "attributes": official_attributes(span),
        "resource": official_attributes(resource),
        "events": [(each.time_unix_nano, each.name, official_attributes(each)) for each in span.events],
        "links": [(each.trace_id.hex(), each.span_id.hex(), official_attributes(each)) for each in span.links],
    }


def _found(span: Span) -> dict[str, Any]:
    return {
        "ids": (span.trace_id, span.span_id, span.parent_id),
        "texts": (span.name, span.trace_state, span.status_message, span.scope, span.scope_version),
        "numbers": (span.start_ns, span.end_ns, int(span.kind), int(span.status), span.flags),
        "attributes": comparable(span.attributes),
        "resource": comparable(span.resource),
        "events": [(each.time_ns, each.name, comparable(each.attributes)) for each in span.events],
        "links": [(each.trace_id, each.span_id, comparable(each.attributes)) for each in span.links],
    }


@settings(max_examples=40, deadline=None)
@given(request=EXTENDED)
def test_a_span_is_read_from_the_database_as_the_official_classes_read_it_from_the_wire(
    kept: Store, request: ExportTraceServiceRequest
) -> None:
    trace, sent = _own_ids(request)
    assert len(sent) == kept.submit(request.SerializeToString()).result(30).spans
    found = sorted(kept.reader().trace(trace), key=lambda span: span.span_id)
    assert [_expected(*each) for each in sent] == [_found(span) for span in found]
