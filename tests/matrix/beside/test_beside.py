"""Next to another instrumentation of the same SDKs: nothing breaks, and everything is counted once."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec

import pytest
from tests.matrix.beside import calls, neighbours
from tests.matrix.beside.conftest import Run, Seen
from tests.matrix.beside.model import INPUT, OUTPUT

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_analyzer.calls import ModelCalls
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.role import Role
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.tree import Node

OTHERS = [name for name, other in neighbours.ALL.items() if other.installed and name != "handmade"] or ["handmade"]
# The neighbour is switched on before ours, or after it, or everything that is installed by opentelemetry-instrument.
ARMS = {"first": "alone", "last": "alone", neighbours.AUTO: f"{neighbours.AUTO}-alone"}
AUTOMATIC = find_spec("opentelemetry.distro") is not None
SESSIONS = ("mcp-stdio", "mcp-http")
MODEL_WORKS = tuple(calls.WORKS)
STREAMED = tuple(work for work in MODEL_WORKS if work.endswith(("-stream", "-helper")))
UNPAID = ("chat-left", "chat-broken", "chat-refused", "chat-unreachable")  # no usage ever comes
FAILING = ("chat-broken", "chat-refused", "chat-unreachable")
CHATS = tuple(work for work in MODEL_WORKS if work != "embeddings")


def _arms(other: str) -> list[str]:
    automatic = AUTOMATIC and neighbours.ALL[other].entry_points
    return [arm for arm in ARMS if automatic or arm != neighbours.AUTO]


@pytest.fixture(params=[(other, arm) for other in OTHERS for arm in _arms(other)], ids="-".join)
def seen(request: pytest.FixtureRequest, run: Run) -> Seen:
    """What happened beside a neighbour."""
    return run(*request.param)


@pytest.fixture
def ledger(seen: Seen, work: str, request: pytest.FixtureRequest) -> Ledger:
    """What the analyzer makes of one work."""
    spans = seen.spans(work)
    request.node.user_properties.append(("spans", len(spans)))  # for the table of the matrix
    return account(f"{seen.neighbour}/{seen.arm}/{work}", spans)


@pytest.mark.parametrize("work", [*MODEL_WORKS, *SESSIONS])
def test_nothing_breaks_that_does_not_break_without_us(seen: Seen, work: str, run: Run) -> None:
    assert run(seen.neighbour, ARMS[seen.arm]).records[work] == seen.records[work]


@pytest.mark.parametrize("work", [*MODEL_WORKS, *SESSIONS])
def test_the_work_was_done(seen: Seen, work: str) -> None:
    raised = [line for line in seen.records[work] if line.startswith("raised")]
    assert (work in FAILING) == bool(raised), raised


@pytest.mark.parametrize("work", CHATS)
def test_a_model_call_is_one_call(ledger: Ledger) -> None:
    assert (1, 1) == (len(ModelCalls(ledger.tree).counted()), len(View(ledger).model_calls))


@pytest.mark.parametrize("work", CHATS)
def test_tokens_are_counted_once(ledger: Ledger, work: str) -> None:
    expected = (None, None) if work in UNPAID else (INPUT, OUTPUT)
    assert expected == (ledger.tokens.input, ledger.tokens.output)


@pytest.mark.parametrize("work", MODEL_WORKS)
def test_model_time_is_not_doubled(ledger: Ledger) -> None:
    stages = (Stage.MODEL_CALL, Stage.MODEL_FIRST_TOKEN, Stage.MODEL_GENERATE, Stage.MODEL_EMBED)
    retries = (Stage.RETRY_WASTED, Stage.RETRY_BACKOFF)
    spent = sum(row.busy_ns for row in ledger.stages if row.stage in (*stages, *retries))
    longest = max(node.ns for node in ledger.tree.nodes.values() if node.role in (Role.INFERENCE, Role.EMBEDDING))
    assert 0 < spent <= longest


@pytest.mark.parametrize("work", MODEL_WORKS)
def test_the_ledger_keeps_what_only_we_know(ledger: Ledger) -> None:
    assert [True] == [_calls(ledger)[0].record.integer(semconv.REQUEST_BYTES) is not None]


@pytest.mark.parametrize("work", STREAMED)
def test_waiting_and_generating_are_told_apart(ledger: Ledger) -> None:
    assert {Stage.MODEL_FIRST_TOKEN, Stage.MODEL_GENERATE} <= {row.stage for row in ledger.stages}


@pytest.mark.parametrize("work", MODEL_WORKS)
def test_the_order_is_agent_model_http(ledger: Ledger) -> None:
    (call,) = _calls(ledger)
    assert "invoke_agent support" == _parent(call)
    requests = [node for node in ledger.tree.blocking() if node.role is Role.HTTP_CLIENT]
    assert [] == [node for node in requests if call not in node.ancestors()]


@pytest.mark.parametrize("work", MODEL_WORKS)
def test_we_report_each_model_call_once(seen: Seen, work: str) -> None:
    reports = (semconv.GEN_AI_OPERATION_NAME, semconv.GEN_AI_REQUEST_MODEL)
    ours = [span for span in seen.spans(work) if span.scope == semconv.SCOPE]
    assert 1 == len([span for span in ours if all(map(span.text, reports))])


@pytest.mark.parametrize("work", [*MODEL_WORKS, *SESSIONS])
def test_the_neighbour_keeps_its_spans(seen: Seen, work: str, run: Run) -> None:
    assert _theirs(run(seen.neighbour, ARMS[seen.arm]), work) == _theirs(seen, work)


@pytest.mark.parametrize("work", SESSIONS)
def test_each_mcp_request_is_one_request(ledger: Ledger) -> None:
    asked = Counter(_method(node) for node in ledger.tree.blocking() if node.role is Role.MCP_CLIENT)
    served = Counter(_method(node) for node in ledger.tree.blocking() if node.role is Role.MCP_SERVER)
    assert (asked, 3) == (served, asked[semconv.MCP_TOOLS_CALL])
    assert 3 == len(View(ledger).tool_calls)
    assert 1 == len(View(ledger).set_ups)


@pytest.mark.parametrize("work", SESSIONS)
def test_the_order_is_agent_tool_server(ledger: Ledger) -> None:
    for server in (node for node in ledger.tree.blocking() if node.role is Role.MCP_SERVER):
        above = [node for node in server.ancestors() if node.role in (Role.MCP_CLIENT, Role.AGENT)]
        assert [Role.MCP_CLIENT, Role.AGENT] == [node.role for node in above]


@pytest.mark.parametrize("work", SESSIONS)
def test_the_time_of_a_tool_is_its_servers(ledger: Ledger) -> None:
    at_work = [node for node in ledger.tree.blocking() if _method(node) == semconv.MCP_TOOLS_CALL]
    took = sum(node.ns for node in at_work if node.role is Role.MCP_SERVER)
    owned = {row.stage: row.ns for row in ledger.stages}
    assert 0.5 * took <= owned[Stage.MCP_SERVER] <= 1.5 * took  # the neighbour's span in it may end a little later


@pytest.mark.parametrize("work", SESSIONS)
def test_a_tool_that_fails_failed(ledger: Ledger) -> None:
    outcomes = {call.name: call.failed for call in View(ledger).tool_calls}
    assert {"ok": False, "bad": True, "missing": True} == outcomes


def _calls(ledger: Ledger) -> list[Node]:
    return [node for node in ledger.tree.blocking() if node.role in (Role.INFERENCE, Role.EMBEDDING)]


def _parent(node: Node) -> str:
    return next((above.record.name for above in node.ancestors()), "")


def _method(node: Node) -> str:
    return node.record.text(semconv.MCP_METHOD_NAME) or ""


def _theirs(seen: Seen, work: str) -> list[str]:
    """Names of the neighbour's spans in the agent; a server may be stopped before it has sent its last ones."""
    spans = seen.spans(work)
    agent = next(span.process for span in spans if span.scope == "agent")
    scopes = neighbours.ALL[seen.neighbour].scopes
    return sorted(span.name for span in spans if span.scope.startswith(scopes) and span.process == agent)
