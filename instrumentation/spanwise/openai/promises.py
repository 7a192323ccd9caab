"""Answers that the model works on after the call which asked for them has ended."""

from __future__ import annotations

from collections import OrderedDict

MAX_PENDING = 1024

_pending: OrderedDict[str, bool] = OrderedDict()


def began(answer_id: str) -> None:
    """An answer without token counts was promised."""
    if answer_id:
        _pending[answer_id] = True
    while len(_pending) > MAX_PENDING:
        _pending.popitem(last=False)


def came(answer_id: str) -> bool:
    """Whether this process asked for the answer and had not seen its end before: only then its tokens count."""
    return _pending.pop(answer_id, False)
