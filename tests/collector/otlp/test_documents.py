from __future__ import annotations

import json
import random
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.collector.otlp.requests import REQUESTS, comparable, ours, rows
from tests.collector.otlpjson import document

from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import flatten
from spanwise_collector.otlp.decode import Parcel, decode
from spanwise_collector.otlp.document import decode_document

_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId"})
_NUMBERS: Final = frozenset({"intValue", "startTimeUnixNano", "endTimeUnixNano", "timeUnixNano"})
_UNKNOWN: Final[list[tuple[str, Any]]] = [
    ("somethingNew", {"a": [1, None, {"b": "c"}]}),
    ("trace_id", 7),
    ("start_time_unix_nano", "not read"),
    ("attributesList", []),
]


def loosened(found: Any, chance: random.Random) -> Any:
    """The same document as another sender may write it: numbers as text, ids in any case, more keys, any order."""
    if isinstance(found, list):
        return [loosened(item, chance) for item in found]
    if not isinstance(found, dict):
        return found
    entries = [(key, _loosened(key, inner, chance)) for key, inner in found.items()]
    if chance.random() < 0.2:
        entries.append(chance.choice(_UNKNOWN))
    if chance.random() < 0.2 and "droppedLinksCount" not in found:
        entries.append(("droppedLinksCount", None))
    chance.shuffle(entries)
    return dict(entries)


def _loosened(key: str, inner: Any, chance: random.Random) -> Any:
    if chance.random() < 0.5:
        return loosened(inner, chance)
    if key in _IDS:
        return inner.upper()
    if key in _NUMBERS:
        return int(inner)
    if key == "doubleValue":
        return str(inner)
    return loosened(inner, chance)


def _holders(parcel: Parcel) -> list[Any]:
    flat = flatten([parcel])
    resources, scopes = flat.resources.bodies.to_pylist(), flat.scopes.bodies.to_pylist()
    return [
        (comparable(value.resource_attributes(resources[resource])), value.scope(scopes[scope]))
        for resource, scope in zip(flat.resource_of, flat.scope_of, strict=True)
    ]


@settings(max_examples=40, deadline=None)
@given(REQUESTS, st.randoms(use_true_random=False))
def test_a_document_holds_what_the_same_request_holds_in_protobuf(
    request: ExportTraceServiceRequest, chance: random.Random
) -> None:
    written = json.dumps(loosened(document(request), chance)).encode()
    found, expected = decode_document(written), decode(request.SerializeToString())
    assert (expected.spans, expected.rejected, expected.message) == (found.spans, found.rejected, found.message)
    assert [ours(row) for row in rows(flatten([expected]))] == [ours(row) for row in rows(flatten([found]))]
    assert _holders(expected) == _holders(found)
