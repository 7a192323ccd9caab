"""``POST /api/v1/query``: read-only SQL over the documented views (docs/sql.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from spanwise_analyzer.books import Books
from spanwise_analyzer.problem import details, documented
from spanwise_analyzer.reply import reply
from spanwise_analyzer.shapes import Column, Parameter, QueryAnswer
from spanwise_collector.store import Busy, Exhausted, Queries, Refused, place

_EXACT = 2**53 - 1  # beyond that, JSON readers with doubles would change a whole number
_RETRY_S = "1"

Name = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Value = Annotated[StrictStr, Field(max_length=65_536)] | StrictBool | StrictInt | StrictFloat | None


class QueryQuestion(BaseModel):
    """One statement, the values of its ``$name`` parameters, and how many rows are wanted at most."""

    model_config = ConfigDict(extra="forbid")

    sql: Annotated[
        str, Field(min_length=1, max_length=16_384, examples=["SELECT stage, sum(duration_ns) FROM stages GROUP BY 1"])
    ]
    parameters: Annotated[dict[Name, Value], Field(max_length=100)] = {}
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000


def router(books: Books, queries: Queries) -> APIRouter:
    """The endpoint."""
    api = APIRouter(prefix="/api/v1", tags=["sql"])

    @api.post("/query", response_model=QueryAnswer, responses=documented(422, 503))
    def query(asked: QueryQuestion) -> Response:
        books.refresh()
        try:
            found = queries.run(asked.sql, asked.parameters, limit=asked.limit)
        except Refused as error:
            return _refused(error, asked.sql)
        except Exhausted as error:
            return details(422, str(error), errors=[Parameter("sql", str(error))])
        except Busy as error:
            answer = details(503, str(error))
            answer.headers["Retry-After"] = _RETRY_S
            return answer
        columns = [Column(name, kind) for name, kind in zip(found.names, found.types, strict=True)]
        return reply(QueryAnswer(columns, [[cell(value) for value in row] for row in found.rows], found.truncated))

    return api


def cell(value: Any) -> Any:
    """A value as JSON can carry it without changing it."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return value if _exact(value) else str(value)
        case bytes():
            return value.hex()
        case Mapping():
            return {str(key): cell(inner) for key, inner in value.items()}
        case list() | tuple():
            return [cell(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _exact(number: Any) -> bool:
    return math.isfinite(number) and (isinstance(number, float) or abs(number) <= _EXACT)


def _refused(error: Refused, sql: str) -> Response:
    where = "" if error.position is None else f"{place(sql, error.position)}: "
    return details(422, f"sql: {where}{error}", errors=[Parameter("sql", f"{where}{error}")])
