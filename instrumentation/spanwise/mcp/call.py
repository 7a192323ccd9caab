"""One MCP request as its caller sees it: sent, answered, validated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Status, StatusCode, get_current_span
from opentelemetry.util.types import AttributeValue

from spanwise import semconv, toolruns
from spanwise.mcp import handshake, listing, scope, toolcall
from spanwise.mcp.connection import Connection
from spanwise.safety import guarded

NAMED: Final = frozenset({semconv.MCP_TOOLS_CALL, "prompts/get"})  # their params have a name of low cardinality
_NS = 1e9

_current: ContextVar[Call | None] = ContextVar("spanwise_mcp_call", default=None)
hidden: ContextVar[bool] = ContextVar("spanwise_mcp_hidden", default=False)  # the SDK asks by itself


class Call(scope.Scope):
    """The span of one request.

    It may be opened before the request is on its way (``sent`` is False until then), so that it covers what the
    SDK does around it.
    """

    def __init__(
        self, connection: Connection, method: str, name: str | None = None, *, start_ns: int | None = None
    ) -> None:
        super().__init__(f"{method} {name}" if name else method, connection, start_ns=start_ns)
        self.method = method
        self.target = name
        self.sent = False
        self.direct = False  # the server runs in this very task
        self.hit = False  # answered by the client's own cache
        self.params: Mapping[str, Any] = {}
        self.result: Mapping[str, Any] | None = None
        self.request_id: str | None = None
        self.key: Any = None  # the request's id as the SDK keeps it
        self.call_id = _enclosing_call_id() if method == semconv.MCP_TOOLS_CALL else None
        self.rounds: int | None = None
        self.progress = 0
        self.reconnects = 0
        self.list_changes = connection.list_changes  # the connection's count when this began
        self.validation_ns: int | None = None
        self.cold = False  # the first request waits until a server that was just started is there
        self.hidden = hidden.get()
        self.hidden_ns = 0  # of requests that the SDK made by itself inside this one
        self.outer = _current.get()
        self.context = Context()  # the one that the request is sent in
        self._mark: Token[Call | None] | None = None

    def takes(self, connection: Connection, method: str) -> bool:
        """Whether a request that goes out now is this one."""
        return not self.sent and self.connection is connection and self.method == method

    @guarded
    def send(self, params: Mapping[str, Any] | None) -> None:
        """The request goes out."""
        self.sent = True
        self.params = params or {}
        self.connection.requests += 1
        self.cold = self.connection.requests == 1 and self.connection.spawned
        if self.method == semconv.MCP_DISCOVER:
            self.connection.probed = True
        elif self.method != semconv.MCP_INITIALIZE and not self.connection.ready:
            self.connection.finish_connecting()

    def parent(self) -> Context | None:
        """A handshake outside any span belongs to the connecting."""
        return scope.rootless(self.connection) if self.method in semconv.MCP_HANDSHAKE_METHODS else None

    def known(self) -> Mapping[str, AttributeValue]:
        """Method and target."""
        return named(self.method, self.target)

    def entered(self) -> None:
        """Requests that are sent from here find this call."""
        self._mark = _current.set(self)
        self.context = otel_context.get_current()
        if self.call_id is not None:
            toolruns.ran(self.call_id, self.span)

    def left(self) -> None:
        """The call that this one was made in is current again."""
        if self._mark is not None:
            _current.reset(self._mark)
        if self.hidden and self.outer is not None:
            self.outer.hidden_ns += self.end_ns - self.start_ns

    def write(self) -> None:
        """End the span, unless it is a failed probe: it is written when the greeting has told the server's name."""
        if self.method == semconv.MCP_DISCOVER and self.result is None and not self.connection.ready:
            self.connection.nameless.append(self)
        else:
            self.settle()

    @guarded
    def settle(self) -> None:
        """End the span; a tool that answers with an error has failed, although the request succeeded."""
        agreed = self.result if self.method in semconv.MCP_HANDSHAKE_METHODS else None
        try:
            if agreed is not None:
                handshake.learn(self.connection, self.method, agreed)
            if self.result is not None:
                listing.remember(self.connection.hints, self.method, self.result)
            if toolcall.is_error(self.method, self.result):
                self.span.set_attribute(semconv.ERROR_TYPE, semconv.ERROR_TOOL)
                self.span.set_status(Status(StatusCode.ERROR))
        finally:
            super().settle()
            self.params, self.result = {}, None  # contexts of tasks may hold this long after
            if agreed is not None and not self.connection.ready:
                self.connection.finish_connecting()

    def attributes(self) -> dict[str, AttributeValue]:
        """Connection, request, answer, and what the client did around them."""
        found = super().attributes() | self._facts()
        if self.params:
            found |= toolcall.request(self.method, self.params)
        if self.result is not None:
            found |= answer(self.method, self.params, self.result)
        if self.method == semconv.MCP_TOOLS_CALL:
            found |= listing.hints(self.connection.hints.get(self.target or ""))
        if self.method == semconv.MCP_INITIALIZE:
            found[semconv.MCP_FALLBACK] = self.connection.probed
        if self.method == semconv.MCP_DISCOVER and self.result is None:
            found.pop(semconv.MCP_PROTOCOL_VERSION, None)  # agreed on later, not here
        return found

    def _facts(self) -> dict[str, AttributeValue]:
        validation = None if self.validation_ns is None else max(0, self.validation_ns - self.hidden_ns) / _NS
        found: dict[str, AttributeValue | None] = {
            semconv.JSONRPC_REQUEST_ID: self.request_id,
            semconv.GEN_AI_TOOL_CALL_ID: self.call_id,
            semconv.MCP_HIDDEN: self.hidden if self.method in semconv.MCP_LIST_METHODS else None,
            semconv.MCP_CACHE_HIT: self.hit if self.hit or self.method in semconv.MCP_LIST_METHODS else None,
            semconv.MCP_COLD: self.cold or None,
            semconv.MCP_ROUNDS: self.rounds,
            semconv.MCP_PROGRESS_COUNT: self.progress or None,
            semconv.MCP_RECONNECTS: self.reconnects or None,
            semconv.MCP_LIST_CHANGES: self.connection.list_changes - self.list_changes or None,
            semconv.MCP_VALIDATION_TIME: validation,
        }
        return {name: value for name, value in found.items() if value is not None}


