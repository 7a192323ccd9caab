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

_LAST = 2**31 - 1  # what lies beyond came from outside and counts nothing
_SESSION_METHODS = semconv.MCP_HANDSHAKE_METHODS | semconv.MCP_LIST_METHODS


@dataclass(slots=True, eq=False)
class Round:
    """The top-level spans of one turn; it lasts from the first to the last of those that belong to it in time too."""

    declared: int | None
    root: Node  # stands for the turn: the first agent or server span, else the first one taken in
    roots: list[Node]
    start_ns: int
    end_ns: int
    number: int = 0

    def add(self, node: Node) -> None:
        """Take one more top-level span in; late work, and loose work off a led turn, do not make it longer."""
        self.roots.append(node)
        late = Oddity.OUTSIDE_PARENT in node.flags
        if not late and (leads(node) or not leads(self.root) or self.touches(node)):
            self.start_ns = min(self.start_ns, node.eff_start_ns)
            self.end_ns = max(self.end_ns, node.eff_end_ns)
        if leads(node) and not leads(self.root):
            self.root = node

    def touches(self, node: Node) -> bool:
        """Whether a span overlaps the turn or lies right beside it."""
        return node.eff_start_ns <= self.end_ns and self.start_ns <= node.eff_end_ns

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

    Agent and server spans lead a turn each; in one trace those with one turn number lead it together. Two traces never
    share a turn that way: every process counts its turns from 1. What leads nothing joins the turn that started it,
    else one of its trace, else the one with its number if it touches that in time, else it stands loose in its trace.
    Sessions opened or closed outside, and what a server did long after or before the turn it names, belong to none.
    """
    tops = sorted(tree.root.children, key=lambda node: (node.eff_start_ns, node.eff_end_ns, node.key))
    found = _Grouping(tree)
    for node in tops:
        number = _declared(node)
        if leads(node) and (number is not None or Oddity.OUTSIDE_PARENT not in node.flags):
            found.put(node, node.key if number is None else (node.key[0], number), number)
    loose = [node for node in tops if node not in found.rounds]
    for numbered in (True, False):  # what has no number joins what has one
        known = _Known(found.rounds)
        for node in loose:
            if (_declared(node) is not None) is numbered and (numbered or not _session(node)):
                _place(node, found, known)
    return Rounds(set(found.rounds.values()))


def _place(node: Node, found: _Grouping, known: _Known) -> None:
    """Find a turn for a span that leads none."""
    number = _declared(node)
    name = (node.key[0], number)
    own = None if number is None else found.named(name)
    at = own or found.starter(node) or known.same_trace(node) or known.touching(node, number)
    if at is not None:
        found.put(node, at)
    elif not _session(node) and not (node.role is Role.MCP_SERVER and known.has(number)):
        found.put(node, name, number)


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

    def named(self, name: Hashable) -> Round | None:
        """The turn of that name so far."""
        return self._named.get(name)

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


class _Known:
    """The turns found so far, by trace and by number."""

    def __init__(self, of: Mapping[Node, Round]) -> None:
        self._by_trace: dict[str, list[tuple[int, Round]]] = {}
        for node, round_ in sorted(of.items(), key=lambda row: row[0].eff_start_ns):
            self._by_trace.setdefault(node.key[0], []).append((node.eff_start_ns, round_))
        self._by_number: dict[int, list[tuple[int, Round]]] = {}
        for round_ in sorted(dict.fromkeys(of.values()), key=lambda found: found.start_ns):
            if round_.declared is not None:
                self._file(self._by_number.setdefault(round_.declared, []), round_)

    @staticmethod
    def _file(rows: list[tuple[int, Round]], round_: Round) -> None:
        """Beside each start goes the turn that ends last of all that started by then."""
        longest = max(rows[-1][1], round_, key=lambda found: found.end_ns) if rows else round_
        rows.append((round_.start_ns, longest))

    def has(self, number: int | None) -> bool:
        """Whether there is a turn of that number."""
        return number in self._by_number

    def same_trace(self, node: Node) -> Round | None:
        """The turn of the trace that started last before the node, else the first one."""
        rounds = self._by_trace.get(node.key[0])
        if not rounds:
            return None
        at = bisect_right(rounds, node.eff_start_ns, key=lambda row: row[0])
        return rounds[max(0, at - 1)][1]

    def touching(self, node: Node, number: int | None) -> Round | None:
        """A turn of that number that the node touches in time."""
        rounds = [] if number is None else self._by_number.get(number, [])
        at = bisect_right(rounds, node.eff_end_ns, key=lambda row: row[0])
        return rounds[at - 1][1] if at and rounds[at - 1][1].touches(node) else None


def _number(rounds: Sequence[Round]) -> None:
    """Declared numbers stay while each is there once, the others get the smallest free ones; else all go by order."""
    declared = [found.declared for found in rounds if found.declared is not None]
    taken = set(declared)
    clash = len(taken) < len(declared)
    free = iter(number for number in range(1, 2 * len(rounds) + 1) if clash or number not in taken)
    for found in rounds:
        found.number = next(free) if clash or found.declared is None else found.declared


def _declared(node: Node) -> int | None:
    number = node.record.integer(semconv.TURN)
    return number if number is not None and 0 < number <= _LAST else None


def _session(node: Node) -> bool:
    """Whether it opens or closes a connection, which belongs to no turn by itself."""
    stage = declared(node.record)
    if stage is not None:
        return stage.group is Group.CONNECTION
    return node.role in (Role.MCP_CONNECT, Role.MCP_CLOSE) or method(node) in _SESSION_METHODS
