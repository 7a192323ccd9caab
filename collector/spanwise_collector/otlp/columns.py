"""Decoded requests flattened to one row a span, without a loop over spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spanwise_collector.otlp.decode import Parcel, valid_ids
from spanwise_collector.otlp.hot import Rows
from spanwise_collector.otlp.typed import relist, typed

_PLAIN: Final = (
    "trace_id",
    "span_id",
    "parent_id",
    "trace_state",
    "flags",
    "name",
    "kind",
    "start_ns",
    "end_ns",
    "dropped_attributes",
    "dropped_events",
    "dropped_links",
)
_LONGEST: Final = np.uint64(2**63 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Resources or scopes of a group of requests: serialized message (null if absent) and schema URL."""

    bodies: pa.BinaryArray
    schema_urls: pa.StringArray


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """Span columns, and for each span which resource and which scope it came under."""

    columns: dict[str, pa.Array]
    resources: Origin
    scopes: Origin
    resource_of: Rows
    scope_of: Rows


def flatten(parcels: Sequence[Parcel]) -> Flat:
    """All valid spans of these requests, in order of arrival; times stay raw, ``duration_ns`` is never negative."""
    resources = pa.concat_arrays([parcel.resource_spans for parcel in parcels]).flatten()
    scopes = resources.field("scope_spans").flatten()
    spans = scopes.field("spans").flatten()
    resource_of_scope = _parents(resources.field("scope_spans"))
    scope_of = _parents(scopes.field("spans"))
    if any(parcel.rejected for parcel in parcels):
        valid = valid_ids(spans)
        spans, scope_of = spans.filter(pa.array(valid)), scope_of[valid]
    return Flat(
        _columns(spans),
        Origin(resources.field("resource"), resources.field("schema_url")),
        Origin(scopes.field("scope"), scopes.field("schema_url")),
        resource_of_scope[scope_of],
        scope_of,
    )


def _columns(spans: pa.StructArray) -> dict[str, pa.Array]:
    columns = {name: spans.field(name) for name in _PLAIN}
    message, code = spans.field("status").flatten()  # both null where the status is absent
    columns |= {"status_message": message, "status_code": code, "duration_ns": _durations(spans)}
    columns["attributes"] = typed(spans.field("attributes"))
    columns["events"] = _with_typed_attributes(spans.field("events"))
    columns["links"] = _with_typed_attributes(spans.field("links"))
    return columns


def _durations(spans: pa.StructArray) -> pa.Int64Array:
    start, end = spans.field("start_ns").to_numpy(), spans.field("end_ns").to_numpy()
    # Unsigned subtraction would make centuries of an end before the start.
    return pa.array(np.minimum(np.where(end > start, end - start, 0), _LONGEST).astype(np.int64))


def _with_typed_attributes(lists: pa.ListArray) -> pa.ListArray:
    values = lists.flatten()
    names = [field.name for field in values.type]
    fields = [typed(values.field(name)) if name == "attributes" else values.field(name) for name in names]
    return relist(lists, pa.StructArray.from_arrays(fields, names))


def _parents(lists: pa.ListArray) -> Rows:
    parents: Rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return parents
