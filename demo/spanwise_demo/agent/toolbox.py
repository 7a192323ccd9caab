"""Which tools the model is offered, and how what it calls is checked and run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from mcp_types import CallToolResult, TextContent, Tool

from spanwise_demo.agent.behaviour import Behaviour
from spanwise_demo.agent.sessions import Open, Session

_PAUSE_S = 0.12


@dataclass(frozen=True, slots=True)
class Request:
    """A call that the model asked for."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class Toolbox:
    """Tools of all open sessions; remembers the results of reading tools within the conversation."""

    behaviour: Behaviour
    open: Open
    remembered: dict[tuple[str, str], str] = field(default_factory=dict)

    def offered(self, wanted: Sequence[str]) -> list[dict[str, Any]]:
        """Function definitions for the model: those of the route, or everything there is."""
        tools = [tool for session in self.open.values() for tool in session.tools]
        if not self.behaviour.whole_catalogue:
            tools = [tool for tool in tools if tool.name in wanted]
        return [_function(tool) for tool in tools]

    async def run(self, requests: Sequence[Request]) -> list[str]:
        """The results as text, in the order of the requests."""
        if self.behaviour.dispatch_together:
            return await asyncio.gather(*(self.call(request) for request in requests))
        return [await self.call(request) for request in requests]

    async def call(self, request: Request) -> str:
        """Checks the arguments against the tool's schema and calls it; ValidationError when they do not fit."""
        session, tool = self._find(request.name)
        arguments = json.loads(request.arguments)
        jsonschema.validate(arguments, tool.input_schema)
        reads = bool(tool.annotations and tool.annotations.read_only_hint)
        known = (request.name, request.arguments)
        if self.behaviour.remember and known in self.remembered:
            return self.remembered[known]
        result = await self._try(
            session, request.name, arguments, attempts=self.behaviour.tool_attempts if reads else 1
        )
        if reads and not result.is_error:
            self.remembered[known] = _text(result)
        return _text(result)

    async def _try(self, session: Session, name: str, arguments: Mapping[str, Any], *, attempts: int) -> CallToolResult:
        for attempt in range(1, attempts):
            result = await session.client.call_tool(name, dict(arguments))
            if not result.is_error:
                return result
            await asyncio.sleep(_PAUSE_S * attempt)
        return await session.client.call_tool(name, dict(arguments))

    def _find(self, name: str) -> tuple[Session, Tool]:
        for session in self.open.values():
            for tool in session.tools:
                if tool.name == name:
                    return session, tool
        raise LookupError(f"the model called {name!r}, which no server offers")


def _function(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}


def _text(result: CallToolResult) -> str:
    """What goes back to the model: the text, and everything else as the JSON it came in."""
    said = [item.text if isinstance(item, TextContent) else item.model_dump_json() for item in result.content]
    return "\n".join(said)
