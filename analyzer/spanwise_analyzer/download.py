"""What leaves the store in files: OTLP and Parquet, streamed over HTTP or out of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from spanwise_analyzer import question
from spanwise_analyzer.books import Books
from spanwise_analyzer.problem import Unknown, documented
from spanwise_analyzer.question import Name, Window
from spanwise_analyzer.reply import FRESH
from spanwise_collector.interchange.exporting import STREAMS
from spanwise_collector.interchange.parquet import parquet
from spanwise_collector.interchange.spantable import SCHEMA, span_tables
from spanwise_collector.store import Choice, LedgerFilter, Reader

Format = Literal["otlp-json", "otlp-proto", "parquet"]
Table = Literal["spans", "segments", "conversations"]

_MEDIA_TYPES: Final[dict[Format, str]] = {
    "otlp-json": "application/x-ndjson",
    "otlp-proto": "application/octet-stream",
    "parquet": "application/vnd.apache.parquet",
}
_BINARY: Final = {"schema": {"type": "string", "format": "binary"}}


class ExportQuestion(Window):
    """Which traces, whole, in which format: of these conversations, or begun in the window, or with this service."""

    id: Annotated[Sequence[Name], Field(max_length=1000, description="conversation or trace ids; none means all")] = ()
    service: Name | None = None
    format: Format = "otlp-json"
    table: Annotated[Table, Field(description="for Parquet only; the OTLP formats have spans")] = "spans"


def router(books: Books) -> APIRouter:
    """The endpoint."""
    api = APIRouter(prefix="/api/v1", tags=["export"])
    described: dict[int | str, dict[str, Any]] = {
        200: {"description": "the file", "content": dict.fromkeys(_MEDIA_TYPES.values(), _BINARY)}
    }

    @api.get("/export", response_class=StreamingResponse, responses=described | documented(404, 422))
    def export(asked: Annotated[ExportQuestion, Query()]) -> StreamingResponse:
        return StreamingResponse(stream(books, asked), media_type=_MEDIA_TYPES[asked.format], headers=FRESH)

    return api


def stream(books: Books, asked: ExportQuestion) -> Iterator[bytes]:
    """The bytes of the file; raises Unknown, before the first of them, if an id is not in the store."""
    if asked.format == "parquet" and asked.table != "spans":
        tables = books.reader().accounts(asked.table, _known(books.store.reader(), asked.id), _filter(asked))
        return parquet(tables, next(tables))
    extract = books.store.reader().extract(_choice(books.store.reader(), asked))
    if asked.format == "parquet":
        return parquet(span_tables(extract), SCHEMA.empty_table())
    return STREAMS[asked.format](extract)


def _filter(asked: ExportQuestion) -> LedgerFilter:
    within = question.window(asked)
    return LedgerFilter(since_ns=within.since_ns, until_ns=within.until_ns, service=asked.service)


def _choice(reader: Reader, asked: ExportQuestion) -> Choice:
    within = question.window(asked)
    ids = _known(reader, asked.id)
    traces = None if ids is None else sorted({trace for each in ids for trace in reader.traces(each)})
    return Choice(traces=traces, since_ns=within.since_ns, until_ns=within.until_ns, service=asked.service)


def _known(reader: Reader, ids: Sequence[str]) -> Sequence[str] | None:
    unknown = [each for each in ids if not reader.has(each)]
    if unknown:
        raise Unknown(f"no conversation {unknown[0]!r} in this store")
    return ids or None
