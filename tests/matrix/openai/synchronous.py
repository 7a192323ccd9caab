"""Plays a cell with a synchronous client."""

from __future__ import annotations

import gc
from typing import Any

from tests.matrix.openai.outcomes import COLLECTED, Outcome
from tests.matrix.openai.record import Record
from tests.matrix.openai.ways import Way


def play(client: Any, way: Way, outcome: Outcome, record: Record) -> None:
    """Make the call and read its answer, to the end or as far as the outcome says."""
    with client:
        try:
            _play(client, way, outcome.leave, record)
        except BaseException as error:  # noqa: BLE001 - whatever the program would see
            record.raised(error)
        if outcome.leave in COLLECTED:
            gc.collect()


def _play(client: Any, way: Way, leave: str, record: Record) -> None:
    if leave == "drop":
        _drop(client, way, record)
    elif way.manager:
        with way.begin(client) as given:
            record.handed(given)
            _read(_unwrap(given, way, record), way, leave, record)
        record.closed(given)
    else:
        _read(_unwrap(way.begin(client), way, record), way, leave, record)


def _unwrap(given: Any, way: Way, record: Record) -> Any:
    record.handed(given)
    if not way.unwrap:
        return given
    answer = getattr(given, way.unwrap)()
    record.handed(answer)
    return answer


def _read(answer: Any, way: Way, leave: str, record: Record) -> None:
    if not way.streamed:
        record.got(answer)
        return
    if leave == "close":
        _close(answer, record)
    elif leave == "return":
        record.got(_first(answer))
    elif leave == "break":
        _break(answer, record)
    else:
        for item in answer:
            record.got(item)
    record.closed(answer)


def _close(answer: Any, record: Record) -> None:
    record.got(next(iter(answer)))
    answer.close()
    answer.close()


def _first(answer: Any) -> Any:
    for item in answer:
        return item
    return None


def _break(answer: Any, record: Record) -> None:
    if not hasattr(answer, "__enter__"):  # lines are a plain generator
        record.got(_first(answer))
        return
    with answer:
        for item in answer:
            record.got(item)
            break


def _drop(client: Any, way: Way, record: Record) -> None:
    """Forget everything after the first item, in a circle that only the garbage collector can find."""
    given = way.begin(client)
    entered = given.__enter__() if way.manager else given
    answer = _unwrap(entered, way, record)
    record.got(next(iter(answer)))
    circle: list[Any] = [given, entered, answer]
    circle.append(circle)
