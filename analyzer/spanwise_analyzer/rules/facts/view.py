"""A ledger as the rules look at it, each fact worked out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.role import Role
from spanwise_analyzer.rules.facts.model import Endpoint, ModelCall
from spanwise_analyzer.rules.facts.norms import Norms
from spanwise_analyzer.rules.facts.setup import SetUp, set_ups
from spanwise_analyzer.rules.facts.tool import ToolCall, stands_for_call, tool_call
from spanwise_analyzer.tree import Node
from spanwise_collector.span import SpanKey


@dataclass(frozen=True)
class View:
    """Facts of one conversation; ``norms`` are those of the fleet, if there is one."""

    ledger: Ledger
    norms: Norms = field(default_factory=Norms)

    @cached_property
    def nodes(self) -> Sequence[Node]:
        """Blocking nodes in time order."""
        return self.ledger.tree.blocking()

    @cached_property
    def model_calls(self) -> Sequence[ModelCall]:
        """Model calls in time order; one that another instrumentor repeats below it counts once."""
        found = [node for node in self.nodes if node.role is Role.INFERENCE]
        outer = [node for node in found if not any(above.role is Role.INFERENCE for above in node.ancestors())]
        return [ModelCall(node, node.record) for node in outer]

    @cached_property
    def tool_calls(self) -> Sequence[ToolCall]:
        """Tool calls in time order, each by its outermost span."""
        return [tool_call(node) for node in self.nodes if stands_for_call(node) and not _inside_call(node)]

    @cached_property
    def set_ups(self) -> Sequence[SetUp]:
        """Set-ups of MCP sessions, by start."""
        return set_ups(self.nodes)

    @cached_property
    def used_tools(self) -> frozenset[str]:
        """Names of all tools that were called or asked for."""
        called = {call.name for call in self.tool_calls if call.name}
        asked = {name for call in self.model_calls for name in call.span.texts(semconv.TOOL_CALL_NAMES)}
        return frozenset(called | asked)

    @cached_property
    def calls_by_endpoint(self) -> Mapping[Endpoint, Sequence[ModelCall]]:
        """Model calls that did not fail, by provider, model and host, each by end."""
        found: dict[Endpoint, list[ModelCall]] = {}
        for call in sorted(self.model_calls, key=lambda call: (call.node.end_ns, call.key)):
            if not call.failed:
                found.setdefault(call.endpoint, []).append(call)
        return found

    @cached_property
    def first_told(self) -> Mapping[tuple[str | None, str], int]:
        """When each leaf (hash key, hash) was first in a tool's result, in ns."""
        found: dict[tuple[str | None, str], int] = {}
        for call in self.tool_calls:
            for leaf in call.texts(semconv.TOOL_RESULT_LEAVES) or ():
                told = (call.key_id, leaf)
                found[told] = min(call.node.end_ns, found.get(told, call.node.end_ns))
        return found

    @cached_property
    def _stages(self) -> dict[SpanKey, Counter[Stage]]:
        found: dict[SpanKey, Counter[Stage]] = {}
        for segment in self.ledger.segments:
            if segment.span:
                found.setdefault(segment.span.key, Counter())[segment.stage] += segment.ns
        return found

    @cached_property
    def _working_roots(self) -> frozenset[SpanKey]:
        return frozenset(_top(call.node).key for call in self.model_calls)

    def owned(self, nodes: Iterable[Node], *stages: Stage) -> int:
        """Active time that these subtrees own, in ns; only that in ``stages`` if any are given."""
        split = self.split(nodes)
        return sum(ns for stage, ns in split.items() if (stage in stages if stages else stage.active))

    def split(self, nodes: Iterable[Node]) -> Counter[Stage]:
        """Owned time of these subtrees by stage, in ns."""
        found: Counter[Stage] = Counter()
        for key in {below.key for node in nodes for below in node.walk()}:
            found.update(self._stages.get(key, {}))
        return found

    def stage(self, nodes: Iterable[Node], *among: Stage) -> Stage | None:
        """The stage in which these subtrees own most; None when they own nothing."""
        split = self.split(nodes)
        ranked = sorted(
            (-ns, list(Stage).index(stage), stage) for stage, ns in split.items() if not among or stage in among
        )
        return ranked[0][2] if ranked else None

    def in_turn(self, node: Node) -> bool:
        """Whether the span ran below a root that also holds a model call, so that a user was waiting for it."""
        return node.parent is not None and node.parent.span is not None and _top(node).key in self._working_roots


def agent_of(node: Node) -> SpanKey:
    """Key of the nearest agent above, else of the topmost span."""
    return next((above.key for above in node.ancestors() if above.role is Role.AGENT), _top(node).key)


def _top(node: Node) -> Node:
    above = list(node.ancestors())
    return above[-1] if above else node


def _inside_call(node: Node) -> bool:
    for above in node.ancestors():
        if above.role is Role.AGENT:
            return False
        if stands_for_call(above):
            return True
    return False
