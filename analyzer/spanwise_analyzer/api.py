"""The HTTP application: API, Jaeger's query API, health, metrics and the page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Response
from fastapi.telemetry import TelemetryConfig

from spanwise_analyzer import course, download, health, jaeger, listing, page, problem, question, sql
from spanwise_analyzer.books import Books
from spanwise_analyzer.fleet import fleet
from spanwise_analyzer.paths import CONVERSATION
from spanwise_analyzer.problem import Gone, Invalid, Unknown, documented
from spanwise_analyzer.question import AttributionQuestion, ListQuestion, Window
from spanwise_analyzer.reply import document, reply
from spanwise_analyzer.shapes import Answer, Attribution, Conversations, Recommendations, Timeline
from spanwise_collector.store import Queries

# The collector of traces does not trace itself: with an endpoint in the environment it would do so without end.
_SILENT: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def application(books: Books, monitor: health.Monitor, queries: Queries | None = None) -> FastAPI:
    """Everything that is served on the API port; SQL only with ``queries``."""
    # FastAPI's documentation pages load scripts from another host, so there are none; /openapi.json stays.
    app = FastAPI(title="Spanwise", version="1", docs_url=None, redoc_url=None, telemetry=_SILENT)
    problem.install(app)
    for router in (health.router(monitor), conversations(books), many(books), download.router(books)):
        app.include_router(router)
    for router in (jaeger.router(books), page.router(books)):
        app.include_router(router)
    if queries is not None:
        app.include_router(sql.router(books, queries))
    return app


def conversations(books: Books) -> APIRouter:
    """The list, and one conversation by id; ids may hold slashes."""
    api = APIRouter(prefix="/api/v1", tags=["conversations"])

    @api.get("/conversations", response_model=Conversations, responses=documented(422))
    def list_conversations(asked: Annotated[ListQuestion, Query()]) -> Response:
        return reply(listing.paged(books.reader(), asked))

    @api.get(f"/conversations/{CONVERSATION}/timeline", response_model=Timeline, responses=documented(404, 410))
    def get_timeline(conversation_id: str) -> Response:
        whole = books.answer(f"{conversation_id}/timeline")
        if whole is not None:  # an id may itself end like this path
            return document(whole)
        ledger = books.ledger(conversation_id)
        if ledger is None:
            raise _gone(conversation_id) if books.gone(conversation_id) else _unknown(conversation_id)
        return reply(course.timeline(ledger))

    @api.get(f"/conversations/{CONVERSATION}", response_model=Answer, responses=documented(404))
    def get_conversation(conversation_id: str) -> Response:
        found = books.answer(conversation_id)
        if found is None:
            raise _unknown(conversation_id)
        return document(found)

    return api


def many(books: Books) -> APIRouter:
    """Answers over many conversations."""
    api = APIRouter(prefix="/api/v1", tags=["fleet"])

    @api.get("/attribution", response_model=Attribution, responses=documented(422))
    def get_attribution(asked: Annotated[AttributionQuestion, Query()]) -> Response:
        try:
            group_by = question.dimensions(asked.group_by)
        except ValueError as error:
            raise Invalid("group_by", str(error)) from error
        return reply(listing.attributed(books.reader(), group_by, question.selection(asked)))

    @api.get("/recommendations", response_model=Recommendations, responses=documented(422))
    def get_recommendations(asked: Annotated[Window, Query()]) -> Response:
        return reply(fleet(books.reader().answers(question.window(asked))))

    return api


def _gone(conversation_id: str) -> Gone:
    return Gone(f"the spans of conversation {conversation_id!r} were deleted by retention; only its answer is left")


def _unknown(conversation_id: str) -> Unknown:
    return Unknown(f"no conversation {conversation_id!r} in this store")
