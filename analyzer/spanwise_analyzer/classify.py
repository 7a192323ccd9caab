"""Which stage a span's own time belongs to; a request's carriers inherit the request's stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.calls import ModelCalls
from spanwise_analyzer.lineage import nearest
from spanwise_analyzer.role import Role, declared
from spanwise_analyzer.tree import Node, Tree
from spanwise_collector.span import Kind


@dataclass(frozen=True, slots=True)
class Phases:
    """The stage of a span's own time; from ``split_ns`` on it is ``after``."""

    before: Stage
    split_ns: int | None = None
    after: Stage = Stage.OTHER

    def cut(self, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, Stage]]:
        """Non-empty parts of ``[start_ns, end_ns)`` with their stages, in order."""
        split = end_ns if self.split_ns is None else min(max(start_ns, self.split_ns), end_ns)
        if start_ns < split:
            yield start_ns, split, self.before
        if split < end_ns:
            yield split, end_ns, self.after


Stages: TypeAlias = Mapping[Node, Phases]


def stages(tree: Tree, calls: ModelCalls) -> Stages:
    """The phases of every blocking node."""
    evidence = _evidence(tree, calls)
    marks = {tree.root: _Mark(_UNATTRIBUTED, plain=_OTHER, carrier=_OTHER, store=_OTHER)}
    for node in tree.root.walk():
        if node.parent is not None:
            marks[node] = _mark(node, marks[node.parent], evidence)
    return {node: mark.own for node, mark in marks.items()}


@dataclass(frozen=True, slots=True)
class _Mark:
    """The phases of a span, and those of three kinds of spans below it that have no stage of their own."""

    own: Phases
    plain: Phases  # unclassified
    carrier: Phases  # HTTP and RPC
    store: Phases  # databases
    model: bool = False  # below a model call
    served: bool = False  # below the server part of a tool call


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What is to be known of the tree before a single span can be classified."""

    calls: ModelCalls
    answered: frozenset[Node]  # MCP requests whose server part is known
    delegating: frozenset[Node]  # tools that an MCP server runs


_OTHER = Phases(Stage.OTHER)
_UNATTRIBUTED = Phases(Stage.UNATTRIBUTED)
_FIXED = {
    Role.RETRIEVAL: Stage.RETRIEVAL,
    Role.MCP_CONNECT: Stage.MCP_CONNECT,
    Role.MCP_CLOSE: Stage.MCP_CLOSE,
}
_METHODS = {
    semconv.MCP_ELICITATION: Stage.USER_WAIT,
    **dict.fromkeys(semconv.MCP_HANDSHAKE_METHODS, Stage.MCP_HANDSHAKE),
    **dict.fromkeys(semconv.MCP_LIST_METHODS, Stage.MCP_LIST),
    **dict.fromkeys(semconv.MCP_READ_METHODS, Stage.MCP_RESOURCE),
}


def method(node: Node) -> str | None:
    """The MCP method of a request or of its server part."""
    return node.record.text(semconv.MCP_METHOD_NAME)


def _evidence(tree: Tree, calls: ModelCalls) -> _Evidence:
    client = nearest(tree, lambda node: node.role is Role.MCP_CLIENT, stop=(Role.MCP_SERVER, Role.AGENT))
    tool = nearest(tree, lambda node: node.role is Role.TOOL, stop=(Role.MCP_SERVER, Role.AGENT))
    answered: set[Node] = set()
    for server in client:
        if server.role is Role.MCP_SERVER:
            answered.update(_requests(server, client))
    delegating = frozenset(tool[node] for node in tool if node.role in (Role.MCP_CLIENT, Role.MCP_SERVER))
    return _Evidence(calls, frozenset(answered), delegating)


def _requests(server: Node, client: Mapping[Node, Node]) -> Iterator[Node]:
    """The request that a server part answers, reported more than once where instrumentations overlap."""
    node = client.get(server)
    while node is not None and method(node) == method(server):
        yield node
        node = client.get(node)


def _mark(node: Node, above: _Mark, evidence: _Evidence) -> _Mark:
    stage = declared(node.record) or _FIXED.get(node.role)
    if stage is not None:
        return _all(Phases(stage))
    return _RULES.get(node.role, _carried)(node, above, evidence)


def _all(phases: Phases) -> _Mark:
    return _Mark(phases, plain=phases, carrier=phases, store=phases)


def _agent(_node: Node, _above: _Mark, _evidence: _Evidence) -> _Mark:
    return _Mark(Phases(Stage.AGENT_OVERHEAD), plain=_OTHER, carrier=_OTHER, store=Phases(Stage.APP_STATE))


def _inference(node: Node, above: _Mark, evidence: _Evidence) -> _Mark:
    """A call reported twice has the phases of the outer report."""
    split = evidence.calls.first_content_ns(node)
    if above.model:
        return _model(above.own, above)
    if split is None:
        return _model(Phases(Stage.MODEL_CALL), above)
    return _model(Phases(Stage.MODEL_FIRST_TOKEN, split, Stage.MODEL_GENERATE), above)


def _embedding(_node: Node, above: _Mark, _evidence: _Evidence) -> _Mark:
    return replace(_model(Phases(Stage.MODEL_EMBED), above), model=False)


def _model(phases: Phases, above: _Mark) -> _Mark:
    """What carries a model call is part of it; a database that is asked on the way is not."""
    store = Phases(Stage.APP_STATE) if above.store == _OTHER else above.store
    return _Mark(phases, plain=phases, carrier=phases, store=store, model=True)


def _request(node: Node, _above: _Mark, evidence: _Evidence) -> _Mark:
    stage = _METHODS.get(method(node) or "")
    return _all(Phases(stage or (Stage.MCP_TRANSPORT if node in evidence.answered else Stage.MCP_OPAQUE)))


def _server(node: Node, _above: _Mark, _evidence: _Evidence) -> _Mark:
    if method(node) == semconv.MCP_TOOLS_CALL:
        return replace(_working(Stage.MCP_SERVER), served=True)
    return _all(Phases(_METHODS.get(method(node) or "", Stage.OTHER)))


def _tool(node: Node, above: _Mark, evidence: _Evidence) -> _Mark:
    if above.served:
        return replace(_working(Stage.MCP_SERVER), served=True)
    return _working(Stage.AGENT_OVERHEAD if node in evidence.delegating else Stage.TOOL_LOCAL)


def _working(stage: Stage) -> _Mark:
    """A tool at work: what it waits for is downstream of it."""
    downstream = Phases(Stage.TOOL_DOWNSTREAM)
    return _Mark(Phases(stage), plain=Phases(stage), carrier=downstream, store=downstream)


def _carried(node: Node, above: _Mark, evidence: _Evidence) -> _Mark:
    """A span without a stage of its own."""
    if node.top and node.record.kind is Kind.SERVER:
        return _agent(node, above, evidence)
    if node.role in (Role.UNKNOWN, Role.ATTEMPT):
        return replace(above, own=above.plain)
    phases = above.store if node.role is Role.DATABASE else above.carrier
    if phases == _OTHER:
        return replace(above, own=phases)
    return replace(above, own=phases, plain=phases, carrier=phases, store=phases)


_RULES: Mapping[Role, Callable[[Node, _Mark, _Evidence], _Mark]] = {
    Role.AGENT: _agent,
    Role.STEP: _agent,
    Role.INFERENCE: _inference,
    Role.EMBEDDING: _embedding,
    Role.MCP_CLIENT: _request,
    Role.MCP_SERVER: _server,
    Role.TOOL: _tool,
}
