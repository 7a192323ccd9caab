"""Answers questions from all batches committed at that moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import pyarrow as pa

from spanwise_collector.otlp import value
from spanwise_collector.span import Attributes, Span
from spanwise_collector.store import listing
from spanwise_collector.store.accounts import Account, accounts
from spanwise_collector.store.attributing import attribution, outlived
from spanwise_collector.store.cursors import Cursors
from spanwise_collector.store.extract import Choice, Extract, extract
from spanwise_collector.store.hours import ACTIVE, HOURLY, LOOSE
from spanwise_collector.store.join import joined
from spanwise_collector.store.ledgers import (
    AttributionRow,
    Dimension,
    LedgerFilter,
    LedgerPage,
    Range,
    Sort,
    StoredLedger,
)
from spanwise_collector.store.moving import superseded
from spanwise_collector.store.rows import COLUMNS, once, span

Served: TypeAlias = dict[bytes, dict[bytes, set[str]]]

_ANY: Final = LedgerFilter()
_TRACE_DIGITS: Final = 32
_SPANS: Final = f"""
    SELECT {", ".join(COLUMNS)} FROM spans
    WHERE seq IN (SELECT unnest($seqs)) AND trace_id IN (SELECT unnest($traces))
"""  # noqa: S608  # COLUMNS is a constant
_BLOCKS: Final = """
    SELECT used_blocks * block_size, total_blocks * block_size FROM pragma_database_size()
    WHERE database_name = current_database()
"""
_HOLDING: Final = """
    SELECT coalesce(max(seq), 0)
    FROM (SELECT seq, sum(spans) OVER (ORDER BY seq) - spans AS before FROM batches WHERE spans > 0)
    WHERE before < $spans
"""
_THAWED: Final = """
    SELECT id FROM ledgers
    WHERE NOT frozen AND conversation_id IN (SELECT unnest($names)) ORDER BY id LIMIT $limit
"""
_NAMED: Final = "SELECT DISTINCT conversation_id, trace_id FROM touches WHERE conversation_id IN (SELECT unnest($ids))"
_KNOWN: Final = "SELECT DISTINCT trace_id FROM touches WHERE trace_id IN (SELECT unnest($traces))"
_TOUCHED: Final = "SELECT DISTINCT trace_id FROM touches WHERE seq > $after AND seq <= $upto"
_NAMES: Final = """
    SELECT trace_id, list(DISTINCT conversation_id ORDER BY conversation_id)
            FILTER (WHERE conversation_id IS NOT NULL), bool_or(agentic), bool_or(served)
    FROM touches WHERE trace_id IN (SELECT unnest($traces))
    GROUP BY trace_id ORDER BY trace_id
