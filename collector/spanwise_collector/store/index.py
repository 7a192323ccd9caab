"""What is noted beside the spans of one commit, so that nobody scans them to find out: traces touched, MCP requests."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from spanwise import semconv as sc
from spanwise_collector.dialect import TOOL_CALL
from spanwise_collector.span import Kind

_AGENTIC: Final = pa.array(
    sorted({*sc.INFERENCE_OPERATIONS, *sc.AGENT_OPERATIONS, sc.OPERATION_EMBEDDINGS, sc.OPERATION_EXECUTE_TOOL})
)
# Column of the spans: column of the requests.
_REQUEST: Final = {
    "trace_id": "trace_id",
    "span_id": "span_id",
    "mcp_method": "method",
    "mcp_session": "session",
    "request_id": "request_id",
    "tool": "tool",
    "server_address": "address",
    "mcp_server": "server",
    "service": "service",
    "start_ns": "start_ns",
    "end_ns": "end_ns",
}
_TOUCH: Final = ["trace_id", "conversation_id"]
# Made once: Arrow takes a quarter of a millisecond to see what a Python number or text is.
_CLIENT: Final = pa.scalar(int(Kind.CLIENT), pa.int32())
_SERVER: Final = pa.scalar(int(Kind.SERVER), pa.int32())
_CALL: Final = pa.scalar(TOOL_CALL)
_FALSE: Final = pa.scalar(value=False)
_NO_BYTES: Final = pa.scalar(0, pa.int32())


def touches(spans: pa.Table) -> pa.Table:
    """One row for each trace and conversation: how long, how many spans, and whether there is agents' work in it."""
    served = pc.fill_null(pc.and_(pc.equal(spans["kind"], _SERVER), pc.equal(spans["mcp_method"], _CALL)), _FALSE)
    known = pc.is_in(spans["operation"], value_set=_AGENTIC)
    agentic = pc.or_(pc.and_not(known, served), pc.is_valid(spans["step"]))
    narrow = spans.select([*_TOUCH, "start_ns", "end_ns"]).append_column("agentic", agentic)
    narrow = narrow.append_column("served", served)
    sums = [("start_ns", "min"), ("end_ns", "max"), ([], "count_all"), ("agentic", "any"), ("served", "any")]
    grouped = narrow.group_by(_TOUCH, use_threads=False).aggregate(sums)
    return grouped.rename_columns([*_TOUCH, "start_ns", "end_ns", "spans", "agentic", "served"])


def clients(spans: pa.Table) -> pa.Table:
    """The MCP requests that clients sent."""
    return _requests(spans, pc.equal(spans["kind"], _CLIENT))


def servers(spans: pa.Table) -> pa.Table:
    """The MCP requests that servers handled whose client nobody named: no parent span."""
    orphan = pc.equal(pc.binary_length(spans["parent_id"]), _NO_BYTES)
    return _requests(spans, pc.and_(pc.equal(spans["kind"], _SERVER), orphan))


def _requests(spans: pa.Table, wanted: pa.ChunkedArray) -> pa.Table:
    numbered = pc.and_(pc.is_valid(spans["mcp_method"]), pc.is_valid(spans["request_id"]))
    found = spans.select(list(_REQUEST)).filter(pc.and_(wanted, numbered))
    return found.rename_columns(list(_REQUEST.values()))
