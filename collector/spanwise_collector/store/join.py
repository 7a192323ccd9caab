"""Which MCP server span belongs to which client span when they are in different traces."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

# Only what is asked for is joined: request ids restart with every connection, so joining everything would pair the
# first request of each client with that of each server.
Filter: TypeAlias = Literal["client.trace_id", "server.trace_id", "client.seq", "server.seq"]
_ASKED: Final[dict[Filter, str]] = {
    "client.trace_id": "c.trace_id IN (SELECT unnest($traces))",
    "server.trace_id": "s.trace_id IN (SELECT unnest($traces))",
    "client.seq": "c.seq > $after AND c.seq <= $upto",
    "server.seq": "s.seq > $after AND s.seq <= $upto",
}

# Without a session (protocol 2026-07-28, stdio) a pair has the same request id, method and tool, the client knows the
# server by one of its names, and its interval holds the server's. Clock skew is not corrected here, so such a pair on
# skewed hosts stays apart.
_FITS: Final = """
    c.request_id = s.request_id AND c.method = s.method AND c.session IS NULL AND s.session IS NULL
    AND c.tool IS NOT DISTINCT FROM s.tool
    AND (c.address IN (s.address, s.service) OR c.server IN (s.server, s.service))
    AND c.start_ns <= s.start_ns AND s.end_ns <= c.end_ns
"""


def joined(asked: Filter) -> str:
    """SQL for (client_trace, server_trace, server_span) of cross-trace pairs, filtered by one side.

    Parameters: ``$traces`` (list of BLOB) or ``$after`` and ``$upto``. Copies from redelivery count once.
    """
    where = _ASKED[asked]
    return f"""
    WITH loose AS (
        SELECT DISTINCT c.trace_id AS client_trace, c.span_id AS client_span,
            s.trace_id AS server_trace, s.span_id AS server_span
        FROM mcp_clients c JOIN mcp_servers s ON {_FITS}
        WHERE {where}
    ),
    one_client AS (
        SELECT s.trace_id AS server_trace, s.span_id AS server_span
        FROM mcp_servers s SEMI JOIN loose l ON s.trace_id = l.server_trace AND s.span_id = l.server_span
        JOIN mcp_clients c ON {_FITS}
        GROUP BY ALL HAVING count(DISTINCT (c.trace_id, c.span_id)) = 1
    ),
    one_server AS (
        SELECT c.trace_id AS client_trace, c.span_id AS client_span
        FROM mcp_clients c SEMI JOIN loose l ON c.trace_id = l.client_trace AND c.span_id = l.client_span
        JOIN mcp_servers s ON {_FITS}
        GROUP BY ALL HAVING count(DISTINCT (s.trace_id, s.span_id)) = 1
    )
    SELECT c.trace_id AS client_trace, s.trace_id AS server_trace, s.span_id AS server_span
    FROM mcp_clients c JOIN mcp_servers s USING (session, request_id, method)
    WHERE c.trace_id <> s.trace_id AND {where}
    UNION
    SELECT client_trace, server_trace, server_span
    FROM loose SEMI JOIN one_client USING (server_trace, server_span)
        SEMI JOIN one_server USING (client_trace, client_span)
    WHERE client_trace <> server_trace
    """  # noqa: S608  # every part is a constant of this module
