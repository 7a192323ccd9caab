"""One trace of two spans as every format tells it: an agent of 2 s, and 250 ms after its start a model call of 1 s."""

from __future__ import annotations

import base64
from typing import Any, Final

TRACE: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
ROOT: Final = "00f067aa0ba902b7"
CHILD: Final = "00f067aa0ba902b8"
START_NS: Final = 1_760_000_000_000_000_000
CHILD_NS: Final = START_NS + 250_000_000
ATTRIBUTES: Final = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": 12}
_AGENT: Final = {"gen_ai.operation.name": "invoke_agent"}


def _64(digits: str) -> str:
    return base64.b64encode(bytes.fromhex(digits)).decode()


def _pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in attributes.items()
    ]


def _otlp(name: str, ids: tuple[str, str, str], times: tuple[int, int], attributes: dict[str, Any]) -> dict[str, Any]:
    trace, span, parent = ids
    start, end = times
    kind, code = ("SPAN_KIND_CLIENT", 2) if parent else ("SPAN_KIND_INTERNAL", 0)
    return {
        "traceId": trace,
        "spanId": span,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": _pairs(attributes),
        "status": {"code": code},
    }


def _resource_spans(trace: str, root: str, child: str, scopes: str = "scopeSpans") -> list[dict[str, Any]]:
    spans = [
        _otlp("agent", (trace, root, ""), (START_NS, START_NS + 2 * 10**9), _AGENT),
        _otlp("chat m-1", (trace, child, root), (CHILD_NS, CHILD_NS + 10**9), ATTRIBUTES),
    ]
    return [{"resource": {"attributes": _pairs({"service.name": "shop"})}, scopes: [{"scope": {}, "spans": spans}]}]


def _tags(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "type": "int64" if isinstance(value, int) else "string", "value": value}
        for key, value in attributes.items()
    ]


