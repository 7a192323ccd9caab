"""Looks on while a streamed answer is read, and never changes what is read."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import wrapt

from spanwise.openai.body import Body
from spanwise.openai.call import ModelCall


class Tap:
    """Stands where the SDK's stream keeps its iterator of chunks or events."""

    def __init__(self, source: Iterator[Any], call: ModelCall) -> None:
        self._source, self._call = source, call
        call.tapped = True

    def __iter__(self) -> Tap:
        return self

    def __next__(self) -> Any:
        self._call.pulling = True
        try:
            item = next(self._source)
        except StopIteration:
            self._call.leave()
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
        call.tapped = True

    def __aiter__(self) -> AsyncTap:
        return self

    async def __anext__(self) -> Any:
        self._call.pulling = True
        try:
            item = await anext(self._source)
        except StopAsyncIteration:
            self._call.leave()
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

    def __init__(self, body: Any, seen: Body) -> None:
        super().__init__(body)
        self._self_seen = seen

    def __iter__(self) -> Iterator[bytes]:
        return ByteIterator(iter(self.__wrapped__), self._self_seen)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return AsyncByteIterator(aiter(self.__wrapped__), self._self_seen)

    def close(self) -> None:
        """Close the body."""
        try:
            self.__wrapped__.close()
        finally:
            self._self_seen.closed()

    async def aclose(self) -> None:
        """Close the body."""
        try:
            await self.__wrapped__.aclose()
        finally:
            self._self_seen.closed()


class ByteIterator:
    """The pieces of a body. No generator: one more of those would be one more thing to be closed when dropped."""

    def __init__(self, source: Iterator[bytes], seen: Body) -> None:
        self._source, self._seen = source, seen

    def __iter__(self) -> ByteIterator:
        return self

    def __next__(self) -> bytes:
        try:
            data = next(self._source)
        except StopIteration:
            self._seen.ended()
            raise
        except BaseException as error:
            self._seen.broke(error)
            raise
        self._seen.add(data)
        return data


class AsyncByteIterator:
    """The same for asynchronous bodies."""

    def __init__(self, source: AsyncIterator[bytes], seen: Body) -> None:
        self._source, self._seen = source, seen

    def __aiter__(self) -> AsyncByteIterator:
        return self

    async def __anext__(self) -> bytes:
        try:
            data = await anext(self._source)
        except StopAsyncIteration:
            self._seen.ended()
            raise
        except BaseException as error:
            self._seen.broke(error)
            raise
        self._seen.add(data)
        return data


def watch(response: Any, call: ModelCall) -> None:
    """End ``call`` when the body of ``response`` is closed or the response is dropped, whichever comes first."""
    response.stream = ByteTap(response.stream, Body(response, call))
    weakref.finalize(response, call.forget)
