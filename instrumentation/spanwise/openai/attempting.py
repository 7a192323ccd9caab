"""Where the SDK hands one HTTP request to its HTTP client: once for each attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

from openai._base_client import AsyncAPIClient, SyncAPIClient

from spanwise.connection import Connection, Heard, listen
from spanwise.openai.call import ModelCall
from spanwise.openai.sending import current
from spanwise.safety import guarded
from spanwise.seam import Seam

# Weak, so that an answer nobody holds any more is noticed.
_by_response: WeakKeyDictionary[Any, ModelCall] = WeakKeyDictionary()


def _heard(connection: Connection) -> Heard:
    return guarded(lambda name, _: connection.event(name))


def call_of(response: Any) -> ModelCall | None:
    """The model call that ``response`` answers."""
    try:
        return _by_response.get(response)
    except TypeError:  # something of a test's own that no weak reference can be made to
        return None


def _send(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        call = _sent(self, request, asynchronous=False)
        if call is None:
            return original(self, request, *args, **kwargs)
        try:
            response = original(self, request, *args, **kwargs)
        except BaseException as error:
            _lost(call, error)
            raise
        _answered(call, response)
        return response

    return send


def _async_send(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        call = _sent(self, request, asynchronous=True)
        if call is None:
            return await original(self, request, *args, **kwargs)
        try:
            response = await original(self, request, *args, **kwargs)
        except BaseException as error:
            _lost(call, error)
            raise
        _answered(call, response)
        return response

    return send


@guarded
def _sent(sender: Any, request: Any, *, asynchronous: bool) -> ModelCall | None:
    call = current.get()
    if call is None or not call.sends_by(sender):
        return None
    call.attempt(request)
    if call.last_attempt is not None:
        heard = _heard(call.last_attempt.connection)
        listen(request.extensions, heard, part="attempt", asynchronous=asynchronous)
    return call


@guarded
def _lost(call: ModelCall, error: BaseException) -> None:
    if call.last_attempt is not None:
        call.last_attempt.failed(error)


@guarded
def _answered(call: ModelCall, response: Any) -> None:
    if call.last_attempt is not None:
        call.last_attempt.answered(response.status_code)
    call.answered(response)
    _by_response[response] = call


def _seams() -> Iterable[Seam]:
    if "_send_request" in vars(SyncAPIClient):
        yield Seam(SyncAPIClient, "_send_request", _send)
        yield Seam(AsyncAPIClient, "_send_request", _async_send)
        return
    # Up to 2.30 the SDK calls its HTTP client directly, which then is one of httpx.
    httpx = import_module("httpx")
    yield Seam(httpx.Client, "send", _send)
    yield Seam(httpx.AsyncClient, "send", _async_send)


SEAMS = tuple(_seams())
