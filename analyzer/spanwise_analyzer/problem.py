"""Errors of the HTTP API as RFC 9457 problem details."""

from __future__ import annotations

import http
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from spanwise_analyzer.shapes import Parameter, Problem, dump
from spanwise_collector.store import Damaged, Overloaded

MEDIA_TYPE = "application/problem+json"
_JSON = "application/json"
_SHAPES = ("/Problem", "/HTTPValidationError")

log = logging.getLogger(__name__)


class Unknown(HTTPException):
    """What was asked for is not in the store."""

    def __init__(self, detail: str) -> None:
        super().__init__(404, detail)


class Gone(HTTPException):
    """What was asked for was in the store once."""

    def __init__(self, detail: str) -> None:
        super().__init__(410, detail)


class Invalid(HTTPException):
    """A parameter has a value that cannot be meant."""

    def __init__(self, parameter: str, detail: str) -> None:
        super().__init__(422, f"{parameter}: {detail}")


def details(status: int, detail: str, *, errors: Sequence[Parameter] = ()) -> Response:
    """A problem document; its type stays about:blank since the status says it all (RFC 9457 §4.2.1)."""
    return Response(body(status, detail, errors=errors), status, media_type=MEDIA_TYPE)


def body(status: int, detail: str, *, errors: Sequence[Parameter] = ()) -> bytes:
    """The document of ``details``."""
    return dump(Problem("about:blank", http.HTTPStatus(status).phrase, status, detail, errors))


def documented(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of an endpoint, for its OpenAPI description."""
    return {code: {"model": Problem, "description": http.HTTPStatus(code).phrase} for code in codes}


def install(app: FastAPI) -> None:
    """Answer every error of the application with problem details, and describe them so."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(Overloaded, _later)
    app.add_exception_handler(Damaged, _damaged)
    app.add_exception_handler(Exception, _failure)
    plain = app.openapi

    def described() -> dict[str, Any]:
        document = plain()
        for answer in _error_answers(document):
            shape = answer.get("content", {}).get(_JSON, {}).get("schema", {}).get("$ref", "")
            if shape.endswith(_SHAPES):
                answer["content"][MEDIA_TYPE] = answer["content"].pop(_JSON)
        return document

    app.openapi = described  # type: ignore[method-assign] # FastAPI's own way to extend the document


def _error_answers(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        for operation in path.values():
            yield from (answer for code, answer in operation["responses"].items() if int(code) >= 400)  # noqa: PLR2004


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    said = error.detail
    plain = said == http.HTTPStatus(error.status_code).phrase
    answer = details(error.status_code, f"{request.method} {request.url.path}: {said.lower()}" if plain else said)
    answer.headers.update(error.headers or {})
    return answer


def _validation(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    errors = [Parameter(".".join(map(str, item["loc"][1:])), item["msg"]) for item in error.errors()]
    return details(422, "; ".join(f"{item.parameter}: {item.detail}" for item in errors), errors=errors)


def _later(_: Request, error: Exception) -> Response:
    answer = details(503, str(error))
    answer.headers["Retry-After"] = "1"
    return answer


def _damaged(_: Request, error: Exception) -> Response:
    return details(500, str(error))


def _failure(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return details(500, "the server failed to answer; its log says why")
