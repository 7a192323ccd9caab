"""Which line of the SDK this environment has, and the shop's server for it."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, Final

VERSION: Final = tuple(int(part) for part in version("mcp").split(".")[:2])
MODERN: Final = VERSION >= (2, 0)

MODES: Final = ("legacy", "auto") if MODERN else ("legacy",)

# (name, arguments, session of the server) -> result
Call = Callable[[str, dict[str, Any], Any], Awaitable[dict[str, Any]]]
Listing = Callable[[str | None], Awaitable[dict[str, Any]]]


def build(layer: str) -> Any:
    """The shop's server, written with the ``high`` or the ``low`` layer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an old SDK does beside newer libraries is not our matter
        return getattr(_module(), layer)()


def _module() -> Any:
    return importlib.import_module(f"tests.matrix.mcp.shop.{'modern' if MODERN else 'legacy'}")


def custom(call: Call, listing: Listing | None = None) -> Any:
    """A server of the low layer whose answers are given as they go over the wire."""
    return _module().custom(call, listing or _nothing)


def nothing_heard(_message: Any) -> None:
    """For callers that do not care for notifications."""


async def _nothing(_cursor: str | None) -> dict[str, Any]:
    return {"tools": []}


def text(words: str, *, failed: bool = False) -> dict[str, Any]:
    """The answer of a tool, as it goes over the wire."""
    return {"content": [{"type": "text", "text": words}], "isError": failed}
