"""One call of a tool, whether seen as an application function, an MCP request, or both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spanwise import semconv
from spanwise_analyzer.role import Role
from spanwise_analyzer.rules.facts.failure import failed
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span, SpanKey


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: the outermost span that stands for it, and every span that carries its attributes, outermost first."""

    node: Node
    spans: tuple[Span, ...]

    @property
    def key(self) -> SpanKey:
        """Key of the outermost span."""
        return self.node.key

    @property
    def name(self) -> str | None:
        """The tool's name."""
        return self.text(semconv.GEN_AI_TOOL_NAME)

    @property
    def server(self) -> str | None:
        """Name of the MCP server, None for an application function."""
        return self.text(semconv.MCP_SERVER_NAME)

    @property
    def failed(self) -> bool:
        """Whether any of its spans says that the call failed."""
        return any(failed(span) for span in self.spans)

    @property
    def call_id(self) -> str | None:
        """The id that the model gave the call."""
        return self.text(semconv.GEN_AI_TOOL_CALL_ID)

    @property
    def same_call(self) -> tuple[str | None, str | None, str, str | None] | None:
        """Equal for calls of one tool with equal arguments; None when the arguments are unknown."""
        digest = self.text(semconv.TOOL_ARGS_HASH)
        return (self.server, self.name, digest, self.key_id) if digest and self.name else None

    @property
    def key_id(self) -> str | None:
        """Key under which the hashes were made."""
        return self.text(semconv.HASH_KEY_ID)

    @property
    def harmless(self) -> bool:
        """Known to be read-only or idempotent."""
        return self.flag(semconv.TOOL_READ_ONLY) is True or self.flag(semconv.TOOL_IDEMPOTENT) is True

    @property
    def read_only(self) -> bool:
        """Known to change nothing."""
        return self.flag(semconv.TOOL_READ_ONLY) is True

    def text(self, name: str) -> str | None:
        """The attribute on the outermost span that has it."""
        return next((value for span in self.spans if (value := span.text(name)) is not None), None)

    def integer(self, name: str) -> int | None:
        """The attribute on the outermost span that has it."""
        return next((value for span in self.spans if (value := span.integer(name)) is not None), None)

    def flag(self, name: str) -> bool | None:
        """The attribute on the outermost span that has it."""
        return next((value for span in self.spans if (value := span.flag(name)) is not None), None)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """The list on the outermost span that has it; None when no span has it, empty when it is empty."""
        return next((span.texts(name) for span in self.spans if name in span.attributes), None)

    def work(self) -> list[Node]:
        """The nodes of the tool's own work: its server's, else the function's; empty where neither is known."""
        below = list(self.node.walk())
        servers = [node for node in below if node.role is Role.MCP_SERVER]
        if servers:
            return servers
        remote = any(node.role is Role.MCP_CLIENT for node in below)
        return [] if remote else [self.node]


def stands_for_call(node: Node) -> bool:
    """Whether a span is a tool call: an executed function, or a tools/call seen from either side."""
    if node.role in {Role.MCP_CLIENT, Role.MCP_SERVER}:
        return node.record.text(semconv.MCP_METHOD_NAME) == semconv.MCP_TOOLS_CALL
    return node.role is Role.TOOL


def tool_call(node: Node) -> ToolCall:
    """The call whose outermost span is this one; what an agent inside the tool calls is not part of it."""
    return ToolCall(node, (node.record, *(span for child in node.children for span in _spans(child))))


def _spans(node: Node) -> Iterator[Span]:
    """Spans of the same call from the same side: what a server says of it is hashed under another key."""
    if node.role in {Role.AGENT, Role.MCP_SERVER}:
        return
    if stands_for_call(node):
        yield node.record
    for child in node.children:
        yield from _spans(child)
