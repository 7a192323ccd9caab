"""The shop's MCP servers as real processes, through the real client."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ImageContent, TextContent

from spanwise_demo.process import Process
from spanwise_demo.servers.settings import Settings
from spanwise_demo.servers.wording import describe

_QUIET = {"OTEL_SDK_DISABLED": "true"}
_FAST = Settings(handler_ms=1.0, list_ms=0.0)


@asynccontextmanager
async def _orders(settings: Settings, mode: str = "auto") -> AsyncIterator[Client]:
    arguments = ["-m", "spanwise_demo.servers.orders", settings.argument()]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments, env=_QUIET), mode=mode) as client:
        yield client


@contextmanager
def _web(name: str, settings: Settings) -> Iterator[str]:
    process = Process(f"spanwise_demo.servers.{name}", [settings.argument()], environment=_QUIET)
    with process:
        process.launch()
        yield process.said()["url"]


async def _text(client: Client, tool: str, **arguments: str) -> str:
    result = await client.call_tool(tool, dict(arguments))
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


async def test_orders_offers_annotated_tools_and_answers_slimly() -> None:
    async with _orders(_FAST) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["get_order", "check_permission", "create_coupon", "list_policies"]
        hints = {name: tool.annotations.read_only_hint for name, tool in tools.items() if tool.annotations}
        assert hints == {name: name != "create_coupon" for name in tools}
        order = json.loads(await _text(client, "get_order", order_id="R-123456"))
        assert order["order_id"] == "R-123456"
        assert json.loads(await _text(client, "check_permission", customer_id="C-12345"))["may_return"] is True
        assert "V-123456" in await _text(client, "create_coupon", order_id="R-123456")
        assert "30 days" in await _text(client, "list_policies")


async def test_a_tool_refuses_what_its_schema_forbids() -> None:
    async with _orders(_FAST) as client:
        assert (await client.call_tool("get_order", {"order_id": "7"})).is_error is True


async def test_orders_as_declared_may_be_fat_wordy_many_and_unreliable() -> None:
    settings = Settings(handler_ms=1, order_kib=20, wording=100, extra_tools=3, failures={"get_order": 1})
    async with _orders(settings) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools[4:]] == ["archive_invoice", "export_invoice", "approve_invoice"]
        assert all(len((tool.description or "").split()) > 100 for tool in tools)
        failed, served = [await client.call_tool("get_order", {"order_id": "R-123456"}) for _ in range(2)]
        assert (failed.is_error, served.is_error) == (True, False)
        text = served.content[0]
        assert isinstance(text, TextContent)
        assert 20 * 1024 <= len(text.text) < 24 * 1024
        assert json.loads(text.text)["order_id"] == "R-123456"


async def test_a_start_up_takes_its_declared_time_for_whoever_waits_for_the_first_answer() -> None:
    began = time.monotonic()
    async with _orders(Settings(startup_ms=700)):
        assert time.monotonic() - began >= 0.7


async def test_lists_say_how_long_they_hold_and_the_client_honours_it() -> None:
    with _web("logistics", Settings(list_ms=120, list_ttl_ms=60_000)) as url:
        async with Client(url) as client:
            first = await client.list_tools()
            began = time.monotonic()
            again = await client.list_tools()
            kept = time.monotonic() - began
            await client.list_tools(cache_mode="refresh")
            asked = time.monotonic() - began - kept
    assert first.ttl_ms == 60_000
    assert again.tools == first.tools
    assert kept < 0.1 < asked


async def test_logistics_answers_and_may_send_the_drivers_photograph() -> None:
    with _web("logistics", Settings(handler_ms=1, photo_kib=12)) as url:
        async with Client(url) as client:
            assert json.loads(await _text(client, "estimate_return", tracking_number="TRK12345678"))["cost_cents"] == 0
            result = await client.call_tool("track_shipment", {"tracking_number": "TRK12345678"})
    photo = result.content[1]
    assert isinstance(photo, ImageContent)
    assert 12 * 1024 <= len(base64.b64decode(photo.data)) < 14 * 1024


@pytest.mark.parametrize(("mode", "least"), [("auto", 0.3), ("legacy", 0.0)])
async def test_a_server_that_knows_only_initialize_is_still_reached(mode: str, least: float) -> None:
    """After the refusal of the probe in auto mode, at once where the mode is pinned."""
    with _web("logistics", Settings(handler_ms=1, legacy_ms=300)) as url:
        began = time.monotonic()
        async with Client(url, mode=mode) as client:
            took = time.monotonic() - began
            assert client.protocol_version < "2026"
            assert [tool.name for tool in (await client.list_tools()).tools] == ["track_shipment", "estimate_return"]
    assert least <= took


async def test_the_stock_server_counts() -> None:
    with _web("stock", _FAST) as url:
        async with Client(url) as client:
            assert json.loads(await _text(client, "count_stock", order_id="R-123456"))["on_shelf"] == 12


def test_a_server_process_ends_when_its_input_ends() -> None:
    process = Process("spanwise_demo.servers.stock", [_FAST.argument()], environment=_QUIET)
    process.launch()
    process.said()
    assert process.stop() == 0


def test_a_process_that_cannot_start_is_an_error_with_its_name() -> None:
    process = Process("spanwise_demo.servers.stock", ["not json"], environment=_QUIET)
    with process:
        process.launch()
        with pytest.raises(RuntimeError, match=r"spanwise_demo\.servers\.stock"):
            process.said()


def test_settings_survive_the_command_line() -> None:
    settings = Settings(seed=3, handlers_ms={"get_order": 5.0}, failures={"get_order": 2}, legacy_ms=7.0)
    assert Settings.read([settings.argument()]) == settings
    assert Settings.read([]) == Settings()


def test_scaled_settings_change_times_and_nothing_else() -> None:
    settings = Settings(startup_ms=100, handlers_ms={"a": 10.0}, order_kib=3, legacy_ms=50)
    scaled = settings.scaled(1.5)
    assert (scaled.startup_ms, scaled.handlers_ms, scaled.legacy_ms) == (150.0, {"a": 15.0}, 75.0)
    assert (scaled.order_kib, scaled.list_ttl_ms) == (3, settings.list_ttl_ms)


def test_a_wordy_description_begins_with_its_point() -> None:
    assert describe("Look up an order.", 0) == "Look up an order."
    wordy = describe("Look up an order.", 40)
    assert wordy.startswith("Look up an order. ")
    assert len(wordy.split()) == 44