@contextmanager
def resumed(call: Call) -> Iterator[None]:
    """The block, in a task that knows nothing of ``call``, is part of it."""
    mark, token = _current.set(call), otel_context.attach(call.context)
    try:
        yield
    finally:
        otel_context.detach(token)
        _current.reset(mark)


def current() -> Call | None:
    """The innermost request that this context is part of; it may be over already."""
    return _current.get()


def named(method: str, target: str | None) -> dict[str, AttributeValue]:
    """What a span is about, known when it begins; for either side."""
    found: dict[str, AttributeValue] = {semconv.MCP_METHOD_NAME: method}
    if method == semconv.MCP_TOOLS_CALL:
        found[semconv.GEN_AI_OPERATION_NAME] = semconv.OPERATION_EXECUTE_TOOL
    if method in NAMED and target:
        key = semconv.GEN_AI_TOOL_NAME if method == semconv.MCP_TOOLS_CALL else semconv.GEN_AI_PROMPT_NAME
        found[key] = target
    return found


def _enclosing_call_id() -> str | None:
    """The model's id of the tool call, where a span around the request names it."""
    enclosing = getattr(get_current_span(), "attributes", None) or {}
    found = enclosing.get(semconv.GEN_AI_TOOL_CALL_ID)
    return found if isinstance(found, str) else None


def answer(method: str, params: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """What an answer says."""
    if method in semconv.MCP_HANDSHAKE_METHODS:
        return handshake.attributes(method, result)
    if method in semconv.MCP_LIST_METHODS:
        return listing.attributes(method, params, result)
    return toolcall.answer(method, result)
