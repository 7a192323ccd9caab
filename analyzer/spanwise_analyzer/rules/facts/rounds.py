"""Rounds of an agent: a model call, and the tool calls that ran before the next one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.tool import ToolCall
from spanwise_analyzer.rules.facts.view import View, agent_of
from spanwise_analyzer.tree import Node
from spanwise_collector.span import SpanKey


@dataclass(frozen=True, slots=True)
class Round:
    """One model call and what ran after it, up to the next model call of the same agent."""

    call: ModelCall
    tools: Sequence[ToolCall]
    agent: SpanKey


def rounds(view: View) -> list[list[Round]]:
    """The rounds of each agent's run, in time order."""
    runs: dict[SpanKey, list[ModelCall]] = {}
    for call in view.model_calls:
        runs.setdefault(agent_of(call.node), []).append(call)
    tools: dict[SpanKey, list[ToolCall]] = {}
    for tool in view.tool_calls:
        tools.setdefault(agent_of(tool.node), []).append(tool)
    return [_run(agent, calls, tools.get(agent, [])) for agent, calls in runs.items()]


def asked_together(found: Round) -> list[ToolCall]:
    """The tool calls that this one response asked for, so that their arguments were fixed before any of them ran."""
    by_id = [tool for tool in found.tools if tool.call_id and tool.call_id in found.call.call_ids]
    if len(by_id) > 1:
        return by_id
    if found.call.requested is None:
        named = [tool for tool in found.tools if tool.call_id] if found.call.wants_tools else []
        return named if len({tool.call_id for tool in named}) == len(named) else []
    return list(found.tools)[: found.call.requested]


def lanes(nodes: Sequence[Node], others: Sequence[Node]) -> list[Node] | None:
    """Siblings that each hold one of the nodes; None if one would hold two of them, or one of ``others``."""
    paths = [[node, *node.ancestors()] for node in nodes]
    common = set.intersection(*({id(above.parent) for above in path} for path in paths))
    found = [next((step for step in path if id(step.parent) in common), None) for path in paths]
    lifted = [lane for lane in found if lane is not None]
    if len({id(lane) for lane in lifted}) < len(nodes):
        return None
    inside = {id(below) for lane in lifted for below in lane.walk()}
    return None if any(id(other) in inside for other in others) else lifted


def _run(agent: SpanKey, calls: Sequence[ModelCall], tools: Sequence[ToolCall]) -> list[Round]:
    first = [bisect_left(tools, call.node.start_ns, key=lambda tool: tool.node.start_ns) for call in calls]
    ends = [*first[1:], len(tools)]
    return [Round(call, tools[start:end], agent) for call, start, end in zip(calls, first, ends, strict=True)]
