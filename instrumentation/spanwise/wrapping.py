"""Runs a function of any kind inside a scope: plain, coroutine, generator or asynchronous generator."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from functools import wraps
from typing import Any, TypeVar, cast

from spanwise.scope import Scope

F = TypeVar("F", bound=Callable[..., Any])
Opener = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Scope]


def wrapped(fn: F, opener: Opener) -> F:
    """``fn``, each run of which happens inside the scope that ``opener(fn, args, kwargs)`` makes for it."""
    if inspect.isasyncgenfunction(fn):
        made = _asynchronous_generator(fn, opener)
    elif inspect.isgeneratorfunction(fn):
        made = _generator(fn, opener)
    elif inspect.iscoroutinefunction(fn):
        made = _coroutine(fn, opener)
    else:
        made = _plain(fn, opener)
    return cast("F", made)


def _plain(fn: Callable[..., Any], opener: Opener) -> Callable[..., Any]:
    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        with opener(fn, args, kwargs) as scope:
            return _returned(scope, fn(*args, **kwargs))

    return run


def _coroutine(fn: Callable[..., Any], opener: Opener) -> Callable[..., Any]:
    @wraps(fn)
    async def run(*args: Any, **kwargs: Any) -> Any:
        with opener(fn, args, kwargs) as scope:
            return _returned(scope, await fn(*args, **kwargs))

    return run


def _generator(fn: Callable[..., Any], opener: Opener) -> Callable[..., Any]:
    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        return _Generator(fn(*args, **kwargs), opener(fn, args, kwargs))

    return run


def _asynchronous_generator(fn: Callable[..., Any], opener: Opener) -> Callable[..., Any]:
    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        return _AsyncGenerator(fn(*args, **kwargs), opener(fn, args, kwargs))

    return run


def _returned(scope: Scope, value: Any) -> Any:
    scope.returned(value)
    return value


class _Generator(Generator[Any, Any, Any]):
    """A generator whose scope is current only while its own code runs, never between two items."""

    def __init__(self, inner: Generator[Any, Any, Any], scope: Scope) -> None:
        self._inner, self._scope, self._begun = inner, scope, False

    def send(self, value: Any) -> Any:
        return self._step(lambda: self._inner.send(value))

    def throw(self, *exception: Any) -> Any:
        return self._step(lambda: self._inner.throw(*exception))

    def close(self) -> None:
        self._end(self._inner.close)

    def __del__(self) -> None:
        self._scope.finish()

    def _step(self, step: Callable[[], Any]) -> Any:
        self._begin()
        try:
            with self._scope.active():
                return step()
        except BaseException as error:
            self._scope.finish(None if isinstance(error, StopIteration | GeneratorExit) else error)
            raise

    def _end(self, close: Callable[[], None]) -> None:
        try:
            with self._scope.active():
                close()
        except BaseException as error:
            self._scope.finish(error)
            raise
        self._scope.finish()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._scope.start()


class _AsyncGenerator(AsyncGenerator[Any, Any]):
    """The same for asynchronous generators: each step may run in another task."""

    def __init__(self, inner: AsyncGenerator[Any, Any], scope: Scope) -> None:
        self._inner, self._scope, self._begun = inner, scope, False

    async def asend(self, value: Any) -> Any:
        return await self._step(lambda: self._inner.asend(value))

    async def athrow(self, *exception: Any) -> Any:
        return await self._step(lambda: self._inner.athrow(*exception))

    async def aclose(self) -> None:
        try:
            with self._scope.active():
                await self._inner.aclose()
        except BaseException as error:
            self._scope.finish(error)
            raise
        self._scope.finish()

    def __del__(self) -> None:
        self._scope.finish()

    async def _step(self, step: Callable[[], Any]) -> Any:
        if not self._begun:
            self._begun = True
            self._scope.start()
        try:
            with self._scope.active():
                return await step()
        except BaseException as error:
            self._scope.finish(None if isinstance(error, StopAsyncIteration | GeneratorExit) else error)
            raise
