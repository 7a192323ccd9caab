"""Time in which nothing ran: between turns, inside them, and while a person was asked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.claims import Claim
from spanwise_analyzer.classify import method
from spanwise_analyzer.ledger import Problem, Segment
from spanwise_analyzer.lineage import nearest
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.owners import Piece
from spanwise_analyzer.retries import caller, target
from spanwise_analyzer.role import Role
from spanwise_analyzer.tree import Node, Tree
from spanwise_analyzer.turns import Rounds

IDLE_THRESHOLD_NS = 2_000_000_000


def unowned(piece: Piece, rounds: Rounds, *, threshold_ns: int) -> Segment:
    """A piece that nobody owns: missing instrumentation inside a turn, the user's time between turns.

    Where the program marks no turns, only a long gap is taken for the user's.
    """
    inside = rounds.around(piece.start_ns)
    if inside is not None:
        return Segment(piece.start_ns, piece.end_ns, Stage.UNATTRIBUTED, turn=inside.number)
    before = rounds.before(piece.start_ns)
    idle = before is None or before.bounded or piece.end_ns - piece.start_ns > threshold_ns
    return Segment(piece.start_ns, piece.end_ns, Stage.USER_IDLE if idle else Stage.UNATTRIBUTED)


def answers(tree: Tree) -> Iterator[Claim]:
    """Waits for a person between a tool call that asked for input and the same call made again with it."""
    calls: dict[tuple[Node | None, object], list[Node]] = {}
    for node in tree.blocking():
        if node.role is Role.MCP_CLIENT and method(node) == semconv.MCP_TOOLS_CALL:
            calls.setdefault((caller(node), target(node.record)), []).append(node)
    for (parent, _), group in calls.items():
        for node in group if parent is not None else ():
            at = bisect_left(group, node.end_ns, key=lambda other: other.start_ns)
            if _asks(node) and at < len(group) and parent is not None:
                yield Claim(node.end_ns, group[at].start_ns, parent, Stage.USER_WAIT)


def _asks(node: Node) -> bool:
    return node.span is not None and node.span.text(semconv.MCP_RESULT_TYPE) == semconv.MCP_INPUT_REQUIRED


def pauses(tree: Tree, pieces: Sequence[Piece], *, threshold_ns: int) -> tuple[list[Claim], list[Problem]]:
    """A whole session under one root span: its long own time from a final answer to the next model call is the user's.

    Only where the program does not number its turns; a finish reason that is absent is not a stop.
    """
    call = nearest(tree, lambda node: node.role is Role.INFERENCE)
    claims: list[Claim] = []
    for before, piece, after in zip(pieces, pieces[1:], pieces[2:], strict=False):
        node = piece.node
        if node is None or not node.top or _numbered(node) or piece.end_ns - piece.start_ns <= threshold_ns:
            continue
        if _answered(_call(before, call), piece) and _asked(_call(after, call), piece):
            claims.append(Claim(piece.start_ns, piece.end_ns, node, Stage.USER_IDLE))
    roots = dict.fromkeys(claim.node.key for claim in claims)
    return claims, [Problem(Oddity.IDLE_INFERRED.value, Oddity.IDLE_INFERRED.text, key) for key in roots]


def _numbered(node: Node) -> bool:
    return node.span is not None and node.span.integer(semconv.TURN) is not None


def _call(piece: Piece, call: dict[Node, Node]) -> Node | None:
    node = piece.node
    return node if node is None or node.role is Role.INFERENCE else call.get(node)


def _answered(call: Node | None, piece: Piece) -> bool:
    if call is None or call.end_ns != piece.start_ns:
        return False
    reasons = call.record.texts(semconv.GEN_AI_RESPONSE_FINISH_REASONS)
    return set(reasons) == {semconv.FINISH_STOP}


def _asked(call: Node | None, piece: Piece) -> bool:
    return call is not None and call.start_ns == piece.end_ns
