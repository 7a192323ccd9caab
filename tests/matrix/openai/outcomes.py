"""How a call can end, and what has to be on its span then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.matrix.openai.answers import ERROR, pieces, whole
from tests.matrix.openai.service import Reply
from tests.matrix.openai.ways import Way

SOON = {"retry-after": "0.01"}
TIMEOUT = 0.8  # s, of clients in cells that run into one
FIRST_PIECES = 2
COLLECTED = ("drop", "return")  # the SDK's streams hold themselves: only the garbage collector ends what is left so


@dataclass(frozen=True, slots=True)
class Outcome:
    """One ending. ``attempts`` is what the SDK sends; ``leave`` is how the program goes before the end of a stream."""

    name: str
    script: Callable[[Way], Sequence[Reply]]
    attempts: int = 1
    leave: str = ""
    cancel: bool = False
    fails: bool = False
    retries: int = 2
    timeout: float | None = None
    reachable: bool = True

    def fits(self, way: Way, *, asynchronous: bool) -> bool:
        """Whether a call made in this way can end so."""
        if self.cancel and not asynchronous:
            return False
        if self.timeout is not None and way.name not in _FEW:
            return False
        return way.streamed or not (self.leave or self.name == "cancelled-in-the-middle")


# Ways in which the slow endings are played: one of each kind.
_FEW = ("chat", "chat-stream", "responses-helper", "embeddings")


def _answer(way: Way) -> Reply:
    return Reply(events=pieces(way.api)) if way.streamed else Reply(whole(way.api))


def _ok(way: Way) -> Sequence[Reply]:
    return [_answer(way)]


def _hold(way: Way) -> Sequence[Reply]:
    return [Reply(whole(way.api), held=True)]


def _stop(way: Way) -> Sequence[Reply]:
    return [Reply(events=pieces(way.api), stop_after=FIRST_PIECES)]


def _cut(way: Way) -> Sequence[Reply]:
    if way.streamed:
        return [Reply(events=pieces(way.api), stop_after=FIRST_PIECES, cut=True)]
    return [Reply(whole(way.api), cut=True)]


def _busy(way: Way) -> Sequence[Reply]:
    return [Reply(ERROR, status=429, headers=SOON), _answer(way)]


def _down(way: Way) -> Sequence[Reply]:
    failed = Reply(ERROR, status=500, headers={"retry-after-ms": "5"})
    return [failed, failed, _answer(way)]


def _slow(way: Way) -> Sequence[Reply]:
    return [Reply(whole(way.api), held=True), _answer(way)]


def _no(_: Way) -> Sequence[Reply]:
    return [Reply(ERROR, status=400)]


OUTCOMES = {
    outcome.name: outcome
    for outcome in (
        Outcome("completed", _ok),
        Outcome("left-by-break", _stop, leave="break"),
        Outcome("left-by-close", _stop, leave="close"),
        Outcome("left-by-return", _stop, leave="return"),
        Outcome("dropped", _stop, leave="drop"),
        Outcome("cancelled-before-the-headers", _hold, cancel=True),
        Outcome("cancelled-in-the-middle", _stop, cancel=True, leave="cancel"),
        Outcome("broken", _cut, fails=True, retries=0),
        Outcome("retried-429", _busy, attempts=2),
        Outcome("retried-500", _down, attempts=3),
        Outcome("retried-timeout", _slow, attempts=2, timeout=TIMEOUT),
        Outcome("refused-400", _no, fails=True),
        Outcome("refused-connection", _ok, attempts=3, fails=True, reachable=False),
    )
}
