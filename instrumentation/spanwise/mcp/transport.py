"""Transports that the SDK writes as generators: up to their streams they open, after them they close."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from spanwise.mcp import connection
from spanwise.mcp.cell import Cell, place
from spanwise.mcp.closing import Closing
from spanwise.mcp.connecting import Connecting
from spanwise.mcp.connection import Connection
from spanwise.mcp.patch import Patches, find, miss
from spanwise.mcp.scope import around
from spanwise.mcp.target import Target
from spanwise.safety import guarded

Streams = Callable[[Any], Any]
Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """What is particular to one kind of transport."""

    target: Callable[[Arguments], Target]  # where the arguments lead
    written: Streams = lambda streams: streams[1]  # which of the streams a client session writes to
    closes: bool = True  # closing takes longer than closing the session
    reused: Callable[[Arguments], bool] = lambda _: False  # whether it works with something that was open before


def watch(patches: Patches, module: str, name: str, kind: Kind, *, known: bool = True) -> None:
    """Have the transport ``name`` of ``module`` opened and closed under our eyes."""
    found = vars(find(module) or object).get(name)
    cell = place(found)
    if cell is not None:
        patches.keep(Cell(cell, _watched(kind, patches.enabled)))
    elif known or found is not None:
        miss(f"{module}.{name}")


def _watched(kind: Kind, enabled: Callable[[], bool]) -> Callable[[Any], Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def transport(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            return (_passage(made, original, kind, args, kwargs) or made) if enabled() else made

        return transport

    return make


@guarded
def _passage(
    made: AsyncGenerator[Any, Any], original: Any, kind: Kind, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> AsyncGenerator[Any, Any]:
    arguments = inspect.signature(original).bind(*args, **kwargs).arguments
    return Passage(made, kind, arguments)


class Passage(AsyncGenerator[Any, Any]):
    """The generator of one transport: opened by its first step, closed by its last."""

    def __init__(self, inner: AsyncGenerator[Any, Any], kind: Kind, arguments: Arguments) -> None:
        self._inner, self._kind = inner, kind
        self._arguments: Arguments | None = arguments
        self._owner: Connection | None = None

    async def asend(self, value: Any) -> Any:
        """Open, or close where that has been done."""
        if self._arguments is not None:
            return await self._opened(self._inner.asend(value))
        return await self._closed(self._inner.asend(value))

    async def athrow(self, *exception: Any) -> Any:
        """Close, since the work between failed."""
        before = next((part for part in exception if isinstance(part, BaseException)), None)
        return await self._closed(self._inner.athrow(*exception), before)

    async def aclose(self) -> None:
        """Close, since nobody waits any more."""
        await self._closed(self._inner.aclose())

    async def _opened(self, step: Awaitable[Any]) -> Any:
        arguments, self._arguments = self._arguments, None
        with ExitStack() as stack:
            owner = _opening(self._kind, arguments or {}, stack)
            streams = await step
            self._owner = _opened(owner, self._kind, streams)
        return streams

    async def _closed(self, step: Awaitable[Any], before: BaseException | None = None) -> Any:
        owner, self._owner = self._owner, None
        ended: StopAsyncIteration
        with around(_closing(owner, before)):
            try:
                return await step
            except StopAsyncIteration as stop:  # how a generator says that it is done, and no failure
                ended = stop
        raise ended


@guarded
def _opening(kind: Kind, arguments: Arguments, stack: ExitStack) -> Connection | None:
    """The connection that this transport is the outermost of; None where another one or a client opens it."""
    target = kind.target(arguments)
    owner = connection.being_opened()
    if owner is not None:
        owner.target = owner.target if owner.target.transport else target
        return None
    owner = Connection(target)
    stack.enter_context(connection.opening(owner))
    stack.enter_context(Connecting(owner)).reused = kind.reused(arguments)
    return owner


@guarded
def _opened(owner: Connection | None, kind: Kind, streams: Any) -> Connection | None:
    if owner is None:
        return None
    connection.written_to(kind.written(streams), owner)
    connection.offer(owner)
    owner.outlives_session = kind.closes
    return owner if kind.closes else None


@guarded
def _closing(owner: Connection | None, before: BaseException | None) -> Closing | None:
    return None if owner is None else Closing(owner, before)
