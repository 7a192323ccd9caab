"""More is sent at once than the queue takes, by the exporters that agents really use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from spanwise_collector.receiver import Bound, Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Limits, Store

_SOAK = pytest.mark.soak
_SENDERS = 3
_SPANS = 100
_SMALL = Limits(queue_spans=_SPANS, patience_s=0.0)

Exporter = Callable[[Bound], SpanExporter]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "small.db", _SMALL)
    yield store
    store.close()


@pytest.mark.parametrize(
    ("exporter", "rounds"),
    [
        pytest.param(lambda bound: HttpExporter(endpoint=f"{bound.http}/v1/traces"), 1, id="http"),
        pytest.param(lambda bound: HttpExporter(endpoint=f"{bound.http}/v1/traces"), 10, marks=_SOAK, id="much http"),
        pytest.param(lambda bound: GrpcExporter(endpoint=bound.grpc, insecure=True), 10, marks=_SOAK, id="much grpc"),
    ],
)
def test_refused_by_a_full_queue_the_sdk_tries_again_until_all_has_arrived(
    store: Store, exporter: Exporter, rounds: int
) -> None:
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0))
    bound = receiver.start()
    results: list[SpanExportResult] = []
    batches = [[_ended() for _ in range(rounds)] for _ in range(_SENDERS)]

    def send(mine: list[list[ReadableSpan]]) -> None:
        sending = exporter(bound)
        results.extend(sending.export(batch) for batch in mine)
        sending.shutdown()

    threads = [threading.Thread(target=send, args=(mine,)) for mine in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    receiver.stop()
    refused = sum(number for (_, what), number in receiver.counts().items() if what == "refused_spans")
    ((stored,),) = store.reader()._rows("SELECT count(DISTINCT (trace_id, span_id)) FROM spans")
    sys.stdout.write(f"sent {_SENDERS * rounds * _SPANS}, refused for now {refused}, stored {stored}\n")
    assert (set(results), stored) == ({SpanExportResult.SUCCESS}, _SENDERS * rounds * _SPANS)
    assert refused > 0


def _ended() -> list[ReadableSpan]:
    tracer, spans = TracerProvider().get_tracer("test"), []
    for _ in range(_SPANS):
        span = tracer.start_span("work", attributes={"payload": "p" * 1000})
        span.end()
        spans.append(span)
    return spans  # type: ignore[return-value]  # the SDK's own spans are readable
