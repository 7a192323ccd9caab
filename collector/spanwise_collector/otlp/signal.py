"""Metrics and logs: their requests are read and their items counted, so that senders get the answer they expect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from spanwise_collector.otlp import scalar
from spanwise_collector.otlp.decode import Malformed

_KINDS: Final = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal: its request, where its items lie in it, and how many of them one entry holds."""

    name: str
    request: type[Message]
    fields: tuple[str, str, str]
    keys: tuple[str, str, str]
    in_message: Callable[[Any], int]
    in_document: Callable[[Any, str], int]

    def count(self, body: bytes) -> int:
        """Items of a serialized request; raises Malformed if it is none."""
        try:
            request: Any = self.request.FromString(body)
        except DecodeError as error:
            raise Malformed(f"the body is no {self.request.DESCRIPTOR.name}: {error}") from error
        outer, middle, inner = self.fields
        scopes = (scope for resource in getattr(request, outer) for scope in getattr(resource, middle))
        return sum(self.in_message(item) for scope in scopes for item in getattr(scope, inner))

    def count_document(self, body: bytes) -> int:
        """Items of an OTLP/JSON request; raises Malformed, naming the field, if it is none."""
        try:
            document = json.loads(body.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise Malformed(f"not JSON: {error}") from error
        found: Iterator[tuple[Any, str]] = iter([(document, "")])
        for key in self.keys:
            found = _below(found, key)
        return sum(self.in_document(item, where) for item, where in found)


def _below(holders: Iterator[tuple[Any, str]], key: str) -> Iterator[tuple[Any, str]]:
    for holder, where in holders:
        place = f"{where}.{key}" if where else key
        for index, item in enumerate(_list(holder, key, where)):
            yield item, f"{place}[{index}]"


def _list(holder: Any, key: str, where: str) -> list[Any]:
    found = scalar.mapping(holder, where or "the document").get(key)
    return [] if found is None else scalar.items(found, f"{where}.{key}" if where else key)


def _points(metric: Any) -> int:
    kind = metric.WhichOneof("data")
    return len(getattr(metric, kind).data_points) if kind else 0


def _points_in_document(metric: Any, where: str) -> int:
    data = ((scalar.mapping(metric, where).get(kind), f"{where}.{kind}") for kind in _KINDS)
    return sum(len(_list(found, "dataPoints", place)) for found, place in data if found is not None)


def _record_in_document(record: Any, where: str) -> int:
    return 1 if scalar.mapping(record, where) is record else 0


METRICS: Final = Signal(
    "metrics",
    ExportMetricsServiceRequest,
    ("resource_metrics", "scope_metrics", "metrics"),
    ("resourceMetrics", "scopeMetrics", "metrics"),
    _points,
    _points_in_document,
)
LOGS: Final = Signal(
    "logs",
    ExportLogsServiceRequest,
    ("resource_logs", "scope_logs", "log_records"),
    ("resourceLogs", "scopeLogs", "logRecords"),
    lambda _: 1,
    _record_in_document,
)
