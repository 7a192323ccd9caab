from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spanwise_collector.otlp.decode import Malformed, Parcel, decode
from spanwise_collector.otlp.document import decode_document
from spanwise_collector.store import Store

_FOLDER = Path(os.environ.get("SPANWISE_TRACES", "no traces"))

pytestmark = pytest.mark.skipif(not _FOLDER.is_dir(), reason="SPANWISE_TRACES names no folder of public traces")


def _parcels(name: str) -> list[Parcel]:
    body = (_FOLDER / name).read_bytes()
    if name.endswith(".pb"):
        return [decode(body)]
    return [decode_document(line) for line in (body.splitlines() if name.endswith(".jsonl") else [body]) if line]


@pytest.mark.parametrize(
    ("name", "spans", "traces"),
    [
        ("jaegertracing__jaeger__hotrod_n_plus_one_positive.otlp.json", 16, 1),
        ("jaegertracing__jaeger-ui__genai_agent-trace.json", 8, 1),
        ("open-telemetry__opentelemetry-proto__examples_trace.otlp.json", 1, 1),
        ("jaegertracing__jaeger-ui__otlp2jaeger-multi-in.jsonl", 4, 1),
        ("smithclay__otlp2parquet__traces.otlp.pb", 19, 19),
        ("ymtdzzz__otel-tui__otel-demo.minus-line3.otlp.jsonl", 547, 141),
    ],
)
def test_public_traces_are_stored_whole(store: Store, name: str, spans: int, traces: int) -> None:
    """The counts are the sources'; lines of metrics and logs in a mixed file hold no spans and harm nothing."""
    parcels = _parcels(name)
    for waiting in [store.deliver(parcel) for parcel in parcels]:
        waiting.result(10)
    reader = store.reader()
    ids = {row[0].hex() for row in reader._rows("SELECT DISTINCT trace_id FROM spans")}
    assert (sum(parcel.rejected for parcel in parcels), len(ids)) == (0, traces)
    assert sum(len(reader.trace(trace)) for trace in ids) == spans


def test_a_trace_id_that_is_not_hex_is_rejected_with_the_field_named() -> None:
    (parcel,) = _parcels("smithclay__otlp2parquet__invalid_trace_invalid_base64.otlp.json")
    assert (parcel.spans, parcel.rejected) == (0, 1)
    assert "traceId" in parcel.message


def test_an_envelope_in_snake_case_is_refused_rather_than_lost() -> None:
    document = json.loads((_FOLDER / "grafana__agent__tns_trace-sample.json").read_text())
    assert "resource_spans" in document
    with pytest.raises(Malformed, match="resourceSpans"):
        _parcels("grafana__agent__tns_trace-sample.json")
