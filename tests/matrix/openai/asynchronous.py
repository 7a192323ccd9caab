"""Plays a cell with an asynchronous client."""

from __future__ import annotations

import asyncio
import gc
import inspect
from typing import Any

from tests.matrix.openai.outcomes import COLLECTED, Outcome
from tests.matrix.openai.record import Record
from tests.matrix.openai.service import PATIENCE, Service
from tests.matrix.openai.ways import Way


async def play(client: Any, way: Way, outcome: Outcome, record: Record, service: Service) -> None:
    """Make the call and read its answer, to the end or as far as the outcome says."""
    async with client:
        call = asyncio.ensure_future(_play(client, way, outcome.leave, record))
        if outcome.cancel and not outcome.leave:
            await _arrival(service)
            call.cancel()
        try:
            await call
        except BaseException as error:  # noqa: BLE001 - whatever the program would see
            record.raised(error)
        del call
        await _settle(collect=outcome.leave in COLLECTED)


async def _arrival(service: Service) -> None:
    async with asyncio.timeout(PATIENCE):
        while not service.arrived.is_set():  # noqa: ASYNC110 - set by a thread
            await asyncio.sleep(0.002)


async def _settle(*, collect: bool) -> None:
    """Let the event loop close what was dropped, in its own next rounds."""
    for _ in range(3):  # each round frees generators that hold the next one
        if collect:
            gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)


async def _play(client: Any, way: Way, leave: str, record: Record) -> None:
    if leave == "drop":
        await _drop(client, way, record)
    elif way.manager:
        async with way.begin(client) as given:
            record.handed(given)
            await _read(await _unwrap(given, way, record), way, leave, record)
        record.closed(given)
    else:
        await _read(await _unwrap(await way.begin(client), way, record), way, leave, record)


async def _unwrap(given: Any, way: Way, record: Record) -> Any:
    record.handed(given)
    if not way.unwrap:
        return given
    answer = getattr(given, way.unwrap)()
    answer = await answer if inspect.isawaitable(answer) else answer
    record.handed(answer)
    return answer


async def _read(answer: Any, way: Way, leave: str, record: Record) -> None:
    if not way.streamed:
        record.got(answer)
        return
    if leave == "close":
        await _close(answer, record)
    elif leave == "return":
        record.got(await _first(answer))
    elif leave == "break":
        await _break(answer, record)
    else:
        await _all(answer, leave, record)
    record.closed(answer)


async def _all(answer: Any, leave: str, record: Record) -> None:
    async for item in answer:
        record.got(item)
        if leave == "cancel":
            leave = ""
            task = asyncio.current_task()
            assert task is not None
            task.cancel()  # arrives where the stream next waits for the service


async def _close(answer: Any, record: Record) -> None:
    record.got(await anext(aiter(answer)))
    close = getattr(answer, "close", None) or answer.aclose
    await close()
    await close()


async def _first(answer: Any) -> Any:
    async for item in answer:
        return item
    return None


async def _break(answer: Any, record: Record) -> None:
    if not hasattr(answer, "__aenter__"):  # lines are a plain generator
        record.got(await _first(answer))
        return
    async with answer:
        async for item in answer:
            record.got(item)
            break


async def _drop(client: Any, way: Way, record: Record) -> None:
    """Forget everything after the first item, in a circle that only the garbage collector can find."""
    given = way.begin(client) if way.manager else await way.begin(client)
    entered = await given.__aenter__() if way.manager else given
    answer = await _unwrap(entered, way, record)
    record.got(await anext(aiter(answer)))
    circle: list[Any] = [given, entered, answer]
    circle.append(circle)
