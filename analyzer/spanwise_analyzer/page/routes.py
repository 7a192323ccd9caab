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
from spanwise_analyzer.problem import Unknown
from spanwise_analyzer.question import ListQuestion

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
        filters = question.selection(asked)
        found = listing.conversations(reader.ledgers(filters, sort=asked.sort, limit=asked.limit, cursor=asked.cursor))
        where = listing.attribution(reader.attribution(["stage"], filters), group_by=["stage"])
        onward = urlencode({**request.query_params, "cursor": found.next_cursor}) if found.next_cursor else None
        return _page("conversations.html", found=found, where=chart.groups(where), asked=asked, onward=onward)

    @pages.get("/conversations/{conversation_id:path}")
    def conversation(conversation_id: str) -> Response:
        ledger = books.ledger(conversation_id)
        document = books.answer(conversation_id)
        if ledger is None or document is None:
            raise Unknown(f"no conversation {conversation_id!r} in this store")
        timeline = course.timeline(ledger)
        said = json.loads(document)
        return _page("conversation.html", said=said, turns=chart.turns(said, timeline))

    @pages.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise Unknown(f"no file {name!r}")
        body = files(__package__ or "").joinpath("static", name).read_bytes()
        return Response(body, headers=_HEADERS | {"Content-Type": _STATIC[name], "Cache-Control": "no-cache"})

    return pages


def _asked(request: Request) -> ListQuestion:
    """What the form asks; an empty field means any."""
    try:
        return ListQuestion.model_validate({name: value for name, value in request.query_params.items() if value})
    except ValidationError as error:
        raise RequestValidationError([{**item, "loc": ("query", *item["loc"])} for item in error.errors()]) from error


def _page(template: str, **values: Any) -> Response:
    return Response(_ENVIRONMENT.get_template(template).render(values), media_type="text/html", headers=_HEADERS)


def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("spanwise_analyzer.page"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"duration": figures.duration, "percent": figures.percent, "count": figures.count}
    found.filters["path"] = lambda text: quote(text, safe="")
    found.globals["stages"] = [stage for stage in Stage if stage.active]
    return found


_ENVIRONMENT = _environment()
