"""Langfuse's export of one trace with its observations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from spanwise import semconv as sc
from spanwise_collector.interchange.formats import field
from spanwise_collector.interchange.formats.field import Row
from spanwise_collector.interchange.formats.format import DocumentFormat, keys
from spanwise_collector.interchange.formats.source import SourceSpan, bodies
from spanwise_collector.interchange.piece import Body, Fault

_MUST: Final = {"id", "traceId", "startTime", "type"}
_OPERATIONS: Final = {
    "GENERATION": sc.OPERATION_CHAT,
    "EMBEDDING": sc.OPERATION_EMBEDDINGS,
    "TOOL": sc.OPERATION_EXECUTE_TOOL,
    "AGENT": sc.OPERATION_INVOKE_AGENT,
    "RETRIEVER": "retrieval",
}
# Field of an observation: the attribute under which Langfuse's own SDK sends it.
_FIELDS: Final = {
    "type": "langfuse.observation.type",
    "level": "langfuse.observation.level",
    "model": "langfuse.observation.model.name",
    "input": "langfuse.observation.input",
    "output": "langfuse.observation.output",
    "completionStartTime": "langfuse.observation.completion_start_time",
    "promptName": "langfuse.observation.prompt.name",
    "version": "langfuse.version",
    "environment": "langfuse.environment",
}
_MAPS: Final = {
    "modelParameters": "langfuse.observation.model.parameters",
    "usageDetails": "langfuse.observation.usage_details",
    "costDetails": "langfuse.observation.cost_details",
}
_USAGE: Final = {
    sc.GEN_AI_USAGE_INPUT_TOKENS: "input",
    sc.GEN_AI_USAGE_OUTPUT_TOKENS: "output",
    sc.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: "input_cached_tokens",
}
_SECOND: Final = 10**9


def _fits(document: Any) -> bool:
    return "trace" in keys(document) and keys(_observations(document)) >= _MUST


def _observations(document: Any) -> Any:
    if document.get("observations"):
        return document["observations"]
    return document["trace"].get("observations") if isinstance(document.get("trace"), dict) else None


def _bodies(document: Any) -> Iterator[Body | Fault]:
    trace = document["trace"] if isinstance(document["trace"], dict) else {}
    shared = {
        "session.id": trace.get("sessionId"),
        "user.id": trace.get("userId"),
        "langfuse.trace.name": trace.get("name"),
    }
    yield from bodies(field.each(_observations(document), "observations", lambda row: _span(row, shared)))


def _span(row: Row, shared: Row) -> SourceSpan:
    metadata = field.mapping(row.get("metadata"), "metadata")
    raw = field.mapping(metadata.get("attributes"), "metadata.attributes")
    scope = field.mapping(metadata.get("scope"), "metadata.scope")
    start_ns = field.moment(row, "startTime")
    attributes = {**_own(row, start_ns), **raw, **_metadata(metadata)}
    return SourceSpan(
        trace_id=field.needed(row, "traceId"),
        span_id=field.needed(row, "id"),
        parent_id=field.text(row, "parentObservationId"),
        name=field.text(row, "name"),
        start_ns=start_ns,
        end_ns=_end(row, start_ns),
        code=2 if row.get("level") == "ERROR" else 0,
        message=field.text(row, "statusMessage"),
        scope=(field.text(scope, "name") or "langfuse", field.text(scope, "version")),
        attributes={**shared, **attributes},
        resource=field.mapping(metadata.get("resourceAttributes"), "metadata.resourceAttributes"),
    )


def _end(row: Row, start_ns: int) -> int:
    """An event has no end and lasts no time; anything else without an end is still open."""
    if row.get("endTime") is not None:
        return field.moment(row, "endTime")
    return start_ns if row.get("type") == "EVENT" else 0


def _own(row: Row, start_ns: int) -> dict[str, Any]:
    found = {name: row.get(key) for key, name in _FIELDS.items()}
    found |= {name: json.dumps(row[key]) for key, name in _MAPS.items() if row.get(key)}
    operation = _OPERATIONS.get(field.text(row, "type"))
    found[sc.GEN_AI_OPERATION_NAME] = operation
    if operation in {sc.OPERATION_CHAT, sc.OPERATION_EMBEDDINGS}:
        found[sc.GEN_AI_REQUEST_MODEL] = row.get("model")
        found |= _usage(row)
    if operation == sc.OPERATION_EXECUTE_TOOL:
        found[sc.GEN_AI_TOOL_NAME] = row.get("name")
    if row.get("completionStartTime") is not None:
        first_ns = field.moment(row, "completionStartTime") - start_ns
        found[sc.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] = first_ns / _SECOND
    return found


def _usage(row: Row) -> dict[str, Any]:
    """Tokens that were counted; zeros stand where nothing was."""
    details = field.mapping(row.get("usageDetails"), "usageDetails")
    found = {name: details.get(key) for name, key in _USAGE.items()}
    return {name: number for name, number in found.items() if isinstance(number, int) and number}


def _metadata(metadata: Row) -> dict[str, Any]:
    rest = field.others(metadata, "attributes", "resourceAttributes", "scope")
    return {f"langfuse.observation.metadata.{key}": value for key, value in rest.items()}


FORMAT = DocumentFormat("Langfuse export", _fits, _bodies)
