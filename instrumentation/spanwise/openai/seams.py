"""Where the SDK is opened: its one way to send a request, its one way to try, its one way to read a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from openai import AsyncStream, Stream
from openai._base_client import AsyncAPIClient, SyncAPIClient

from spanwise.neighbours import silenced
from spanwise.openai import attempting, backend
from spanwise.openai.attempting import call_of
from spanwise.openai.call import ModelCall
from spanwise.openai.route import FETCH, route
from spanwise.openai.sending import sending
from spanwise.openai.stream import AsyncTap, Tap, watch
from spanwise.safety import guarded
from spanwise.seam import Seam

_on = False


def install() -> None:
    """Open all seams."""
    global _on  # noqa: PLW0603 - one process has one SDK
    _on = True
    for seam in _SEAMS:
        seam.open()
    backend.install()


def uninstall() -> None:
    """Close them again, the last first; one that others have wrapped stays, and does nothing any more."""
    global _on  # noqa: PLW0603 - as above
    _on = False
    backend.uninstall()
    for seam in reversed(_SEAMS):
        seam.close()


def _request(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def request(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin(self, args, kwargs)
        if call is None:
            return original(self, *args, **kwargs)
        with sending(call):
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
        with sending(call):
            result = await original(self, *args, **kwargs)
        _returned(call, result)
        return result

    return request


def _stream(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def iterator(self: Any) -> Any:
        call = call_of(self.response)
        source = original(self)
        return source if call is None else Tap(source, call)

    return iterator


def _async_stream(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def iterator(self: Any) -> Any:
        call = call_of(self.response)
        source = original(self)
        return source if call is None else AsyncTap(source, call)

    return iterator


@guarded
def _begin(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ModelCall | None:
    if not _on:
        return None
    options = kwargs.get("options", args[1] if len(args) > 1 else None)
    found = route(options.method, options.url) if options is not None else None
    body = _body(options)
    if found is None or (body is None and found is not FETCH) or silenced():
        return None
    asked = body or {}
    return ModelCall(found, client, asked, streamed=asked.get("stream") is True or kwargs.get("stream") is True)


def _body(options: Any) -> Mapping[str, Any] | None:
    body, extra = getattr(options, "json_data", None), getattr(options, "extra_json", None)
    if not isinstance(body, Mapping):
        return None
    return {**body, **extra} if isinstance(extra, Mapping) else body


@guarded
def _returned(call: ModelCall, result: Any) -> None:
    response = call.take_response()
    if response is None:
        call.finish()
        return
    if isinstance(result, Stream | AsyncStream):
        # First of all: a transport that replays answers has closed the response before anybody read it.
        if response.is_closed:
            call.received(len(response.content))
        watch(response, call)
    elif response.is_closed:
        _read(call, result, response)
        call.finish()
    else:
        watch(response, call)


def _read(call: ModelCall, result: Any, response: Any) -> None:
    """Take the answer as the SDK parsed it, or its body where the program asked for the raw response."""
    if hasattr(result, "http_response") or result is response:
        call.read(response)
    else:
        call.whole(result, len(response.content))


_SEAMS = (
    Seam(SyncAPIClient, "request", _request),
    Seam(AsyncAPIClient, "request", _async_request),
    *attempting.SEAMS,
    Seam(Stream, "__stream__", _stream),
    Seam(AsyncStream, "__stream__", _async_stream),
)
