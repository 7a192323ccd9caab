"""Numbers for resources and scopes, so that each is stored once by content."""

from __future__ import annotations

from typing import Final, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa

from spanwise_collector.otlp.columns import Origin
from spanwise_collector.otlp.hot import Rows

Content: TypeAlias = tuple[bytes | None, str]  # serialized message, schema URL
_NEW: Final = pa.schema([("id", pa.int64()), ("body", pa.binary()), ("schema_url", pa.string())])


class Interner:
    """Content to number for one of the two tables; used by the writer thread only.

    New contents wait in ``fresh`` until ``keep`` (after the commit) or ``forget`` (after a rollback).
    """

    def __init__(self) -> None:
        self._ids: dict[Content, int] = {}
        self._fresh: list[Content] = []

    def load(self, cursor: duckdb.DuckDBPyConnection, table: str) -> None:
        """Read what the table holds."""
        rows = cursor.execute(f"SELECT body, schema_url FROM {table} ORDER BY id").fetchall()  # noqa: S608
        for content in rows:
            self._number(content)
        self.keep()

    def ids(self, origin: Origin) -> Rows:
        """The number of each content, new ones included."""
        bodies, urls = origin.bodies.dictionary_encode("encode"), origin.schema_urls.dictionary_encode("encode")
        pairs = np.stack([bodies.indices.to_numpy(), urls.indices.to_numpy()], axis=1)
        unique, back = np.unique(pairs, axis=0, return_inverse=True)
        contents = ((bodies.dictionary[body].as_py(), urls.dictionary[url].as_py()) for body, url in unique)
        numbers = np.fromiter((self._number(content) for content in contents), np.int64, len(unique))
        return numbers[back.reshape(-1)]

    def fresh(self) -> pa.Table:
        """Rows that the table lacks."""
        first = len(self._ids) - len(self._fresh)
        rows = [
            {"id": first + offset, "body": body, "schema_url": url} for offset, (body, url) in enumerate(self._fresh)
        ]
        return pa.Table.from_pylist(rows, _NEW)

    def keep(self) -> None:
        """The fresh ones are committed."""
        self._fresh.clear()

    def forget(self) -> None:
        """The fresh ones were rolled back."""
        for content in self._fresh:
            del self._ids[content]
        self._fresh.clear()

    def _number(self, content: Content) -> int:
        number = self._ids.get(content)
        if number is None:
            number = self._ids[content] = len(self._ids)
            self._fresh.append(content)
        return number
