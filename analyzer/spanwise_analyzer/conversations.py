"""Which conversation each span belongs to."""

from __future__ import annotations

from spanwise import semconv
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node


def keep(conversation_id: str, forest: Forest) -> None:
    """Drop the spans of other conversations; the children they leave behind go to the nearest ancestor that stays.

    Where no span at all belongs to it, the caller knows better and everything stays.
    """
    ids = resolve(forest)
    mixed = _mixed(ids)
    if conversation_id not in ids.values():
        return
    for node in list(forest.top_down()):
        node.parent = _kept(node.parent, conversation_id, ids)
    forest.nodes = {key: node for key, node in forest.nodes.items() if ids[node] == conversation_id}
    forest.problems = [problem for problem in forest.problems if problem.span in forest.nodes]
    for node in forest.nodes.values():
        if node.key[0] in mixed:
            mixed.remove(node.key[0])
            forest.note(node, Oddity.SEVERAL_CONVERSATIONS)


def resolve(forest: Forest) -> dict[Node, str]:
    """A span's own id, else its nearest ancestor's, else the only one of its trace, else the trace id."""
    found: dict[Node, str] = {}
    for node in forest.top_down():
        own = node.record.text(semconv.GEN_AI_CONVERSATION_ID)
        inherited = found.get(node.parent) if node.parent else None
        if own or inherited:
            found[node] = own or inherited or ""
    by_trace = _by_trace(found)
    for node in forest.nodes.values():
        ids = by_trace.get(node.key[0], set())
        found.setdefault(node, next(iter(ids)) if len(ids) == 1 else node.key[0])
    return found


def _kept(parent: Node | None, conversation_id: str, ids: dict[Node, str]) -> Node | None:
    while parent in ids and ids[parent] != conversation_id:
        parent = parent.parent
    return parent


def _mixed(ids: dict[Node, str]) -> set[str]:
    """Traces that more than one conversation names."""
    return {trace for trace, names in _by_trace(ids).items() if len(names - {trace}) > 1}


def _by_trace(ids: dict[Node, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node, name in ids.items():
        found.setdefault(node.key[0], set()).add(name)
    return found
