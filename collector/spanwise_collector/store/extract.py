"""Whole traces out of the store as Arrow: every span once, in an order that depends on nothing but the spans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spanwise_collector.otlp.encode import encode
from spanwise_collector.store.cursors import Cursors
from spanwise_collector.store.interner import Content

Contents: TypeAlias = Mapping[int, Content]

PART: Final = 8_192  # spans that are read at once
# Copies of a span may disagree about its start; only the copy with the latest end counts, so the order is by ends.
_TRACES: Final = """
    SELECT trace_id, min(seq) AS first, max(seq) AS last, sum(spans)::BIGINT AS spans
    FROM touches WHERE {where}
    GROUP BY trace_id
    HAVING ($since IS NULL OR min(start_ns) >= $since) AND ($until IS NULL OR min(start_ns) < $until)
    ORDER BY max(end_ns), trace_id
"""
_WITHIN: Final = "seq BETWEEN $first AND $last AND trace_id IN (SELECT unnest($traces))"
_SPANS: Final = f"SELECT * FROM spans WHERE {_WITHIN}"  # noqa: S608  # as all here: parts are constants
_PIECE: Final = f"{_SPANS} AND hash(span_id) % $pieces = $piece"
_COUNT: Final = f"SELECT count(DISTINCT span_id) FROM spans WHERE {_WITHIN}"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which traces, each with all its spans: these ids (None is any), begun in ``[since_ns, until_ns)``, and with a
    span of this service.
    """

    traces: Sequence[bytes] | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    service: str | None = None


@dataclass(frozen=True, slots=True)
class Extract:
    """What was chosen among the batches up to ``seq``; ``tables`` may be walked once, by any threads in turn.

    Each table has the columns of the spans table and about PART rows at most, whatever the traces' size.
    """

    tables: Iterator[pa.Table]
    resources: Contents
    scopes: Contents


def extract(cursors: Cursors, choice: Choice, *, seq: int) -> Extract:
    """Begin an extract; later batches do not change it."""
    traces = _traces(cursors, choice, seq)
    return Extract(_tables(cursors, traces, seq), _contents(cursors, "resources"), _contents(cursors, "scopes"))


def _traces(cursors: Cursors, choice: Choice, seq: int) -> pa.Table:
    where = "seq <= $seq"
    values: dict[str, object] = {"seq": seq, "since": choice.since_ns, "until": choice.until_ns}
    if choice.traces is not None:
        where += " AND trace_id IN (SELECT unnest($traces::BLOB[]))"
        values |= {"traces": list(choice.traces)}
    if choice.service is not None:
        where += " AND trace_id IN (SELECT trace_id FROM spans WHERE service = $service AND seq <= $seq)"
        values |= {"service": choice.service}
    return cursors.table(_TRACES.format(where=where), values)


def _contents(cursors: Cursors, table: str) -> dict[int, Content]:
    return {
        number: (body, url)
        for number, body, url in cursors.rows(f"SELECT id, body, schema_url FROM {table}")  # noqa: S608
    }


def _tables(cursors: Cursors, traces: pa.Table, seq: int) -> Iterator[pa.Table]:
    for group in _groups(traces):
        within = {
            "first": pc.min(group["first"]).as_py(),
            "last": min(seq, pc.max(group["last"]).as_py()),
            "traces": group["trace_id"].to_pylist(),
        }
        for sql, more in _queries(cursors, within, pc.sum(group["spans"]).as_py()):
            yield _ordered(_once(cursors.table(sql, within | more)), group["trace_id"])


def _groups(traces: pa.Table) -> Iterator[pa.Table]:
    """Neighbours that have PART spans together; a larger trace is alone."""
    start, total = 0, 0
    for row, spans in enumerate(traces["spans"].to_numpy()):
        if row > start and total + spans > PART:
            yield traces.slice(start, row - start)
            start, total = row, 0
        total += spans
    if start < len(traces):
        yield traces.slice(start)


def _queries(cursors: Cursors, within: Mapping[str, Any], spans: int) -> Iterator[tuple[str, dict[str, int]]]:
    """One query, or several for a trace that is too large for one; how many depends on its distinct spans only."""
    if spans <= PART:
        yield _SPANS, {}
        return
    pieces = -(-cursors.rows(_COUNT, within)[0][0] // PART)
    for piece in range(pieces):
        yield _PIECE, {"pieces": pieces, "piece": piece}


def _once(spans: pa.Table) -> pa.Table:
    """One row a key: the one with the latest end, then the earliest start, then most attributes."""
    keys = pc.binary_join_element_wise(spans["trace_id"], spans["span_id"], b"").combine_chunks().dictionary_encode()
    if len(keys.dictionary) == len(spans):
        return spans
    codes = keys.indices.to_numpy()
    repeated = np.bincount(codes)[codes] > 1
    rows: dict[int, list[int]] = defaultdict(list)
    copies = np.flatnonzero(repeated).tolist()
    for row in copies:
        rows[codes[row]].append(row)
    rank = dict(zip(copies, _completeness(spans.filter(pa.array(repeated))), strict=True))
    kept = ~repeated
    kept[[max(same, key=rank.__getitem__) for same in rows.values()]] = True
    return spans.filter(pa.array(kept))


def _completeness(spans: pa.Table) -> Iterator[tuple[int, int, int, bytes]]:
    attributes = pc.list_value_length(spans["attributes"])
    starts = (-start for start in spans["start_ns"].to_pylist())
    return zip(spans["end_ns"].to_pylist(), starts, attributes.to_pylist(), encode(spans).to_pylist(), strict=True)


def _ordered(spans: pa.Table, traces: pa.ChunkedArray) -> pa.Table:
    ranked = spans.append_column("rank", pc.index_in(spans["trace_id"], value_set=traces))
    order = pc.sort_indices(ranked, [(name, "ascending") for name in ("rank", "start_ns", "end_ns", "span_id")])
    return spans.take(order)
