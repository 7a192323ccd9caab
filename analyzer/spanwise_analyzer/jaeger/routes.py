"""Jaeger's query API in its older JSON form: one trace by id, the services and their operations."""

from __future__ import annotations

import re

from fastapi import APIRouter, Response

from spanwise_analyzer.books import Books
from spanwise_analyzer.jaeger.shapes import Envelope, Error
from spanwise_analyzer.jaeger.trace import trace
from spanwise_analyzer.reply import reply

_REFUSED = {"model": Envelope, "description": "Jaeger's envelope with the reason."}
_TRACE_ID = re.compile(r"[0-9a-fA-F]{1,32}")


def router(books: Books) -> APIRouter:
    """The endpoints under /api; errors come in Jaeger's envelope, since its clients read no other."""
    api = APIRouter(prefix="/api", tags=["jaeger"])

    @api.get("/traces/{trace_id}", response_model=Envelope, responses={400: _REFUSED, 404: _REFUSED})
    def get_trace(trace_id: str) -> Response:
        if not _TRACE_ID.fullmatch(trace_id):
            return _refused(400, f"{trace_id!r} is no trace id: 1 to 32 hex digits are expected")
        spans = books.store.reader().trace(trace_id.lower().zfill(32))
        return reply(Envelope([trace(spans)])) if spans else _refused(404, "trace not found")

    @api.get("/services", response_model=Envelope)
    def get_services() -> Response:
        return _list(books.store.reader().services())

    @api.get("/services/{service:path}/operations", response_model=Envelope)
    def get_operations(service: str) -> Response:
        return _list(books.store.reader().operations(service))

    return api


def _list(names: list[str]) -> Response:
    return reply(Envelope(names, total=len(names)))


def _refused(code: int, message: str) -> Response:
    return reply(Envelope(None, errors=[Error(code, message)]), status=code)
