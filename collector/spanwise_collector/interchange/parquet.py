"""Tables as Parquet, one row group after the other, so that no more than one is in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

_GROUP: Final = 4  # tables of an extract in one row group


def parquet(tables: Iterator[pa.Table], empty: pa.Table) -> Iterator[bytes]:
    """The file's bytes, the footer last; ``empty`` has the schema and is written where there are no rows."""
    sink = _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), empty.schema, compression="zstd") as writer:
        while group := list(itertools.islice(tables, _GROUP)):
            writer.write_table(pa.concat_tables(group).cast(empty.schema))
            yield sink.taken()
    yield sink.taken()


class _Sink:
    """Takes what is written until it is fetched."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)
