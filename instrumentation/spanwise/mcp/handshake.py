"""What client and server agreed on when they met."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.mcp.connection import Connection

_NAMES: Final = {semconv.MCP_INITIALIZE: "initialize", semconv.MCP_DISCOVER: "discover"}


def learn(connection: Connection, method: str, result: Mapping[str, Any]) -> None:
    """Let the connection know the server's name, version and protocol."""
    server = _server(result)
    connection.server_name = str(server.get("name") or "")
    connection.server_version = str(server.get("version") or "")
    connection.protocol = _protocol(result)
    connection.handshake = _NAMES[method]


def adopted(connection: Connection, session: Any) -> None:
    """As ``learn``, for a session that was given its agreement without asking the server."""
    connection.protocol = session.protocol_version or connection.protocol
    info = session.server_info
    if info is not None:
        connection.server_name, connection.server_version = info.name, info.version


def attributes(method: str, result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The agreement as attributes, for either side."""
    found: dict[str, AttributeValue] = {semconv.MCP_HANDSHAKE: _NAMES[method]}
    if protocol := _protocol(result):
        found[semconv.MCP_PROTOCOL_VERSION] = protocol
    server = _server(result)
    for name, key in ((semconv.MCP_SERVER_NAME, "name"), (semconv.MCP_SERVER_VERSION, "version")):
        if server.get(key):
            found[name] = str(server[key])
    capabilities = result.get("capabilities")
    if isinstance(capabilities, Mapping):
        found[semconv.MCP_CAPABILITIES] = sorted(name for name, value in capabilities.items() if value is not None)
    return found


def _server(result: Mapping[str, Any]) -> Mapping[str, Any]:
    server = result.get("serverInfo")
    if server is None and "supportedVersions" in result:
        server = _stamped(result.get("_meta"))
    return server if isinstance(server, Mapping) else {}


def _stamped(meta: Any) -> Any:
    if not isinstance(meta, Mapping):
        return None
    from mcp_types import SERVER_INFO_META_KEY

    return meta.get(SERVER_INFO_META_KEY)


def _protocol(result: Mapping[str, Any]) -> str:
    supported = result.get("supportedVersions")
    if not isinstance(supported, list):
        return str(result.get("protocolVersion") or "")
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    return next((version for version in reversed(MODERN_PROTOCOL_VERSIONS) if version in supported), "")
