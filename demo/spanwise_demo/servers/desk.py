"""What all servers of the shop share: tools with annotations, a declared conduct, one way to register."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from spanwise_demo.servers.conduct import Conduct
from spanwise_demo.servers.settings import Settings
from spanwise_demo.servers.wording import describe

OrderId = Annotated[str, Field(pattern=r"^R-\d{6}$")]
CustomerId = Annotated[str, Field(pattern=r"^C-\d{5}$")]
TrackingNumber = Annotated[str, Field(pattern=r"^TRK\d{8}$")]

READ = ToolAnnotations(read_only_hint=True, idempotent_hint=True, destructive_hint=False)
WRITE = ToolAnnotations(read_only_hint=False, idempotent_hint=True, destructive_hint=False)


class Desk:
    """An MCP server with its conduct; tools return text only, as slim as they are written."""

    def __init__(self, name: str, settings: Settings) -> None:
        # A server that must load much before it can answer; whoever waits for its first answer waits for this.
        time.sleep(settings.startup_ms / 1000)
        self.conduct = Conduct(settings)
        self.server: MCPServer[Any] = MCPServer(
            name,
            version="1.4.0",
            log_level="WARNING",
            middleware=[self.conduct.middleware],
            cache_hints={"tools/list": CacheHint(ttl_ms=settings.list_ttl_ms, scope="public")},
        )

    def add(self, tool: Callable[..., Any], point: str, *, annotations: ToolAnnotations = READ) -> None:
        """Registers a tool under its function's name, described as wordily as the settings say."""
        description = describe(point, self.conduct.settings.wording)
        self.server.add_tool(tool, description=description, annotations=annotations, structured_output=False)


def told(record: dict[str, Any]) -> str:
    """A record as the text of a tool result."""
    return json.dumps(record)
