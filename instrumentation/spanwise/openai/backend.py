"""The SDK's aiohttp backend, which keeps its connections to itself: aiohttp's own trace events show them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import wrapt

from spanwise.openai.carrying import carrying
from spanwise.openai.sending import current
from spanwise.safety import guarded, shield
from spanwise.seam import Seam

# The SDK's own copy, and the package that it used before.
_MODULES = ("openai._vendor.httpx_aiohttp.transport", "httpx_aiohttp.transport")
_CONNECT = "connection.connect_tcp."
_SEND = "http11.send_request_headers.started"

_on = False
_seams: list[Seam] = []
_hooked: set[str] = set()


def install() -> None:
    """Watch the connections of aiohttp sessions that the SDK opens from now on."""
    global _on  # noqa: PLW0603 - one process has one SDK
    _on = True
    for seam in _seams:
        seam.open()
    for name in _MODULES:
        if name not in _hooked:
            _hooked.add(name)
            wrapt.register_post_import_hook(_arrived, name)


def uninstall() -> None:
    """Put the original function back; sessions that are open are not watched any more either."""
    global _on  # noqa: PLW0603 - as above
    _on = False
    for seam in _seams:
        seam.close()


@guarded
def _arrived(module: Any) -> None:
    transport = module.AiohttpTransport
    _seams.append(Seam(transport, "get_client", _get_client))
    _seams.append(Seam(transport, "handle_async_request", carrying))
    for seam in _seams if _on else ():
        seam.open()


def _get_client(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def get_client(self: Any) -> Any:
        session = original(self)
        with shield():
            _watch(session)
        return session

    return get_client


def _watch(session: Any) -> None:
    # Nobody has used the session yet, so this is as good as having made it with one more trace configuration.
    if _config() not in session.trace_configs:
        session.trace_configs.append(_config())


_made: list[Any] = []


def _config() -> Any:
    if not _made:
        config = import_module("aiohttp").TraceConfig()
        config.on_connection_create_start.append(_telling(_CONNECT + "started"))
        config.on_connection_create_end.append(_telling(_CONNECT + "complete"))
        config.on_request_headers_sent.append(_telling(_SEND))
        config.freeze()
        _made.append(config)
    return _made[0]


def _telling(event: str) -> Callable[[Any, Any, Any], Any]:
    async def told(_session: Any, _ctx: Any, _params: Any) -> None:
        _tell(event)

    return told


@guarded
def _tell(event: str) -> None:
    call = current.get() if _on else None
    if call is not None and call.last_attempt is not None:
        call.last_attempt.connection.event(event)
