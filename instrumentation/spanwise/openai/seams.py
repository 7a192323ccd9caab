"""Where the SDK is opened: its one way to send a request, its one way to try, its one way to read a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

from openai import AsyncStream, Stream
from openai._base_client import AsyncAPIClient, SyncAPIClient
from opentelemetry.instrumentation.utils import is_instrumentation_enabled

from spanwise.connection import observe
from spanwise.openai.call import ModelCall, current
from spanwise.openai.route import route
from spanwise.openai.stream import AsyncTap, Tap, watch
from spanwise.safety import guarded
from spanwise.seam import Seam

# Weak, so that an answer nobody holds any more is noticed.
_by_response: WeakKeyDictionary[Any, ModelCall] = WeakKeyDictionary()


_on = False


def install() -> None:
    """Open all seams."""
    global _on  # noqa: PLW0603 - one process has one SDK
    _on = True
    for seam in _SEAMS:
        seam.open()


def uninstall() -> None:
    """Close them again, the last first; one that others have wrapped stays, and does nothing any more."""
    global _on  # noqa: PLW0603 - as above
    _on = False
    for seam in reversed(_SEAMS):
        seam.close()


def _request(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def request(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin(self, args, kwargs)
        if call is None:
            return original(self, *args, **kwargs)
        with call.sending():
            result = original(self, *args, **kwargs)
        _returned(call, result)
        return result

    return request


def _async_request(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def request(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin(self, args, kwargs)
        if call is None:
            return await original(self, *args, **kwargs)
        with call.sending():
            result = await original(self, *args, **kwargs)
        _returned(call, result)
        return result

    return request


def _send(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def send(self: Any, request: Any, **kwargs: Any) -> Any:
        call = _sent(request, asynchronous=False)
        try:
            response = original(self, request, **kwargs)
        except BaseException as error:
            _lost(call, error)
            raise
        _answered(call, response)
        return response

    return send


def _async_send(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def send(self: Any, request: Any, **kwargs: Any) -> Any:
        call = _sent(request, asynchronous=True)
        try:
            response = await original(self, request, **kwargs)
        except BaseException as error:
            _lost(call, error)
            raise
        _answered(call, response)
        return response

    return send


def _stream(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def iterator(self: Any) -> Any:
        call = _by_response.get(self.response)
        source = original(self)
        return source if call is None else Tap(source, call)

    return iterator


def _async_stream(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def iterator(self: Any) -> Any:
        call = _by_response.get(self.response)
        source = original(self)
        return source if call is None else AsyncTap(source, call)

    return iterator


@guarded
def _begin(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ModelCall | None:
    if not _on:
        return None
    options = kwargs.get("options", args[1] if len(args) > 1 else None)
    found = route(options.method, options.url) if options is not None else None
    body = getattr(options, "json_data", None)
    if found is None or not isinstance(body, Mapping) or not is_instrumentation_enabled():
        return None
    extra = getattr(options, "extra_json", None)
    return ModelCall(found, client, {**body, **extra} if isinstance(extra, Mapping) else body)


@guarded
def _sent(request: Any, *, asynchronous: bool) -> ModelCall | None:
    call = current.get()
    if call is not None:
        call.attempt(request)
        if call.last_attempt is not None:
            observe(request.extensions, guarded(call.last_attempt.connection.event), asynchronous=asynchronous)
    return call


@guarded
def _lost(call: ModelCall | None, error: BaseException) -> None:
    if call is not None and call.last_attempt is not None:
        call.last_attempt.failed(error)


@guarded
def _answered(call: ModelCall | None, response: Any) -> None:
    if call is not None:
        call.answered(response)
        _by_response[response] = call


@guarded
def _returned(call: ModelCall, result: Any) -> None:
    response = call.take_response()
    if response is None:
        call.finish()
    elif isinstance(result, Stream | AsyncStream):
        # First of all: a transport that replays answers has closed the response before anybody read it.
        if response.is_closed:
            call.received(len(response.content))
        watch(response, call, tapped=True)
    elif response.is_closed:
        _read(call, result, response)
        call.finish()
    else:
        watch(response, call, tapped=False)


def _read(call: ModelCall, result: Any, response: Any) -> None:
    """Take the answer as the SDK parsed it, or its body where the program asked for the raw response."""
    if hasattr(result, "http_response") or result is response:
        call.read(response)
    else:
        call.whole(result, len(response.content))


_SEAMS = (
    Seam(SyncAPIClient, "request", _request),
    Seam(AsyncAPIClient, "request", _async_request),
    Seam(SyncAPIClient, "_send_request", _send),
    Seam(AsyncAPIClient, "_send_request", _async_send),
    Seam(Stream, "__stream__", _stream),
    Seam(AsyncStream, "__stream__", _async_stream),
)
