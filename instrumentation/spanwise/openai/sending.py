"""Which model call the running code belongs to while the SDK sends its requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from opentelemetry.context import Context, attach, detach

if TYPE_CHECKING:
    from spanwise.openai.call import ModelCall

current: ContextVar[ModelCall | None] = ContextVar("spanwise-model-call", default=None)


@contextmanager
def sending(call: ModelCall) -> Iterator[None]:
    """While the SDK sends the request, spans belong to ``call``; a fault of the request ends it."""
    token, mark = attach(call.inside), current.set(call)
    try:
        yield
    except BaseException as error:
        call.fail(error)
        raise
    finally:
        _restore(mark, token)


def _restore(mark: Token[ModelCall | None], token: Token[Context]) -> None:
    try:
        current.reset(mark)
    except ValueError:
        # A coroutine that nobody finished is closed by the garbage collector, in whatever context that runs in:
        # there is nothing to restore there, and trying would only be logged.
        return
    detach(token)
