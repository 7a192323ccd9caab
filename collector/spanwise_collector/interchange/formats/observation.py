"""Measurements of a latency benchmark, one run a line: each becomes a conversation with the parts that were timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spanwise import semconv as sc
from spanwise.stages import Stage
from spanwise_collector.interchange.formats import field
from spanwise_collector.interchange.formats.field import Row
from spanwise_collector.interchange.formats.format import DocumentFormat, keys
from spanwise_collector.interchange.formats.source import SourceSpan, bodies
from spanwise_collector.interchange.piece import Body, Fault

_MUST: Final = {"run_id", "scenario", "variant", "started_at", "total_ms"}
_MILLISECOND: Final = 10**6
_SECOND: Final = 10**9
_STAGES: Final = {"mcp_discovery": Stage.MCP_LIST, "tool_execution": Stage.TOOL_LOCAL}
_MODEL: Final = frozenset({"tool_selection", "final_generation", "low_detail", "high_detail"})


def _fits(document: Any) -> bool:
    return keys(document) >= _MUST


def _bodies(document: Any) -> Iterator[Body | Fault]:
    rows = document if isinstance(document, list) else [document]
    for row in rows:
        yield from bodies(field.each([row], "", _run))
        yield from bodies(_parts(row))


def _run(row: Row) -> SourceSpan:
    start_ns = field.moment(row, "started_at")
    metadata = field.mapping(row.get("metadata"), "metadata")
    success = row.get("success")
    return SourceSpan(
        trace_id=_trace(row),
        span_id=f"{_trace(row)}/run",
        name=f"invoke_agent {field.text(row, 'scenario')}",
        kind=1,
        start_ns=start_ns,
        end_ns=start_ns + field.count(row, "total_ms", unit_ns=_MILLISECOND),
        code=2 if success is False else 0,
        attributes={
            sc.GEN_AI_CONVERSATION_ID: _trace(row),
            sc.GEN_AI_OPERATION_NAME: sc.OPERATION_INVOKE_AGENT,
            sc.EXPERIMENT_ID: field.text(row, "scenario"),
            sc.EXPERIMENT_ARM: field.text(row, "variant"),
            sc.EXPERIMENT_FIXTURE: metadata.get("fixture"),
            sc.EXPERIMENT_ROUND: metadata.get("round"),
            sc.EXPERIMENT_POSITION: metadata.get("position"),
            sc.EXPERIMENT_SEED: metadata.get("seed"),
            **{f"benchmark.{key}": value for key, value in row.items() if key not in {"timings_ms", "usage"}},
        },
    )


def _parts(row: Row) -> Iterator[SourceSpan]:
    """What was timed within, one after the other, as nobody noted when it began; else the whole as one model call."""
    run = _run(row)
    timings = field.mapping(row.get("timings_ms"), "timings_ms")
    at = run.start_ns
    for name in timings:
        end = min(run.end_ns, at + field.count(timings, name, unit_ns=_MILLISECOND))
        yield _part(run, name, at, end, _attributes(row, name, last=name == "final_generation"))
        at = end
    if not timings:
        yield _part(run, "chat", run.start_ns, run.end_ns, _attributes(row, "final_generation", last=True))


def _part(run: SourceSpan, name: str, start_ns: int, end_ns: int, attributes: dict[str, Any]) -> SourceSpan:
    return SourceSpan(
        trace_id=run.trace_id,
        span_id=f"{run.trace_id}/{name}",
        parent_id=run.span_id,
        name=name,
        start_ns=start_ns,
        end_ns=end_ns,
        attributes=attributes,
    )


def _attributes(row: Row, name: str, *, last: bool) -> dict[str, Any]:
    if name in _STAGES:
        return {sc.STAGE: _STAGES[name].value}
    if name not in _MODEL and not name.startswith("page_"):
        return {}
    usage = field.mapping(row.get("usage"), "usage") if last else {}
    first = row.get("first_token_ms")
    return {
        sc.GEN_AI_OPERATION_NAME: sc.OPERATION_CHAT,
        sc.GEN_AI_REQUEST_MODEL: row.get("model"),
        sc.GEN_AI_USAGE_INPUT_TOKENS: usage.get("input"),
        sc.GEN_AI_USAGE_OUTPUT_TOKENS: usage.get("output"),
        sc.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: usage.get("cached"),
        **({sc.RESPONSE_TIME_TO_FIRST_CONTENT: first / 1000} if _alone(row) and isinstance(first, int | float) else {}),
    }


def _alone(row: Row) -> bool:
    """Only then the first token is counted from the start of the one model call."""
    return not row.get("timings_ms")


def _trace(row: Row) -> str:
    metadata = field.mapping(row.get("metadata"), "metadata")
    parts = (row.get("run_id"), row.get("scenario"), row.get("variant"), metadata.get("fixture"), metadata.get("round"))
    return "/".join(str(part) for part in parts if part is not None)


FORMAT = DocumentFormat("runs of a latency benchmark", _fits, _bodies)
