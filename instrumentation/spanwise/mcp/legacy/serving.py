"""The server's side of a request on 1.x, where the SDK makes no span: from the handler's start to its answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar, Token
from importlib import import_module
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, Status, StatusCode, get_current_span, set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.mcp import call, failure, handled, toolcall
from spanwise.mcp.connection import Connection
from spanwise.mcp.legacy.wire import Outgoing
from spanwise.mcp.patch import Patches
from spanwise.mcp.scope import Scope, around
from spanwise.mcp.serving import rejoined
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_PARAMETERS: Final = ("name", "arguments", "uri", "cursor")

_current: ContextVar[Handling | None] = ContextVar("spanwise_mcp_handling", default=None)


class Handling(Scope):
    """The SERVER span of one request."""

    kind = SpanKind.SERVER

    def __init__(self, responder: Any, session: Any) -> None:
        message = responder.request.root
        self.responder = responder
        self.method = message.method
        self.params = _parameters(message)
        self.target = self.params.get("name") if self.method in call.NAMED else None
        self.result: Mapping[str, Any] | None = None
        self.code: int | None = None
        self._session = session
        self._meta = _meta(responder)
        self._request = getattr(responder.message_metadata, "request_context", None)
        self._ambient = get_current_span()
        self._answered = False
        self._mark: Token[Handling | None] | None = None
        super().__init__(f"{self.method} {self.target}" if self.target else self.method, Connection())

    def parent(self) -> Context | None:
        """The caller, as the message names it, else as the HTTP request does."""
        carrier = handled.carrier(self._meta, self._request)
        found = None if carrier is None else extract(carrier)
        return found if found is not None and get_current_span(found).get_span_context().is_valid else None

    def inside(self) -> Context:
        """The handler runs in its caller's conversation."""
        return set_span_in_context(self.span, rejoined(self._meta, self._request))

    def known(self) -> Mapping[str, AttributeValue]:
        """Method, target and number."""
        return call.named(self.method, self.target) | {semconv.JSONRPC_REQUEST_ID: str(self.responder.request_id)}

    def entered(self) -> None:
        """The answer finds this."""
        self._mark = _current.set(self)
        handled.link(self.span, self._ambient)

    def left(self) -> None:
        """Over."""
        if self._mark is not None:
            _current.reset(self._mark)

    def failure(self, error: BaseException | None) -> BaseException | None:
        """What left the handler; one that ends without either an error or an answer was not wanted any more."""
        if error is None and not self._answered:
            failure.mark_cancelled(self.span)
        return error

    def answered(self, response: Any) -> Any:
        """The handler is done: the time it took is fixed. Answers what to send, so that we see it as it is sent."""
        self.end_ns, self._answered = time.time_ns(), True
        code = getattr(response, "code", None)
        if isinstance(code, int):
            self.code = code
            return response
        return Outgoing(response, self._sent)

    @guarded
    def _sent(self, data: dict[str, Any]) -> None:
        self.result = data

    @guarded
    def settle(self) -> None:
        """End the span; an error that was answered is the request's failure."""
        failed = None if self.code is None else str(self.code)
        if failed is not None:
            self.span.set_attributes({semconv.ERROR_TYPE: failed, semconv.RPC_RESPONSE_STATUS_CODE: failed})
        if toolcall.is_error(self.method, self.result):
            failed = semconv.ERROR_TOOL
            self.span.set_attribute(semconv.ERROR_TYPE, failed)
        if failed is not None:
            self.span.set_status(Status(StatusCode.ERROR))
        super().settle()

    def attributes(self) -> dict[str, AttributeValue]:
        """What was asked and answered."""
        found = handled.transport(self._request) | handled.request(self.method, self.params)
        if protocol := _protocol(self._session):
            found[semconv.MCP_PROTOCOL_VERSION] = protocol
        if self.result is not None:
            found |= handled.outline(self.method, self.params, self.result)
        return found


def install(patches: Patches) -> None:
    """Watch requests being handled and answered; the handshake passes elsewhere than all others."""
    patches.wrap("mcp.server.lowlevel.server:Server", "_handle_request", _handle)
    patches.wrap("mcp.server.session:ServerSession", "_received_request", _greet)
    patches.wrap("mcp.shared.session:RequestResponder", "respond", _respond)


async def _handle(wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(_handling(*args, **kwargs)):
        return await wrapped(*args, **kwargs)


async def _greet(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(_greeting(instance, *args, **kwargs)):
        return await wrapped(*args, **kwargs)


async def _respond(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    work = _current.get()
    if work is None or work.responder is not instance or not args:
        return await wrapped(*args, **kwargs)
    return await wrapped(_answered(work, *args) or args[0], *args[1:], **kwargs)


@guarded
def _handling(message: Any, _req: Any, session: Any, *_: Any, **__: Any) -> Handling:
    return Handling(message, session)


@guarded
def _greeting(session: Any, responder: Any) -> Handling | None:
    return Handling(responder, session) if responder.request.root.method == semconv.MCP_INITIALIZE else None


@guarded
def _answered(work: Handling, response: Any) -> Any:
    return work.answered(response)


def _meta(responder: Any) -> Mapping[str, Any] | None:
    found = getattr(responder.request_meta, "model_extra", None)
    return found if isinstance(found, Mapping) else None


def _parameters(message: Any) -> dict[str, Any]:
    params = getattr(message, "params", None)
    found = {name: getattr(params, name, None) for name in _PARAMETERS}
    if found["uri"] is not None:
        found["uri"] = str(found["uri"])  # a URL of pydantic
    return found


def _protocol(session: Any) -> str:
    from mcp.types import LATEST_PROTOCOL_VERSION

    asked = getattr(session.client_params, "protocolVersion", None)
    if asked is None:
        return ""
    supported = import_module("mcp.shared.version").SUPPORTED_PROTOCOL_VERSIONS  # gone in 2.x
    return str(asked if asked in supported else LATEST_PROTOCOL_VERSION)
