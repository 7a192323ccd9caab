"""The formats that spans are written in, each as a stream of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from spanwise_collector.interchange.requests import requests
from spanwise_collector.otlp.rendering import document
from spanwise_collector.store import Extract

Stream: TypeAlias = Callable[[Extract], Iterator[bytes]]

_PREFIX: Final = 4


def otlp_json(extract: Extract) -> Iterator[bytes]:
    """OTLP/JSON, one request a line, as the OpenTelemetry Collector's file exporter writes it."""
    return (document(request) + b"\n" for request in requests(extract))


def otlp_proto(extract: Extract) -> Iterator[bytes]:
    """Serialized requests, each behind its length in four bytes, the most significant first, as the Collector does."""
    return (len(request).to_bytes(_PREFIX) + request for request in requests(extract))


STREAMS: Final[Mapping[str, Stream]] = {"otlp-json": otlp_json, "otlp-proto": otlp_proto}
