"""The model was called again only to ask for a tool whose arguments were known before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.replay import Change
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.rounds import Round, lanes, rounds
from spanwise_analyzer.rules.facts.tool import ToolCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "merge-model-rounds"


@dataclass(frozen=True, slots=True)
class Chain:
    """Rounds that one response could have asked for: the first, and those whose model call was not needed."""

    first: Round
    rest: Sequence[Round]

    @property
    def calls(self) -> list[ModelCall]:
        """The model calls that fall away."""
        return [one.call for one in self.rest]

    @property
    def tools(self) -> list[ToolCall]:
        """All tool calls, which then run together."""
        return [tool for one in [self.first, *self.rest] for tool in one.tools]


def find(view: View) -> Finding | None:
    """Exact by replay: the extra calls are taken out and the tools run together; writing the requests is paid for."""
    chains = [chain for run in rounds(view) for chain in _chains(view, run)]
    if not chains:
        return None
    nodes = [call.node for chain in chains for call in chain.calls]
    fewer = saving.without(view.ledger, nodes)
    both = saving.replayed(view.ledger, Change(remove=saving.keys(nodes), together=_siblings(view, chains)))
    # The one response has to write the requests that the extra calls wrote.
    written = view.owned(nodes, Stage.MODEL_GENERATE)
    evidence = [_evidence(view, call) for chain in chains for call in chain.calls]
    found = saving.ranged(fewer - written, both - written, both)
    return Finding(RULE, view.stage(nodes), SavingKind.EXACT, found, evidence)


def _chains(view: View, run: Sequence[Round]) -> list[Chain]:
    found: list[list[Round]] = [[]]
    for one in run:
        if found[-1] and _mergeable(view, one, found[-1]):
            found[-1].append(one)
        else:
            found.append([one] if one.call.wants_tools and _plain(one) else [])
    return [Chain(chain[0], chain[1:]) for chain in found if len(chain) > 1]


def _plain(one: Round) -> bool:
    """All its calls are known to change nothing, and went well: what follows a write or an error may depend on that."""
    return bool(one.tools) and not one.call.failed and all(tool.read_only and not tool.failed for tool in one.tools)


def _mergeable(view: View, one: Round, before: Sequence[Round]) -> bool:
    few = one.call.output is not None and one.call.output < book.limit(RULE, "round_output_tokens")
    if not (few and one.call.requested and _plain(one)) or len(before) >= book.limit(RULE, "rounds"):
        return False
    if semconv.REQUEST_LEAVES not in one.call.span.attributes or one.call.key_id is None:
        return False
    earlier = [tool for each in before for tool in each.tools]
    new = _news(view, one.call, earlier)
    return new is not None and all(_independent(tool, earlier, new) for tool in one.tools)


def _news(view: View, call: ModelCall, earlier: Sequence[ToolCall]) -> frozenset[str] | None:
    """Leaves that only the earlier results told: not the user, no argument, no older result; None if unknown."""
    told = [tool.texts(semconv.TOOL_RESULT_LEAVES) for tool in earlier]
    if None in told or {tool.key_id for tool in earlier} != {call.key_id}:
        return None
    said = {leaf for tool in earlier for leaf in tool.texts(semconv.TOOL_ARGS_LEAVES) or ()}
    said.update(call.span.texts(semconv.REQUEST_LEAVES))
    leaves = {leaf for each in told if each for leaf in each} - said
    began = earlier[0].node.start_ns
    return frozenset(leaf for leaf in leaves if view.first_told.get((call.key_id, leaf), began + 1) > began)


def _independent(tool: ToolCall, earlier: Sequence[ToolCall], news: frozenset[str]) -> bool:
    """Whether the arguments use no news; unknown arguments are no evidence, and the same call again is a repeat."""
    arguments = tool.texts(semconv.TOOL_ARGS_LEAVES)
    again = any(tool.same_call is None or tool.same_call == other.same_call for other in earlier)
    return arguments is not None and tool.key_id == earlier[0].key_id and not again and news.isdisjoint(arguments)


def _siblings(view: View, chains: Sequence[Chain]) -> list[frozenset[tuple[str, str]]]:
    models = [call.node for call in view.model_calls]
    moved = [lanes([tool.node for tool in chain.tools], models) for chain in chains]
    return [frozenset(lane.key for lane in siblings) for siblings in moved if siblings]


def _evidence(view: View, call: ModelCall) -> Evidence:
    what = f"only asked for a tool ({call.output} tokens) with arguments that were known before"
    return Evidence(call.key, view.owned([call.node]), what)
