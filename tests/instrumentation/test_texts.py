"""Text that UTF-8 cannot write, and values that nothing can write, cost neither the program nor its spans anything."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server.mcpserver import MCPServer
from opentelemetry import baggage
from opentelemetry import context as otel_context
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise
from spanwise import context, semconv, sizes, text

HALF = "\ud83e"
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


class Evil:
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


@pytest.fixture
def heard() -> Iterator[tuple[str, list[str | None]]]:
    """URL of a server, and the baggage that each request brought."""
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("baggage"))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", seen
    server.shutdown()
    server.server_close()
    thread.join()


def only(exporter: InMemorySpanExporter, name: str) -> dict[str, Any]:
    (span,) = [span for span in exporter.get_finished_spans() if span.name == name]
    return dict(span.attributes or {})


@given(ANY_TEXT)
def test_every_character_stays_but_those_that_cannot_be_encoded(value: str) -> None:
    expected = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in value)
    assert text.encodable(value) == expected
    assert text.encodable(value).encode().decode() == expected


@given(ANY_TEXT.filter(str.strip))
def test_an_id_comes_out_of_a_header_as_it_went_in(value: str) -> None:
    carrier: dict[str, str] = {}
    ctx = context.with_conversation(value, None, otel_context.Context())
    inject(carrier, ctx)
    assert context.conversation_id(extract(carrier, otel_context.Context())) == context.conversation_id(ctx)


def test_long_ids_are_bounded_and_stay_different() -> None:
    found = {text.identifier("\U0001f600" * 300 + end) for end in "ab"}
    assert {len(value) for value in found} == {text.MAX_ID}
    assert len(found) == 2
    assert {text.identifier(value) for value in found} == found
    assert text.identifier("x" * text.MAX_ID) == "x" * text.MAX_ID


@pytest.mark.parametrize("length", [text.MAX_ID, 9000])
def test_a_long_id_of_many_bytes_still_fits_into_a_header(length: int) -> None:
    carrier: dict[str, str] = {}
    ctx = context.with_conversation("\U0001f600" * length, None, otel_context.Context())
    inject(carrier, ctx)
    assert context.conversation_id(extract(carrier, otel_context.Context())) == context.conversation_id(ctx)


def test_a_request_in_a_conversation_with_half_a_character_goes_out(
    exporter: InMemorySpanExporter, heard: tuple[str, list[str | None]]
) -> None:
    url, seen = heard
    with spanwise.conversation("c" + HALF, user="u" + HALF):
        assert httpx2.get(url).status_code == 200
    assert seen == ["gen_ai.conversation.id=c%EF%BF%BD"]
    assert only(exporter, "GET")[semconv.GEN_AI_CONVERSATION_ID] == "c\ufffd"


async def test_the_programs_own_baggage_breaks_no_request(
    exporter: InMemorySpanExporter, heard: tuple[str, list[str | None]]
) -> None:
    """Without us nobody would have put it into a header."""
    url, seen = heard
    token = otel_context.attach(baggage.set_baggage("k" + HALF, "v" + HALF, otel_context.Context()))
    try:
        async with httpx2.AsyncClient() as client:
            assert (await client.get(url)).status_code == 200
        assert baggage.get_baggage("k" + HALF) == "v" + HALF
    finally:
        otel_context.detach(token)
    assert seen == ["k%EF%BF%BD=v%EF%BF%BD"]
    assert len(exporter.get_finished_spans()) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_tool_is_called_in_a_conversation_with_half_a_character(
    exporter: InMemorySpanExporter, mode: str
) -> None:
    server = MCPServer("shop")

    @server.tool(structured_output=False)
    def ok() -> str:
        return "fine"

    async with Client(server, mode=mode) as client:
        with spanwise.conversation("c" + HALF):
            assert (await client.call_tool("ok")).is_error is not True
    calls = [span for span in exporter.get_finished_spans() if span.name == "tools/call ok"]
    assert [(span.attributes or {})[semconv.GEN_AI_CONVERSATION_ID] for span in calls] == ["c\ufffd"] * 2


def test_every_name_is_written_with_a_replacement(exporter: InMemorySpanExporter) -> None:
    with spanwise.turn(agent="a" + HALF), spanwise.step("s" + HALF), spanwise.stage("g" + HALF):
        with spanwise.tool("t" + HALF, call_id="c" + HALF):
            pass
        with spanwise.step(Evil()):  # type: ignore[arg-type] # what a program may do
            pass
    assert [span.name for span in exporter.get_finished_spans()] == [
        "execute_tool t\ufffd",
        "agent.step.Evil",
        "agent.stage.g\ufffd",
        "agent.step.s\ufffd",
        "invoke_agent a\ufffd",
    ]
    assert only(exporter, "execute_tool t\ufffd")[semconv.GEN_AI_TOOL_CALL_ID] == "c\ufffd"
    assert only(exporter, "invoke_agent a\ufffd")[semconv.GEN_AI_AGENT_NAME] == "a\ufffd"


ODD = {
    "cyclic": cyclic,
    "deep": deep,
    "evil": Evil,
    "huge": lambda: 10**5000,
    "keys": lambda: {(1, 2): 3},
    "half": lambda: HALF,
    "bytes": lambda: b"\xff",
    "nan": lambda: float("nan"),
}


@pytest.mark.parametrize("kind", ODD)
def test_a_value_that_cannot_be_written_costs_neither_the_span_nor_the_sizes(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    value: Any = ODD[kind]()  # type: ignore[no-untyped-call] # one of them is a class

    @spanwise.tool
    def same(given: Any) -> Any:
        return given

    with spanwise.step("s", odd=value, plain=1) as step:
        assert same(value) is value
        step.output(odd=value)
    tool, marked = only(exporter, "execute_tool same"), only(exporter, "agent.step.s")
    for name in (semconv.TOOL_ARGS_BYTES, semconv.TOOL_RESULT_BYTES, semconv.TOOL_RESULT_TOKENS):
        assert tool[name] > 0
    assert tool[semconv.GEN_AI_TOOL_CALL_RESULT].encode()
    assert marked[semconv.STEP_INPUT_PREFIX + "odd" + semconv.STEP_BYTES_SUFFIX] > 0
    assert marked[semconv.STEP_INPUT_PREFIX + "plain" + semconv.STEP_BYTES_SUFFIX] == 1
    assert marked[semconv.STEP_OUTPUT_PREFIX + "odd" + semconv.STEP_TYPE_SUFFIX] == type(value).__name__


def test_only_the_part_that_cannot_be_written_is_named_by_its_type() -> None:
    assert sizes.encoded({"a": [1, 2], "b": cyclic(), (1,): "x"}) == b'{"a":[1,2],"b":"list","tuple":"x"}'
    assert sizes.encoded([cyclic(), "x"]) == b'["list","x"]'


def test_a_callable_without_a_name_can_be_a_tool(exporter: InMemorySpanExporter) -> None:
    assert spanwise.tool(functools.partial(max, 1))(2) == 2
    assert [span.name for span in exporter.get_finished_spans()] == ["execute_tool max"]


@pytest.mark.parametrize("turn", ["0", "-1", str(2**31), "9" * 5000, "1.5", "x", "", "\u0663", "1e3"])
def test_a_turn_from_outside_that_is_no_turn_is_ignored(exporter: InMemorySpanExporter, turn: str) -> None:
    token = otel_context.attach(baggage.set_baggage(semconv.BAGGAGE_TURN, turn, context.with_conversation("c")))
    try:
        with spanwise.step("s"):
            pass
    finally:
        otel_context.detach(token)
    found = only(exporter, "agent.step.s")
    assert (found[semconv.GEN_AI_CONVERSATION_ID], found.get(semconv.TURN)) == ("c", None)


def test_the_highest_turn_from_outside_is_taken() -> None:
    ctx = baggage.set_baggage(semconv.BAGGAGE_TURN, str(2**31 - 1), otel_context.Context())
    assert context.turn_number(ctx) == 2**31 - 1


def test_a_number_that_is_no_turns_is_ignored_with_one_warning(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    numbers: list[Any] = [0, -1, 2**31, "x", 1.5]
    with caplog.at_level(logging.WARNING, "spanwise"), spanwise.conversation("numbers"):
        for number in numbers:
            with spanwise.turn(number, agent="a"):
                pass
    found = [(span.attributes or {})[semconv.TURN] for span in exporter.get_finished_spans()]
    assert found == [1, 2, 3, 4, 5]  # counted, as without a number
    assert len([record for record in caplog.records if "number of a turn" in record.getMessage()]) == 1
