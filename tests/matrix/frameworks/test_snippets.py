"""The snippets of the documentation, run as they stand: what they print, and every span that they make."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.matrix.frameworks.conftest import Play
    from tests.matrix.frameworks.sink import Seen

ANSWER = "Your order A-17 was shipped.\n"
CONVERSATION = "c-42"
AGENT, SERVER = "support-agent", "orders"
# The same for every framework: the turn, and below it each thing that was done, once.
ROOT = "invoke_agent support-agent"
CALLS = {"chat gpt-5-mini": 2, "tools/list": 1, "tools/call lookup_order": 1}


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def major(name: str) -> int:
    return int((installed(name) or "0").split(".")[0])


# Which handshake the SDK's version makes with a server of the same version.
HANDSHAKE = "server/discover" if major("mcp") > 1 else "initialize"
# Agent, server, and what has to be installed for both.
SNIPPETS = [
    ("plain.py", "orders.py", ("openai", "mcp")),
    ("openai_agents.py", "orders.py", ("openai-agents",)),
    ("langgraph_agent.py", "orders.py", ("langgraph", "langchain-openai", "langchain-mcp-adapters")),
    ("pydantic_ai_agent.py", "orders.py", ("pydantic-ai-slim", "openai", "mcp")),
    ("plain.py", "orders_fastmcp.py", ("openai", "mcp", "fastmcp")),
]


def cases() -> list[Any]:
    return [
        pytest.param(agent, server, marks=_needs(packages), id=f"{agent[:-3]}-{server[:-3]}")
        for agent, server, packages in SNIPPETS
    ]


def _needs(packages: tuple[str, ...]) -> tuple[pytest.MarkDecorator, ...]:
    missing = [name for name in packages if not installed(name)]
    if "mcp" in packages and major("mcp") == 1:  # these snippets use the client of 2.x
        missing.append("mcp 2.x")
    return tuple(pytest.mark.skip(reason=f"{name} is not installed") for name in missing)


def names(spans: list[Seen]) -> Counter[str]:
    return Counter(span.name for span in spans)


def only(spans: list[Seen], name: str, kind: str = "CLIENT") -> Seen:
    (found,) = [span for span in spans if (span.name, span.kind) == (name, kind)]
    return found


def ancestors(span: Seen, spans: list[Seen]) -> list[Seen]:
    by_id = {each.span_id: each for each in spans}
    found = []
    while (parent := by_id.get(span.parent_id)) is not None:
        found.append(parent)
        span = parent
    return found


@pytest.mark.parametrize(("agent", "server"), cases())
def test_a_snippet_makes_exactly_these_spans_of_one_conversation(play: Play, agent: str, server: str) -> None:
    played = play(agent, server)
    assert played.printed == ANSWER
    spans = played.spans
    root = only(spans, ROOT, "INTERNAL")
    # All of one trace, of one conversation, of its first turn, in the server's process as well.
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert {span.attributes.get("gen_ai.conversation.id") for span in spans} == {CONVERSATION}
    assert {span.attributes.get("spanwise.turn") for span in spans} == {1}
    assert [span.name for span in spans if span.failed] == []
    # Each thing once, and nothing lies outside of the turn.
    ours = [span for span in spans if span.kind == "CLIENT" and span.name != "POST"]
    connection = {f"mcp.connect {SERVER}": 1, HANDSHAKE: 1, f"mcp.close {SERVER}": 1}
    assert names(ours) == Counter(CALLS | connection)
    assert {span.scope for span in ours} == {"spanwise"}
    assert [span for span in spans if root not in ancestors(span, spans)] == [root]
    # One HTTP request below each model call.
    posts = [span for span in spans if span.name == "POST"]
    chats = [span for span in spans if span.name.startswith("chat ")]
    assert sorted(span.parent_id for span in posts) == sorted(span.span_id for span in chats)


@pytest.mark.parametrize(("agent", "server"), cases())
def test_the_work_of_the_server_lies_below_the_call(play: Play, agent: str, server: str) -> None:
    spans = play(agent, server).spans
    served = [span for span in spans if span.service == SERVER]
    assert {span.kind for span in served} == {"SERVER", "INTERNAL"}
    assert names([span for span in served if span.kind == "SERVER"]) == {
        HANDSHAKE: 1,
        "tools/list": 1,
        "tools/call lookup_order": 1,
    }
    work = only(spans, "agent.stage.retrieval", "INTERNAL")
    call = only(spans, "tools/call lookup_order")
    assert only(spans, "tools/call lookup_order", "SERVER").parent_id == call.span_id
    assert call in ancestors(work, spans)


@pytest.mark.parametrize(("agent", "server"), cases())
def test_a_snippet_says_what_it_cost_and_nothing_of_what_was_said(play: Play, agent: str, server: str) -> None:
    spans = play(agent, server).spans
    chats = [span.attributes for span in spans if span.name.startswith("chat ")]
    assert [found["gen_ai.usage.input_tokens"] for found in chats] == [40, 40]
    assert [found["spanwise.tools.count"] for found in chats] == [1, 1]
    calls = [only(spans, "tools/call lookup_order", kind).attributes for kind in ("CLIENT", "SERVER")]
    assert [call["gen_ai.tool.name"] for call in calls] == ["lookup_order"] * 2
    assert [call["spanwise.tool.result_types"] for call in calls] == [["text"]] * 2
    assert calls[0]["spanwise.tool.result_bytes"] == calls[1]["spanwise.tool.result_bytes"] > 0
    assert calls[0]["spanwise.mcp.transport"] == "stdio"
    assert only(spans, ROOT, "INTERNAL").attributes["spanwise.quality.passed"] is True
    texts = str([span.attributes for span in spans])
    assert [word for word in ("Where is my order", "A-17", "shipped", "u-7") if word in texts] == []


@pytest.mark.parametrize(("agent", "server"), cases())
def test_a_snippet_prints_the_same_where_nothing_is_traced(play: Play, agent: str, server: str) -> None:
    played = play(agent, server, OTEL_SDK_DISABLED="true")
    assert (played.printed, played.spans) == (ANSWER, [])


@pytest.mark.parametrize(("agent", "server"), cases())
def test_a_run_of_an_experiment_reaches_the_servers_process(play: Play, agent: str, server: str) -> None:
    program = f"import runpy, spanwise\nwith spanwise.experiment('e-1', arm='b', round=2): runpy.run_path({agent!r})"
    played = play(agent, server, program=program)
    assert played.printed == ANSWER
    keys = [f"spanwise.experiment.{name}" for name in ("id", "arm", "round", "seed")]
    found = {tuple(span.attributes.get(key) for key in keys) for span in played.spans}
    assert {span.service for span in played.spans} == {AGENT, SERVER}
    assert found == {("e-1", "b", 2, None)}
