"""Requests as rows, but for the numbers that only the writer gives: made beside the writing, on a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import Origin, flatten
from spanwise_collector.otlp.decode import Parcel
from spanwise_collector.otlp.hot import Rows, hot
from spanwise_collector.store import index


@dataclass(frozen=True, slots=True, eq=False)
class Rowset:
    """Rows of some requests without ``seq``, and for each span which resource and which scope it came under."""

    spans: pa.Table
    touches: pa.Table
    clients: pa.Table
    servers: pa.Table
    resources: Origin
    scopes: Origin
    resource_of: Rows
    scope_of: Rows


def rowset(parcels: Sequence[Parcel]) -> Rowset:
    """The rows of these requests."""
    flat = flatten(parcels)
    scopes = _labels(flat.scopes, _scope).take(pa.array(flat.scope_of))
    columns = flat.columns | hot(flat.columns["attributes"], flat.columns["name"], scopes)
    columns["service"] = _labels(flat.resources, _service).take(pa.array(flat.resource_of))
    spans = pa.table(columns)
    return Rowset(
        spans=spans,
        touches=index.touches(spans),
        clients=index.clients(spans),
        servers=index.servers(spans),
        resources=flat.resources,
        scopes=flat.scopes,
        resource_of=flat.resource_of,
        scope_of=flat.scope_of,
    )


def _labels(origin: Origin, label: Callable[[bytes | None], str]) -> pa.StringArray:
    bodies = origin.bodies.dictionary_encode("encode")
    found = pa.array([label(body) for body in bodies.dictionary.to_pylist()], pa.string())
    return found.take(pa.array(np.asarray(bodies.indices)))


@lru_cache(maxsize=4096)
def _service(body: bytes | None) -> str:
    return value.service(value.resource_attributes(body))


@lru_cache(maxsize=4096)
def _scope(body: bytes | None) -> str:
    return value.scope(body)[0]
