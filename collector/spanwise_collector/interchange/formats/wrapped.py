"""OTLP/JSON in the covers that Tempo, Jaeger's v3 API and old collectors put around it, Tempo's with ids in base64."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any, Final

from spanwise_collector.interchange.formats.format import DocumentFormat, keys
from spanwise_collector.interchange.piece import JSON, Body
from spanwise_collector.otlp.decode import SPAN_ID_BYTES, TRACE_ID_BYTES

_COVERS: Final = ("trace", "result")
_LISTS: Final = ("resourceSpans", "batches", "resource_spans")
_INNER: Final = {"scope_spans": "scopeSpans", "instrumentation_library_spans": "instrumentationLibrarySpans"}
_SCOPES: Final = ("scopeSpans", "instrumentationLibrarySpans")
_IDS: Final = {"traceId": TRACE_ID_BYTES, "spanId": SPAN_ID_BYTES, "parentSpanId": SPAN_ID_BYTES}


def _fits(document: Any) -> bool:
    return _list(document) is not None


def _list(document: Any) -> Any:
    """The list of ResourceSpans; None where there is none. Jaeger's API may give several results, a line each."""
    inner = next((document[key] for key in _COVERS if key in keys(document)), document)
    return next((inner[key] for key in _LISTS if key in keys(inner)), None) if isinstance(inner, dict) else None


def _bodies(document: Any) -> Iterator[Body]:
    found = _list(document)
    whole = [_resource_spans(each) for each in found] if isinstance(found, list) else found
    yield Body(json.dumps({"resourceSpans": whole}).encode(), JSON)


def _resource_spans(found: Any) -> Any:
    if not isinstance(found, dict):
        return found  # the decoder says what is wrong with it
    found = {_INNER.get(key, key): value for key, value in found.items()}
    for name in _SCOPES:
        if isinstance(found.get(name), list):
            found[name] = [_scope_spans(each) for each in found[name]]
    return found


def _scope_spans(found: Any) -> Any:
    if not isinstance(found, dict) or not isinstance(found.get("spans"), list):
        return found
    return {**found, "spans": [_span(each) for each in found["spans"]]}


def _span(found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    links = found.get("links")
    return {**_in_hex(found), **({"links": list(map(_in_hex, links))} if isinstance(links, list) else {})}


def _in_hex(found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    return {key: _hex(value, _IDS[key]) if key in _IDS else value for key, value in found.items()}


def _hex(value: Any, nbytes: int) -> Any:
    """Only what is base64 of an id; 16 and 32 hex digits are never base64 of 8 and 16 bytes."""
    try:
        raw = base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return value
    return raw.hex() if len(raw) == nbytes else value


FORMAT = DocumentFormat("OTLP JSON as Tempo and Jaeger wrap it", _fits, _bodies)
