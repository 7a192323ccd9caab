"""What a cell does with the shop, and the record of all that its caller can see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from typing import Any

from tests.matrix.mcp.caller import Caller, opened

BRIEF = 0.15  # s that a caller waits for what takes longer
PATIENCE = 10.0

Record = list[tuple[str, ...]]


async def play(place: Any, mode: str) -> Record:
    """Open a session, do everything once, close it; in the order in which the caller saw it."""
    record: Record = []
    heard: list[str] = []
    try:
        async with opened(place, mode, lambda message: heard.append(_kind(message))) as caller:
            record.append(("open",))
            await _listing(caller, record)
            await _calling(caller, record)
            await _waiting(caller, record)
            await _talking(caller, record)
            await _reading(caller, record)
            record.append(("closing",))
    except* Exception as broken:  # noqa: BLE001 - as below
        record.extend(("left behind", _kind(error), str(error)) for error in _each(broken))
    finally:
        record.append(("closed", *sorted(set(heard))))
    return record


async def _listing(caller: Caller, record: Record) -> None:
    cursor: str | None = None
    for _ in range(3):
        page = await noted(record, "list", caller.page(cursor))
        cursor = getattr(page, "next_cursor", getattr(page, "nextCursor", None))
        if cursor is None:
            return


async def _calling(caller: Caller, record: Record) -> None:
    await noted(record, "ok", caller.call("ok", {"order": "B-1"}))
    await noted(record, "bad", caller.call("bad"))
    await noted(record, "unknown", caller.call("nowhere"))


async def _waiting(caller: Caller, record: Record) -> None:
    await noted(record, "cancelled", asyncio.wait_for(caller.call("slow"), BRIEF))
    await noted(record, "timed out", caller.call("slow", timeout=BRIEF))
    await noted(record, "rest", caller.call("rest"))


async def _talking(caller: Caller, record: Record) -> None:
    async def progressed(progress: float, total: float | None, _message: str | None) -> None:
        record.append(("progress", str(progress), str(total)))

    await noted(record, "work", caller.call("work", progress_callback=progressed))
    await noted(record, "announce", caller.call("announce"))


async def _reading(caller: Caller, record: Record) -> None:
    await noted(record, "read", caller.read("shop://hours"))
    await noted(record, "prompt", caller.prompt("greet", {"name": "Ada"}))


async def noted(record: Record, what: str, work: Awaitable[Any]) -> Any:
    """Wait for ``work`` and write down how it ended."""
    try:
        async with asyncio.timeout(PATIENCE):
            result = await work
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same with us
        record.append((what, _kind(error), str(error)))
        return None
    record.append((what, _kind(result), result.model_dump_json(by_alias=True, exclude_none=True)))
    return result


def _each(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        yield from _each(error) if isinstance(error, BaseExceptionGroup) else (error,)


def _kind(value: Any) -> str:
    inner = getattr(value, "root", value)
    return f"{type(inner).__module__}.{type(inner).__qualname__}"
