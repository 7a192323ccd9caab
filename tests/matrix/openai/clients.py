"""Clients of the SDK over each HTTP library that the installed version can use."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import openai
from tests.matrix.openai.outcomes import Outcome

OWN, LEGACY, NEWER, AIOHTTP = "own", "httpx", "httpx2", "aiohttp"
VENDORS = ("openai", "azure")
MAJOR = int(openai.__version__.partition(".")[0])
_KEY = "k"


def backends(*, asynchronous: bool) -> list[str]:
    """Those that exist here. Up to 2.x, clients are made of httpx; from 3.0 on they take clients of both libraries."""
    found = [OWN]
    if find_spec("httpx"):
        found.append(LEGACY)
    if MAJOR >= 3:
        found.append(NEWER)
    if asynchronous and _has_aiohttp():
        found.append(AIOHTTP)
    return found


def make(vendor: str, backend: str, outcome: Outcome, url: str, *, asynchronous: bool) -> Any:
    """A client for one cell."""
    options: dict[str, Any] = {"api_key": _KEY, "max_retries": outcome.retries}
    if outcome.timeout is not None:
        options["timeout"] = outcome.timeout
    if (http_client := _http_client(backend, outcome, asynchronous=asynchronous)) is not None:
        options["http_client"] = http_client
    base = url if outcome.reachable else f"http://127.0.0.1:{_closed_port()}"
    if vendor == "azure":
        azure = openai.AsyncAzureOpenAI if asynchronous else openai.AzureOpenAI
        return azure(azure_endpoint=base, api_version="2026-01-01", **options)
    kind = openai.AsyncOpenAI if asynchronous else openai.OpenAI
    return kind(base_url=base + "/v1", **options)


def _http_client(backend: str, outcome: Outcome, *, asynchronous: bool) -> Any:
    if backend == AIOHTTP:
        return openai.DefaultAioHttpClient()
    if backend == OWN:
        return None
    library: Any = __import__(backend)
    make_client: Callable[..., Any] = library.AsyncClient if asynchronous else library.Client
    return make_client(timeout=outcome.timeout or 10.0)


def _has_aiohttp() -> bool:
    return find_spec("aiohttp") is not None and (MAJOR >= 3 or find_spec("httpx_aiohttp") is not None)


def _closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