"""


class Reader:
    """Reads the store; may be used by any number of threads, each has its own cursor."""

    def __init__(self, cursors: Cursors) -> None:
        self._cursors = cursors
        self._rows = cursors.rows
        self._resource = lru_cache(maxsize=4096)(self._read_resource)
        self._scope = lru_cache(maxsize=4096)(self._read_scope)
        self._operations = lru_cache(maxsize=64)(self._read_operations)

    def seq(self) -> int:
        """Sequence of the newest committed batch, 0 if there is none."""
        found: int = self._rows("SELECT coalesce(max(seq), 0) FROM batches")[0][0]
        return found

    def batches(self, upto: int) -> list[Range]:
        """Every batch up to this one that still has spans, oldest first."""
        sql = "SELECT seq, seq, spans FROM batches WHERE spans > 0 AND seq <= $upto ORDER BY seq"
        return [Range(*row) for row in self._rows(sql, {"upto": upto})]

    def oldest(self) -> int:
        """The first batch that still has spans, else the newest."""
        found: int | None = self._rows("SELECT min(seq) FROM batches WHERE spans > 0")[0][0]
        return self.seq() if found is None else found

    def stored(self) -> int:
        """Spans in all batches, copies included."""
        return int(self._rows("SELECT coalesce(sum(spans), 0) FROM batches")[0][0])

    def arrived_before(self, ns: int) -> int:
        """The last batch that arrived before this time, 0 if there is none."""
        found: int = self._rows("SELECT coalesce(max(seq), 0) FROM batches WHERE arrived_ns < $ns", {"ns": ns})[0][0]
        return found

    def holding(self, spans: int) -> int:
        """The batch up to which there are this many spans."""
        found: int = self._rows(_HOLDING, {"spans": spans})[0][0]
        return found

    def blocks(self) -> tuple[int, int]:
        """Bytes of the database file that are in use, and bytes in all; they change at checkpoints only."""
        used, whole = self._rows(_BLOCKS)[0]
        return used, whole

    def thawed(self, conversation_ids: Sequence[str], *, limit: int) -> list[int]:
        """Some of those stored accounts of these conversations that may still be replaced by newer ones."""
        return [row[0] for row in self._rows(_THAWED, {"names": list(conversation_ids), "limit": limit})]

    def hourly(self, ledgers: Sequence[int]) -> pa.Table:
        """The hours that the segments of these accounts add up to, as rows of the table."""
        bounds = {"ids": list(ledgers), "first": min(ledgers), "last": max(ledgers), "active": ACTIVE}
        return self._cursors.table(HOURLY, bounds)

    def loose_hours(self) -> list[int]:
        """Hours that several rows of one key have been added to."""
        return [row[0] for row in self._rows(LOOSE)]

    def outlived(self, filters: LedgerFilter) -> bool:
        """Whether some of the conversations of this time are known by hours only, which tell no status and no sum."""
        return outlived(self._rows, filters)

    def changed(self, after: int, before_or_at: int) -> list[str]:
        """Ids of the conversations that the batches in ``(after, before_or_at]`` touched, sorted.

        Every conversation id in a touched trace; where a trace has none, its own id, if it holds an agent, step, model
        or tool-call span and is not wholly the server side of another trace's conversation.
        """
        window = {"after": after, "upto": before_or_at}
        touched = {row[0] for row in self._rows(_TOUCHED, window)}
        touched |= {row[0] for row in self._rows(joined("server.seq"), window)}
        return sorted(self._conversations(list(touched)))

    def has(self, conversation_id: str) -> bool:
        """Whether any span of this conversation, or of the trace with this id, is stored, or what outlived them."""
        return bool(self._traces([conversation_id])[conversation_id]) or self.ledger(conversation_id) is not None

    def conversation_seq(self, conversation_id: str) -> int:
        """Sequence of the newest batch that touched it, 0 if it is unknown."""
        return max(self._seqs(self.traces(conversation_id)), default=0)

    def spans(self, conversation_id: str) -> list[Span]:
        """Spans of every trace that holds the conversation id, or of the trace with this id, each once.

        With them come MCP server spans of other traces, and what lies below them, where their client is among these.
        Where a span was delivered under several conversation ids, only the copy that counts decides.
        """
        return self.gathered([conversation_id])[conversation_id]

    def gathered(self, conversation_ids: Sequence[str]) -> dict[str, list[Span]]:
        """The spans of each of several conversations, as ``spans`` tells; much quicker than one after the other."""
        traces = self._traces(conversation_ids)
        served = self._served([trace for found in traces.values() for trace in found])
        wanted = {trace for found in traces.values() for trace in found} | {
            trace for found in served.values() for trace in found
        }
        spans = self._read(sorted(wanted))
        return {
            name: _conversation(self._standing(name, found, spans), served, spans) for name, found in traces.items()
        }

    def trace(self, trace_id: str) -> list[Span]:
        """Spans of one trace by its 32 hex digits, each once; empty if unknown."""
        trace = _trace_bytes(trace_id)
        return once(self._read([trace])[trace]) if trace else []

    def extract(self, choice: Choice) -> Extract:
        """Whole traces as columns, from all batches committed by now."""
        return extract(self._cursors, choice, seq=self.seq())

    def accounts(
        self, what: Account, ids: Sequence[str] | None = None, filters: LedgerFilter = _ANY
    ) -> Iterator[pa.Table]:
        """Stored accounts or their segments as columns; the first table is empty and has the schema."""
        return accounts(self._cursors, what, ids, filters)

    def traces(self, conversation_id: str) -> list[bytes]:
        """Ids of the traces that hold a conversation's spans, or the trace with this id; none if it is unknown."""
        traces = self._traces([conversation_id])[conversation_id]
        served = {trace for found in self._served(traces).values() for trace in found}
        return [*traces, *sorted(served.difference(traces))]

    def ledgers_of(self, conversation_ids: Sequence[str]) -> list[StoredLedger]:
        """The stored accounts of these conversations, of those that have one."""
        return listing.ledgers_of(self._rows, conversation_ids)

    def ledger(self, conversation_id: str) -> StoredLedger | None:
        """The stored account of one conversation."""
        return listing.ledger(self._rows, conversation_id)

    def ledgers(
        self, filters: LedgerFilter = _ANY, *, sort: Sort = "started", limit: int = 100, cursor: str | None = None
    ) -> LedgerPage:
        """A page of stored accounts, latest or longest first; raises ValueError on a bad sort or cursor."""
        return listing.ledgers(self._rows, filters, sort=sort, limit=limit, cursor=cursor)

    def answers(self, filters: LedgerFilter = _ANY, *, limit: int = 1000) -> list[StoredLedger]:
        """Stored answers of conversations, latest first."""
        return listing.answers(self._rows, filters, limit=limit)

    def attribution(self, group_by: Sequence[Dimension], filters: LedgerFilter = _ANY) -> list[AttributionRow]:
        """Active time per group over stored accounts, largest first; one row of totals where no dimension is asked for.

        Raises ValueError on an unknown dimension.
        """
        return attribution(self._rows, group_by, filters)

    def services(self) -> list[str]:
        """Names of all services that sent spans, sorted."""
        numbers = self._rows("SELECT id FROM resources")
        return sorted({value.service(self._resource(number)) for (number,) in numbers})

    def operations(self, service: str) -> list[str]:
        """Names of a service's spans, sorted; looked up anew only after a new batch."""
        return list(self._operations(service, self.seq()))

    def _read_operations(self, service: str, _seq: int) -> tuple[str, ...]:
        sql = "SELECT DISTINCT name FROM spans WHERE service = $service ORDER BY name"
        return tuple(row[0] for row in self._rows(sql, {"service": service}))

    def _traces(self, conversation_ids: Sequence[str]) -> dict[str, list[bytes]]:
        found: dict[str, list[bytes]] = {name: [] for name in conversation_ids}
        for name, trace in self._rows(_NAMED, {"ids": list(conversation_ids)}):
            found[name].append(trace)
        loose = {trace: name for name in conversation_ids if not found[name] and (trace := _trace_bytes(name))}
        if loose:
            for (trace,) in self._rows(_KNOWN, {"traces": list(loose)}):
                found[loose[trace]].append(trace)
        return found

    def _standing(
        self, conversation_id: str, traces: Sequence[bytes], spans: Mapping[bytes, Sequence[Span]]
    ) -> list[bytes]:
        copies = {trace: spans[trace] for trace in traces}
        lost = superseded(self._rows, conversation_id, copies)
        return [trace for trace in traces if trace not in lost]

    def _served(self, traces: Sequence[bytes]) -> Served:
        """Server spans of other traces whose clients are in these: by client's trace, hex span ids by server's."""
        served: Served = defaultdict(lambda: defaultdict(set))
        if traces:
            for client, trace, span_id in self._rows(joined("client.trace_id"), {"traces": list(traces)}):
                served[client][trace].add(span_id.hex())
        return served

    def _conversations(self, traces: Sequence[bytes]) -> set[str]:
        found: set[str] = set()
        served = {row[1] for row in self._rows(joined("server.trace_id"), {"traces": traces})}
        for trace, names, agentic, serves in self._rows(_NAMES, {"traces": traces}):
            if names:
                found.update(names)
            elif agentic or (serves and trace not in served):
                found.add(trace.hex())
        return found

    def _seqs(self, traces: Iterable[bytes]) -> list[int]:
        sql = "SELECT DISTINCT seq FROM touches WHERE trace_id IN (SELECT unnest($traces))"
        return [row[0] for row in self._rows(sql, {"traces": list(traces)})]

    def _read(self, traces: Sequence[bytes]) -> dict[bytes, list[Span]]:
        """The spans of these traces, copies included."""
        found: dict[bytes, list[Span]] = {trace: [] for trace in traces}
        seqs = self._seqs(traces)
        rows = self._rows(_SPANS, {"seqs": seqs, "traces": list(traces)}) if seqs else []
        resources = {number: self._resource(number) for number in {row[-2] for row in rows}}
        scopes = {number: self._scope(number) for number in {row[-1] for row in rows}}
        for row in rows:
            found[row[0]].append(span(row, resources, scopes))
        return found

    def _read_resource(self, number: int) -> Attributes:
        return value.resource_attributes(self._body("SELECT body FROM resources WHERE id = $id", number))

    def _read_scope(self, number: int) -> tuple[str, str]:
        return value.scope(self._body("SELECT body FROM scopes WHERE id = $id", number))

    def _body(self, sql: str, number: int) -> bytes | None:
        body: bytes | None = self._rows(sql, {"id": number})[0][0]
        return body


def _trace_bytes(trace_id: str) -> bytes | None:
    try:
        trace = bytes.fromhex(trace_id)
    except ValueError:
        return None
    return trace if len(trace_id) == _TRACE_DIGITS else None


def _conversation(traces: Sequence[bytes], served: Served, spans: Mapping[bytes, list[Span]]) -> list[Span]:
    own = [each for trace in traces for each in spans[trace]]
    for client in traces:
        for trace, tops in served.get(client, {}).items():
            if trace not in traces:
                own += _below(spans[trace], tops)
    return once(own)


def _below(spans: Sequence[Span], tops: set[str]) -> list[Span]:
    """These spans and their descendants."""
    children: dict[str, list[Span]] = defaultdict(list)
    for each in spans:
        children[each.parent_id].append(each)
    found = {each.span_id: each for each in spans if each.span_id in tops}
    waiting = list(found.values())
    while waiting:
        fresh = [child for child in children[waiting.pop().span_id] if child.span_id not in found]
        found.update({child.span_id: child for child in fresh})
        waiting += fresh
    return list(found.values())
