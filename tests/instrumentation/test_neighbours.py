"""Other instrumentation on the same functions, the same provider and the same HTTP libraries."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
import wrapt
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import TracerProvider

from spanwise import semconv
from spanwise.neighbours import behind, bypasses, half_imported, silenced
from spanwise.seam import Seam


def sdk() -> tuple[type[Any], type[Any]]:
    """A client and a more special one, as SDKs have them."""

    class Client:
        def request(self, path: str) -> list[str]:
            return [path]

    class Special(Client):
        pass

    return Client, Special


def ours(original: Callable[..., list[str]]) -> Callable[..., list[str]]:
    @wraps(original)
    def request(self: object, path: str) -> list[str]:
        return ["ours", *original(self, path)]

    return request


def by_proxy(kind: Any) -> None:
    def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        if iscoroutinefunction(wrapped):
            return wrapped(*args, **kwargs)
        return ["theirs", type(instance).__name__, *wrapped(*args, **kwargs)]

    kind.request = wrapt.FunctionWrapper(kind.request, wrapper)


def by_closure(kind: Any) -> None:
    original = kind.request

    @wraps(original)
    def request(self: object, path: str) -> list[str]:
        return ["theirs", type(self).__name__, *original(self, path)]

    kind.request = request


THEIRS = pytest.mark.parametrize("wrap", [by_proxy, by_closure])


@THEIRS
def test_a_wrapper_on_a_subclass_does_not_pass_us_by(wrap: Callable[[Any], None]) -> None:
    client, special = sdk()
    wrap(special)
    seam = Seam(client, "request", ours)
    seam.open()
    assert ["ours", "theirs", "Special", "/"] == special().request("/")
    assert ["ours", "/"] == client().request("/")


@THEIRS
def test_closing_gives_back_their_wrapper(wrap: Callable[[Any], None]) -> None:
    client, special = sdk()
    wrap(special)
    before = (vars(client)["request"], vars(special)["request"])
    seam = Seam(client, "request", ours)
    seam.open()
    seam.close()
    after = (vars(client)["request"], vars(special)["request"])
    assert [True, True] == [one is other for one, other in zip(before, after, strict=True)]


@THEIRS
def test_a_wrapper_that_came_after_us_is_left_alone(wrap: Callable[[Any], None]) -> None:
    client, special = sdk()
    seam = Seam(client, "request", ours)
    seam.open()
    wrap(special)
    assert [] == bypasses(client, "request")
    assert ["theirs", "Special", "ours", "/"] == special().request("/")


@THEIRS
def test_a_wrapper_on_the_class_itself_is_called_as_it_was_before(wrap: Callable[[Any], None]) -> None:
    client, special = sdk()
    wrap(client)
    seam = Seam(client, "request", ours)
    seam.open()
    assert ["ours", "theirs", "Special", "/"] == special().request("/")


async def test_a_coroutine_function_stays_one() -> None:
    class Client:
        async def request(self, path: str) -> list[str]:
            return [path]

    by_proxy(Client)
    seam = Seam(
        Client, "request", lambda found: wrapt.FunctionWrapper(found, lambda f, _, args, kwargs: f(*args, **kwargs))
    )
    seam.open()
    assert iscoroutinefunction(Client.request)
    assert iscoroutinefunction(Client().request)
    seam.close()


def test_a_method_of_its_own_is_no_wrapper() -> None:
    client, special = sdk()
    special.request = lambda _self, path: ["special", path]
    assert [] == bypasses(client, "request")


def test_what_is_suppressed_inside_anothers_model_call_is_its_http_request() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("other")
    attributes = {semconv.GEN_AI_REQUEST_MODEL: "m"}
    with tracer.start_as_current_span("chat", attributes=attributes), suppress_instrumentation():
        assert not silenced()


def test_what_the_program_suppresses_is_silent() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("agent")
    with tracer.start_as_current_span("invoke_agent"):
        assert not silenced()
        with suppress_instrumentation():
            assert silenced()
    with suppress_instrumentation():
        assert silenced()


def test_the_sdks_provider_is_found_behind_one_that_stands_in_front_of_it() -> None:
    class Front(trace.NoOpTracerProvider):
        def __init__(self, provider: TracerProvider) -> None:
            self.provider = provider

    inner = TracerProvider(shutdown_on_exit=False)
    assert inner is behind(Front(inner))
    assert inner is behind(inner)


def test_a_module_is_half_imported_until_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "from spanwise.neighbours import half_imported\nHALF = half_imported(__name__)\n"
    (tmp_path / "halfway_there.py").write_text(said)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("halfway_there")
    assert (True, False) == (module.HALF, half_imported("halfway_there"))
    del sys.modules["halfway_there"]
    assert not half_imported("halfway_there")
