"""The turns of a conversation: which top-level spans make one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from spanwise import semconv
from spanwise.stages import Group
from spanwise_analyzer.classify import method
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import Role, declared
from spanwise_analyzer.tree import Node, Tree
from spanwise_collector.span import Kind

_SESSION_METHODS = semconv.MCP_HANDSHAKE_METHODS | semconv.MCP_LIST_METHODS


@dataclass(slots=True, eq=False)
class Round:
    """The top-level spans of one turn; it lasts from the first to the last of those that do not come late."""

    declared: int | None
    root: Node  # stands for the turn: the first agent or server span, else the first one taken in
    roots: list[Node]
    start_ns: int
    end_ns: int
    number: int = 0

    def add(self, node: Node) -> None:
        """Take one more top-level span in."""
        self.roots.append(node)
        if Oddity.OUTSIDE_PARENT not in node.flags:
            self.start_ns = min(self.start_ns, node.eff_start_ns)
            self.end_ns = max(self.end_ns, node.eff_end_ns)
        if leads(node) and not leads(self.root):
            self.root = node

    @property
    def bounded(self) -> bool:
        """Whether the program says where the turn ends: by a turn number, an agent, a workflow or a server span."""
        return self.declared is not None or leads(self.root)


class Rounds:
    """All turns by start, numbered, and the turn of each blocking node."""

    def __init__(self, rounds: Iterable[Round]) -> None:
        self.all: Sequence[Round] = sorted(rounds, key=lambda found: (found.start_ns, found.end_ns, found.root.key))
        _number(self.all)
        self.numbers = {node: found.number for found in self.all for root in found.roots for node in root.walk()}
        self._starts = [found.start_ns for found in self.all]
        self._by_end = sorted(self.all, key=lambda found: found.end_ns)
        self._ends = [found.end_ns for found in self._by_end]

    def around(self, instant_ns: int) -> Round | None:
        """A turn that is open at an instant; of several the one that started last."""
        at = bisect_right(self._starts, instant_ns)
        if at == bisect_right(self._ends, instant_ns):
            return None  # as many have ended as have started
        while self.all[at - 1].end_ns <= instant_ns:
            at -= 1
        return self.all[at - 1]

    def before(self, instant_ns: int) -> Round | None:
        """The turn that ended last at or before an instant."""
        ended = bisect_right(self._ends, instant_ns)
        return self._by_end[ended - 1] if ended else None


def leads(node: Node) -> bool:
    """Whether a top-level span is a turn by itself."""
    served = node.span is not None and node.span.kind is Kind.SERVER and node.role is not Role.MCP_SERVER
    return node.role in (Role.AGENT, Role.STEP) or served


def find(tree: Tree) -> Rounds:
    """Group the top-level spans into turns.

    Spans that declare one turn number are one turn. Other agent and server spans are a turn each. Sessions opened or
    closed outside belong to none. Late work joins the turn that started it, and whatever else stands loose in a trace
    joins the turn of that trace.
    """
    tops = sorted(tree.root.children, key=lambda node: (node.eff_start_ns, node.eff_end_ns, node.key))
    found = _Grouping(tree)
    for node in tops:
        number = node.record.integer(semconv.TURN)
        if number is not None or (leads(node) and Oddity.OUTSIDE_PARENT not in node.flags):
            found.put(node, node.key if number is None else number, number)
    by_trace = _by_trace(found.rounds)
    for node in tops:
        if node not in found.rounds and not _session(node):
            at = found.starter(node) or _same_trace(node, by_trace)
            found.put(node, node.key[0] if at is None else at)
    return Rounds(set(found.rounds.values()))


class _Grouping:
    """Top-level spans with the turns they are in so far."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.rounds: dict[Node, Round] = {}
        self._named: dict[Hashable, Round] = {}
        self._starters: dict[Node, Round | None] = {}

    def put(self, node: Node, name: Hashable, number: int | None = None) -> None:
        """Put a span into the turn of that name, or into that turn."""
        found = name if isinstance(name, Round) else self._named.get(name)
        if found is None:
            found = self._named[name] = Round(number, node, [node], node.eff_start_ns, node.eff_end_ns)
        else:
            found.add(node)
        self.rounds[node] = found

    def starter(self, node: Node) -> Round | None:
        """The turn below which late work was started, by the links it arrived with."""
        path: dict[Node, None] = {}
        at: Node | None = node
        while at is not None and at not in self.rounds and at not in self._starters and at not in path:
            path[at] = None
            at = self._tree.nodes.get((at.record.trace_id, at.record.parent_id))
        found = None if at is None else self.rounds.get(at) or self._starters.get(at)
        self._starters.update(dict.fromkeys(path, found))
        return found


def _number(rounds: Sequence[Round]) -> None:
    """Declared numbers stay; the others get the smallest free ones in order of start."""
    taken = {found.declared for found in rounds}
    free = iter(number for number in range(1, 2 * len(rounds) + 1) if number not in taken)
    for found in rounds:
        found.number = next(free) if found.declared is None else found.declared


def _by_trace(of: Mapping[Node, Round]) -> dict[str, list[tuple[int, Round]]]:
    found: dict[str, list[tuple[int, Round]]] = {}
    for node, round_ in of.items():
        found.setdefault(node.key[0], []).append((node.eff_start_ns, round_))
    return found


def _same_trace(node: Node, by_trace: dict[str, list[tuple[int, Round]]]) -> Round | None:
    """The turn of the trace that started last before the node, else the first one."""
    rounds = by_trace.get(node.key[0])
    if not rounds:
        return None
    at = bisect_right(rounds, node.eff_start_ns, key=lambda row: row[0])
    return rounds[max(0, at - 1)][1]


def _session(node: Node) -> bool:
    """Whether it opens or closes a connection, which belongs to no turn by itself."""
    stage = declared(node.record)
    if stage is not None:
        return stage.group is Group.CONNECTION
    return node.role in (Role.MCP_CONNECT, Role.MCP_CLOSE) or method(node) in _SESSION_METHODS
