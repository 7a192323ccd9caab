"""The pages, rendered here without any script or style from elsewhere."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from pydantic import ValidationError

from spanwise.stages import Stage
from spanwise_analyzer import course, figures, listing, question
from spanwise_analyzer.books import Books
from spanwise_analyzer.page import chart
from spanwise_analyzer.paths import CONVERSATION
from spanwise_analyzer.problem import Unknown
from spanwise_analyzer.question import ListQuestion
from spanwise_analyzer.shapes import Row
from spanwise_collector.store import Reader

_STATIC = {"style.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def router(books: Books) -> APIRouter:
    """``/``, ``/conversations/{id}`` and the files that they load."""
    pages = APIRouter(include_in_schema=False)

    @pages.get("/")
    def conversations(request: Request) -> Response:
        asked = _asked(request)
        reader = books.reader()
        found = listing.paged(reader, asked)
        where = listing.attributed(reader, ["stage"], question.selection(asked))
        onward = urlencode({**request.query_params, "cursor": found.next_cursor}) if found.next_cursor else None
        savings = {row.conversation_id: _saving(reader, row) for row in found.conversations}
        parts = chart.groups(where)
        return _page("conversations.html", found=found, where=parts, asked=asked, onward=onward, savings=savings)

    @pages.get(f"/conversations/{CONVERSATION}")
    def conversation(conversation_id: str) -> Response:
        ledger = books.ledger(conversation_id)
        document = books.answer(conversation_id)
        if document is None:
            return _page("unknown.html", status=404, conversation_id=conversation_id)
        said = json.loads(document)
        turns = chart.turns(said, course.timeline(ledger)) if ledger else []  # without raw spans there is no chart
        return _page("conversation.html", said=said, turns=turns)

    @pages.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise Unknown(f"no file {name!r}")
        body = files(__package__ or "").joinpath("static", name).read_bytes()
        return Response(body, headers=_HEADERS | {"Content-Type": _STATIC[name], "Cache-Control": "no-cache"})

    return pages


def _asked(request: Request) -> ListQuestion:
    """What the form asks; an empty field means any, and people look for the longest first."""
    given = {name: value for name, value in request.query_params.items() if value}
    try:
        return ListQuestion.model_validate({"sort": "active", **given})
    except ValidationError as error:
        raise RequestValidationError([{**item, "loc": ("query", *item["loc"])} for item in error.errors()]) from error


def _saving(reader: Reader, row: Row) -> float | None:
    """What the first thing to change is expected to save, in ms; None where nothing is claimed."""
    stored = reader.ledger(row.conversation_id) if row.recommendation else None
    first = json.loads(stored.answer)["recommendations"][:1] if stored else []
    return first[0]["saving_ms"]["expected"] if first and first[0]["saving_ms"] else None


def _page(template: str, *, status: int = 200, **values: Any) -> Response:
    text = _ENVIRONMENT.get_template(template).render(values)
    return Response(text, status, media_type="text/html", headers=_HEADERS)


def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("spanwise_analyzer.page"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"duration": figures.duration, "percent": figures.percent, "count": figures.count}
    found.filters["spread"] = figures.spread
    found.filters["path"] = lambda text: quote(text, safe="")
    found.globals["stages"] = [stage for stage in Stage if stage.active]
    return found


_ENVIRONMENT = _environment()
