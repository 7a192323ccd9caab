"""Makes a server take its declared time, fail as often as declared, and refuse what it is too old for."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from spanwise_demo.servers.settings import Settings

_JITTER = 0.05


class Conduct:
    """Settings in action; counts the calls it has seen."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._calls: Counter[tuple[str, str]] = Counter()
        self._chance = random.Random(settings.seed)  # noqa: S311 - reproducible jitter, not a secret

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Slows listing, and refuses discovery where the server is declared too old to know it."""
        if ctx.method == "server/discover" and self.settings.legacy_ms is not None:
            await self._wait(self.settings.legacy_ms)
            raise MCPError(code=METHOD_NOT_FOUND, message="unknown method")
        if ctx.method == "tools/list":
            await self._wait(self.settings.list_ms)
        return await call_next(ctx)

    async def work(self, tool: str, argument: str) -> None:
        """The tool's working time; ToolError while it is declared to fail for this argument."""
        await self._wait(self.settings.handlers_ms.get(tool, self.settings.handler_ms))
        self._calls[tool, argument] += 1
        if self._calls[tool, argument] <= self.settings.failures.get(tool, 0):
            raise ToolError(f"{tool}: the service behind it did not answer")

    async def _wait(self, milliseconds: float) -> None:
        await asyncio.sleep(milliseconds * (1.0 + _JITTER * self._chance.uniform(-1.0, 1.0)) / 1000)