def _jaeger(name: str, span: str, at: tuple[int, int], parent: str, attributes: dict[str, Any]) -> dict[str, Any]:
    references = [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": parent}] if parent else []
    kind: dict[str, Any] = {
        "span.kind": "client" if parent else "internal",
        "otel.status_code": "ERROR" if parent else "",
    }
    start, duration = at
    return {
        "traceID": TRACE,
        "spanID": span,
        "operationName": name,
        "references": references,
        "startTime": start // 1000,
        "duration": duration // 1000,
        "tags": _tags({**kind, **attributes}),
        "logs": [],
        "processID": "p1",
        "warnings": None,
    }


_JAEGER_TRACE: Final[dict[str, Any]] = {
    "traceID": TRACE,
    "spans": [
        _jaeger("chat m-1", CHILD, (CHILD_NS, 10**9), ROOT, ATTRIBUTES),
        _jaeger("agent", ROOT, (START_NS, 2 * 10**9), "", _AGENT),
    ],
    "processes": {"p1": {"serviceName": "shop", "tags": []}},
}
_JAEGER_PAGE: Final = {
    **_JAEGER_TRACE,
    "spans": [
        {
            **span,
            "process": {"serviceName": "shop", "tags": []},
            "relativeStartTime": 0,
            "depth": 0,
            "hasChildren": True,
        }
        for span in _JAEGER_TRACE["spans"]
    ],
    "duration": 2_000_000,
    "traceName": "shop: agent",
}


def _row(name: str, span: str, at: tuple[Any, int], parent: str, attributes: dict[str, Any]) -> dict[str, Any]:
    start, duration = at
    return {
        "Timestamp": start,
        "TraceId": TRACE,
        "SpanId": span,
        "ParentSpanId": parent,
        "SpanName": name,
        "SpanKind": "Client" if parent else "SPAN_KIND_INTERNAL",
        "ServiceName": "shop",
        "ResourceAttributes": {"service.name": "shop"},
        "SpanAttributes": {key: str(value) for key, value in attributes.items()},
        "Duration": duration,
        "StatusCode": "Error" if parent else "Unset",
        "StatusMessage": "",
    }


_ROWS: Final = [
    _row("agent", ROOT, ("2025-10-09 08:53:20.000000000", 2 * 10**9), "", _AGENT),
    _row("chat m-1", CHILD, (CHILD_NS // 10**6, 10**9), ROOT, ATTRIBUTES),
]


def _flat(
    name: str, span: str, times: tuple[Any, Any], parent: str | None, attributes: dict[str, Any]
) -> dict[str, Any]:
    return {
        "trace_id": TRACE,
        "span_id": span,
        "parent_span_id": parent,
        "name": name,
        "kind": "CLIENT" if parent else "INTERNAL",
        "start_time": times[0],
        "end_time": times[1],
        "attributes": attributes,
        "scope": {"name": "s", "version": "1"},
        "status": {"code": "ERROR" if parent else "UNSET"},
        "resource": {"service.name": "shop"},
    }


_FLAT: Final = [
    _flat("agent", ROOT, (START_NS, START_NS + 2 * 10**9), None, _AGENT),
    _flat("chat m-1", CHILD, (CHILD_NS, CHILD_NS + 10**9), ROOT, ATTRIBUTES),
]
_SECONDS: Final = START_NS // 10**9
_HRTIME: Final = [
    {
        "name": span["name"],
        "spanContext": {"traceId": TRACE, "spanId": span["span_id"]},
        "parentSpanContext": {"traceId": TRACE, "spanId": span["parent_span_id"]} if span["parent_span_id"] else None,
        "kind": 2 if span["parent_span_id"] else 0,
        "startTime": [_SECONDS, 250_000_000 if span["parent_span_id"] else 0],
        "endTime": [_SECONDS + 1, 250_000_000] if span["parent_span_id"] else [_SECONDS + 2, 0],
        "attributes": span["attributes"],
        "status": {"code": 2 if span["parent_span_id"] else 0},
        "resource": {"attributes": {"service.name": "shop"}},
        "events": [],
    }
    for span in _FLAT
]
_PYTHON: Final = [
    {
        "name": span["name"],
        "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{span['span_id']}", "trace_state": "[]"},
        "kind": f"SpanKind.{span['kind']}",
        "parent_id": f"0x{ROOT}" if span["parent_span_id"] else None,
        "start_time": "2025-10-09T08:53:20.250000Z" if span["parent_span_id"] else "2025-10-09T08:53:20.000000Z",
        "end_time": "2025-10-09T08:53:21.250000Z" if span["parent_span_id"] else "2025-10-09T08:53:22.000000Z",
        "status": {"status_code": span["status"]["code"]},
        "attributes": span["attributes"],
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
    }
    for span in _FLAT
]

SPELLINGS: Final[dict[str, Any]] = {
    "OTLP": {"resourceSpans": _resource_spans(TRACE, ROOT, CHILD)},
    "OTLP in snake case at the top": {"resource_spans": _resource_spans(TRACE, ROOT, CHILD, "scope_spans")},
    "Tempo": {"batches": _resource_spans(_64(TRACE), _64(ROOT), _64(CHILD))},
    "Tempo v2": {"trace": {"resourceSpans": _resource_spans(_64(TRACE), _64(ROOT), _64(CHILD))}},
    "old Tempo": {"batches": _resource_spans(_64(TRACE), _64(ROOT), _64(CHILD), "instrumentationLibrarySpans")},
    "Jaeger v3": {"result": {"resourceSpans": _resource_spans(TRACE, ROOT, CHILD)}},
    "Jaeger": {"data": [_JAEGER_TRACE], "total": 0, "limit": 0, "offset": 0, "errors": None},
    "one Jaeger trace": _JAEGER_TRACE,
    "Jaeger's page": _JAEGER_PAGE,
    "ClickHouse": _ROWS,
    "ClickHouse by session": {"s-1": _ROWS},
    "a whole answer of ClickHouse": {"meta": [], "data": _ROWS, "rows": 2},
    "flat": _FLAT,
    "flat in a session": {"session_id": "s-1", "span_count": 2, "spans": _FLAT},
    "JavaScript": _HRTIME,
    "Python": _PYTHON,
}
LINES: Final = ("ClickHouse", "flat", "JavaScript", "Python")
