"""Looks on while a streamed answer is read, and never changes what is read."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import wrapt

from spanwise.openai.body import Body
from spanwise.openai.call import ModelCall
from spanwise.safety import guarded


class Tap:
    """Stands where the SDK's stream keeps its iterator of chunks or events."""

    def __init__(self, source: Iterator[Any], call: ModelCall) -> None:
        self._source, self._call = source, call

    def __iter__(self) -> Tap:
        return self

    def __next__(self) -> Any:
        self._call.pulling = True
        try:
            item = next(self._source)
        except StopIteration:
            self._call.finish()
            raise
        except BaseException as error:
            self._call.fail(error)
            raise
        finally:
            self._call.pulling = False
        self._call.piece(item)
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class AsyncTap:
    """The same for asynchronous streams."""

    def __init__(self, source: AsyncIterator[Any], call: ModelCall) -> None:
        self._source, self._call = source, call

    def __aiter__(self) -> AsyncTap:
        return self

    async def __anext__(self) -> Any:
        self._call.pulling = True
        try:
            item = await anext(self._source)
        except StopAsyncIteration:
            self._call.finish()
            raise
        except BaseException as error:
            self._call.fail(error)
            raise
        finally:
            self._call.pulling = False
        self._call.piece(item)
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class ByteTap(wrapt.ObjectProxy[Any]):
    """Stands where the HTTP response keeps its body: the one place that every way of reading and closing passes."""

    def __init__(self, body: Any, call: ModelCall, seen: Body) -> None:
        super().__init__(body)
        self._self_call, self._self_seen = call, seen

    def __iter__(self) -> Iterator[bytes]:
        for data in self.__wrapped__:
            self._self_note(data)
            yield data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self.__wrapped__:
            self._self_note(data)
            yield data

    def close(self) -> None:
        """Close the body."""
        try:
            self.__wrapped__.close()
        finally:
            self._self_closed()

    async def aclose(self) -> None:
        """Close the body."""
        try:
            await self.__wrapped__.aclose()
        finally:
            self._self_closed()

    def _self_note(self, data: bytes) -> None:
        self._self_seen.add(data, self._self_call)

    @guarded
    def _self_closed(self) -> None:
        # While the SDK pulls, the end of the body is only the end of reading: what it means, the tap will say.
        if not self._self_call.pulling:
            self._self_seen.deliver(self._self_call)


def watch(response: Any, call: ModelCall, *, tapped: bool) -> None:
    """End ``call`` when the body of ``response`` is closed or the response is dropped, whichever comes first."""
    seen = Body(type(response), response.headers, keep=not tapped)
    response.stream = ByteTap(response.stream, call, seen)
    weakref.finalize(response, call.forget)
