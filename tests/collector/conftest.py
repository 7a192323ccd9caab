"""A store, a receiver in front of it, and OTLP requests to send."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanwise_collector.receiver import Bound, Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Store

# Tests are collected without being packages; what they share is imported by its path from the root.
sys.path.insert(0, str(Path(__file__).parents[2]))

T1: Final = "0af7651916cd43dd8448eb211c80319c"
T2: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
S1: Final = "b7ad6b7169203331"
N0: Final = 1_700_000_000_000_000_000
SECOND: Final = 1_000_000_000


def any_value(value: Any) -> AnyValue:
    """A Python value as an AnyValue."""
    if value is None:
        return AnyValue()
    if isinstance(value, Mapping):
        return AnyValue(kvlist_value=KeyValueList(values=key_values(value)))
    members = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value", bytes: "bytes_value"}
    if type(value) in members:
        return AnyValue(**{members[type(value)]: value})
    return AnyValue(array_value=ArrayValue(values=[any_value(item) for item in value]))


def key_values(values: Mapping[str, Any]) -> list[KeyValue]:
    """A mapping as attributes."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in values.items()]


@dataclass
class Otlp:
    """Builds spans with fresh ids and requests around them."""

    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def span(
        self, name: str = "work", *, trace: str = T1, span: str | None = None, parent: str = "", **more: Any
    ) -> Span:
        """A span of one second; ``attributes`` is a mapping, everything else goes to the message."""
        attributes = key_values(more.pop("attributes", {}))
        more.setdefault("start_time_unix_nano", N0)
        more.setdefault("end_time_unix_nano", N0 + SECOND)
        more.setdefault("kind", 1)
        return Span(
            trace_id=bytes.fromhex(trace),
            span_id=bytes.fromhex(span or f"{next(self.ids):016x}"),
            parent_span_id=bytes.fromhex(parent),
            name=name,
            attributes=attributes,
            **more,
        )

    def request(
        self, *spans: Span, resource: Mapping[str, Any] | None = None, scope: str = "test"
    ) -> ExportTraceServiceRequest:
        """One resource, one scope."""
        request = ExportTraceServiceRequest()
        resource_spans = request.resource_spans.add()
        resource_spans.resource.attributes.extend(key_values(resource or {"service.name": "svc"}))
        scope_spans = resource_spans.scope_spans.add()
        scope_spans.scope.name = scope
        scope_spans.spans.extend(spans)
        return request

    def body(self, *spans: Span, **more: Any) -> bytes:
        """The request, serialized."""
        return bytes(self.request(*spans, **more).SerializeToString())


@pytest.fixture
def otlp() -> Otlp:
    return Otlp()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "spans.db")
    yield store
    store.close()


@dataclass(frozen=True)
class Front:
    """A running receiver."""

    receiver: Receiver
    bound: Bound

    @property
    def netloc(self) -> str:
        """Host and port of OTLP/HTTP."""
        return self.bound.http.removeprefix("http://")


@pytest.fixture
def front(store: Store) -> Iterator[Front]:
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0))
    yield Front(receiver, receiver.start())
    receiver.stop()
