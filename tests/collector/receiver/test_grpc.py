from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import MetricsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from spanwise_collector.receiver import Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Limits, Store

T1 = "0af7651916cd43dd8448eb211c80319c"
# The generated stubs carry no types.
LOGS: Any = LogsServiceStub
METRICS: Any = MetricsServiceStub
TRACES: Any = TraceServiceStub
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@pytest.fixture
def channel(front: Any) -> Iterator[Any]:
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(front.bound.grpc, options=options) as channel:
        yield channel


def test_a_good_request_leaves_partial_success_unset_and_is_stored_when_answered(
    channel: Any, store: Store, otlp: Any
) -> None:
    """Gzip too."""
    stub = TRACES(channel)
    for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
        answer = stub.Export(otlp.request(otlp.span()), compression=compression, timeout=10)
        assert not answer.HasField("partial_success")
    assert len(store.reader().trace(T1)) == 2


def test_rejected_spans_are_counted(channel: Any, otlp: Any) -> None:
    answer = TRACES(channel).Export(otlp.request(otlp.span(span="00" * 8), otlp.span()), timeout=10)
    assert answer.partial_success.rejected_spans == 1


def test_garbage_is_an_invalid_argument_and_must_not_be_retried(channel: Any) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(EXPORT)(b"\xff\xff", timeout=10)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_large_requests_pass_and_too_large_ones_are_refused(channel: Any, store: Store, otlp: Any) -> None:
    """Over grpc's own limit of 4 MiB, below ours of 64."""
    stub = TRACES(channel)
    stub.Export(otlp.request(*(otlp.span(attributes={"prompt": "p" * 130_000}) for _ in range(40))), timeout=10)
    assert len(store.reader().trace(T1)) == 40
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(EXPORT)(bytes(65 * 2**20), timeout=20)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_overload_asks_for_a_later_retry_in_both_ways(tmp_path: Path, otlp: Any) -> None:
    store = Store.open(tmp_path / "closing.db", Limits(patience_s=0))
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0))
    bound = receiver.start()
    store.close()
    try:
        with grpc.insecure_channel(bound.grpc) as channel, pytest.raises(grpc.RpcError) as caught:
            TRACES(channel).Export(otlp.request(otlp.span()), timeout=10)
    finally:
        receiver.stop()
    trailers = dict(caught.value.trailing_metadata())
    delay = error_details_pb2.RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"]).retry_delay.seconds
    detail = error_details_pb2.RetryInfo()
    status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    assert status.details[0].Unpack(detail)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert delay == detail.retry_delay.seconds
    assert delay in {1, 2, 3}


@pytest.mark.parametrize("service", ["", "opentelemetry.proto.collector.trace.v1.TraceService"])
def test_health_is_served(channel: Any, service: str) -> None:
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_taken_port_is_an_error_and_nothing_stays_open(front: Any, store: Store) -> None:
    taken = int(front.bound.grpc.rpartition(":")[2])
    with pytest.raises(OSError, match=str(taken)):
        Receiver(store, ReceiverSettings(otlp_grpc_port=taken, otlp_http_port=0)).start()
