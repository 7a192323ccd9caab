"""Switching on changes only what is put back when switching off, also on a version of the SDK that nobody knows."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator
from importlib import metadata
from types import FunctionType
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.matrix.mcp.caller import opened
from tests.matrix.mcp.shop.sdk import MODERN, MODES, custom, nothing_heard, text

import spanwise
from spanwise.mcp.patch import Patches

MODULES = (
    "mcp.client.session",
    "mcp.client.sse",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.server.lowlevel.server",
    "mcp.server.session",
    "mcp.shared.memory",
    *(("mcp.client.client", "mcp.shared._otel") if MODERN else ("mcp.shared.session",)),
)


def everything() -> dict[tuple[str, ...], Any]:
    """All that the modules of the SDK and their classes hold, and what their functions have closed over."""
    found: dict[tuple[str, ...], Any] = {}
    for name in [name for name in sys.modules if name.split(".")[0] == "mcp"]:
        for key, value in vars(sys.modules[name]).items():
            found[name, key] = value
            if isinstance(value, type) and value.__module__ == name:
                found |= {(name, key, inner): held for inner, held in vars(value).items()}
            found |= {(name, key, "cell", str(place)): held for place, held in enumerate(cells(value))}
    return found


def cells(value: Any) -> Iterator[Any]:
    closure = value.__closure__ if isinstance(value, FunctionType) else None
    for cell in closure or ():
        yield cell.cell_contents


def changed(one: dict[tuple[str, ...], Any], other: dict[tuple[str, ...], Any]) -> set[tuple[str, ...]]:
    return {key for key in one.keys() | other.keys() if one.get(key) is not other.get(key)}


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING, "spanwise")
    return caplog


def test_what_was_there_is_there_again(provider: TracerProvider, quiet: pytest.LogCaptureFixture) -> None:
    for name in MODULES:
        importlib.import_module(name)
    spanwise.uninstrument()
    before = everything()
    for _ in range(2):
        spanwise.instrument(tracer_provider=provider)
        assert len(changed(before, everything())) > 10
        spanwise.uninstrument()
        assert set() == changed(before, everything())
    assert [] == [record.message for record in quiet.records]


@pytest.mark.parametrize("version", ["0.9.1", "1.8.0", "3.0.0"])
async def test_unknown_version_is_left_alone(
    provider: TracerProvider,
    kept: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    quiet: pytest.LogCaptureFixture,
    version: str,
) -> None:
    async def call(_name: str, _arguments: Any, _session: Any) -> dict[str, Any]:
        return text("fine")

    monkeypatch.setattr(metadata, "version", lambda _: version)
    spanwise.uninstrument()
    before = everything()
    spanwise.instrument(tracer_provider=provider)
    assert set() == {key for key in changed(before, everything()) if key[0] in MODULES}
    async with opened(custom(call), MODES[0], nothing_heard) as caller:
        assert "fine" in str(await caller.call("ok"))
    spanwise.uninstrument()
    assert 1 == sum(version in record.message for record in quiet.records)
    assert () == kept.get_finished_spans()


def test_missing_place_is_told_once_and_breaks_nothing(quiet: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        patches = Patches(lambda: None)
        patches.wrap(
            "mcp.client.session:ClientSession", "fly", lambda wrapped, _, args, kwargs: wrapped(*args, **kwargs)
        )
        patches.wrap("mcp.client.nowhere:Nobody", "walk", lambda wrapped, _, args, kwargs: wrapped(*args, **kwargs))
        patches.replace("mcp.client.nowhere", "swim", None)
        patches.undo()
    told = [record.getMessage() for record in quiet.records]
    assert 3 == len(told)
    for what in ("ClientSession.fly", "Nobody.walk", "nowhere.swim"):
        assert 1 == sum(what in message for message in told)
