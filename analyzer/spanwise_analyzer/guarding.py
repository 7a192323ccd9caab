"""The checks before the API: which path needs which right, and how a refusal is told there."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI

from spanwise_analyzer import problem
from spanwise_collector.receiver import Entrance, Guard, Refusal, Right, Rules

_HEALTH = frozenset({"/healthz", "/readyz"})
_METRICS = "/metrics"
# Browsers ask for a name and a password at the second one; the password is the token.
_CHALLENGE = 'Bearer, Basic realm="Spanwise: any name, a token as password", charset="UTF-8"'


def guarded(app: FastAPI, entrance: Entrance, *, open_metrics: bool) -> Guard:
    """The application behind the checks that every request has to pass; health is open to all."""
    free = _HEALTH | {_METRICS} if open_metrics else _HEALTH

    def right(path: str) -> Right | None:
        return None if path in free else Right.READ

    return Guard(app, entrance, Rules(right=right, answer=_answer, challenge=_CHALLENGE))


def _answer(refusal: Refusal, _: Mapping[str, str]) -> tuple[str, bytes]:
    return problem.MEDIA_TYPE, problem.body(refusal.status, refusal.message)
