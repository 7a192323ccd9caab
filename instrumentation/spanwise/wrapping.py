"""Runs a function of any kind inside a scope: plain, coroutine, generator or asynchronous generator."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from functools import partial, wraps
from types import CoroutineType
from typing import Any, TypeVar, cast

from spanwise.safety import tell
from spanwise.scope import Scope

F = TypeVar("F", bound=Callable[..., Any])
Opener = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Scope]


def wrapped(fn: F, opener: Opener) -> F:
    """``fn``, each run of which happens inside the scope that ``opener(fn, args, kwargs)`` makes for it.

    What takes its place is a function of the same kind, since frameworks look at the kind to know how to call it.
    """
    return cast("F", _wrapped(fn, opener))


def _wrapped(fn: Any, opener: Opener) -> Any:
    if issubclass(type(fn), classmethod | staticmethod):  # asks no object of the program's own what it is
        return type(fn)(_wrapped(fn.__func__, opener))
    if not callable(fn):
        tell(f"a {type(fn).__name__} is no function and stays as it is; mark the function inside of it")
        return fn
    code = _code(fn)
    made = next((made for made, kind in _KINDS.items() if kind(code)), _plain)
    return made(fn, opener)


def _code(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function that runs when ``fn`` is called: of an object, its class's ``__call__``."""
    while isinstance(fn, partial):
        fn = fn.func
    return fn if inspect.isroutine(fn) or inspect.isclass(fn) else type(fn).__call__


def _plain(fn: Callable[..., Any], opener: Opener) -> Callable[..., Any]:
    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        scope = opener(fn, args, kwargs)
        scope.start()
        try:
            with scope.active():
                value = fn(*args, **kwargs)
        except BaseException as error:
            scope.finish(error)
            raise
        # Other decorators make plain functions of coroutine functions: the work has not begun yet.
        return _awaited(value, scope) if type(value) is CoroutineType else _finished(scope, value)

    return run


def _coroutine(fn: Callable[..., Any], opener: Opener) -> Callable[..., Any]:
    @wraps(fn)
    async def run(*args: Any, **kwargs: Any) -> Any:
        work = fn(*args, **kwargs)
        scope = opener(fn, args, kwargs)
        scope.start()
        return await _awaited(work, scope)

    return run


async def _awaited(work: Coroutine[Any, Any, Any], scope: Scope) -> Any:
    try:
        with scope.active():
            value = await work
    except BaseException as error:
        scope.finish(error)
        raise
    return _finished(scope, value)


def _finished(scope: Scope, value: Any) -> Any:
    scope.returned(value)
    scope.finish()
    return value


def _generator(fn: Callable[..., Any], opener: Opener) -> Callable[..., Any]:
    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _Generator(fn(*args, **kwargs), opener(fn, args, kwargs)))

    return run


def _asynchronous_generator(fn: Callable[..., Any], opener: Opener) -> Callable[..., Any]:
    @wraps(fn)
    async def run(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        steps = _AsyncGenerator(fn(*args, **kwargs), opener(fn, args, kwargs))
        following = steps.asend(None)
        while True:
            try:
                value = await following
            except StopAsyncIteration:
                return
            # There is no ``yield from`` for these: what comes in is handed on by hand.
            try:
                following = steps.asend((yield value))
            except GeneratorExit:
                await steps.aclose()
                raise
            except BaseException as error:  # noqa: BLE001 - it belongs to the function, which may go on after it
                following = steps.athrow(error)

    return run


class _Generator(Generator[Any, Any, Any]):
    """A generator whose scope is current only while its own code runs, never between two items."""

    def __init__(self, inner: Generator[Any, Any, Any], scope: Scope) -> None:
        self._inner, self._scope = inner, scope
        scope.start()

    def send(self, value: Any) -> Any:
        return self._step(lambda: self._inner.send(value))

    def throw(self, *exception: Any) -> Any:
        return self._step(lambda: self._inner.throw(*exception))

    def close(self) -> None:
        try:
            with self._scope.active():
                self._inner.close()
        except BaseException as error:
            self._scope.finish(error)
            raise
        self._scope.finish()

    def _step(self, step: Callable[[], Any]) -> Any:
        try:
            with self._scope.active():
                return step()
        except BaseException as error:
            self._scope.finish(None if isinstance(error, StopIteration | GeneratorExit) else error)
            raise


class _AsyncGenerator:
    """The same for asynchronous generators: each step may run in another task."""

    def __init__(self, inner: AsyncGenerator[Any, Any], scope: Scope) -> None:
        self._inner, self._scope = inner, scope
        scope.start()

    async def asend(self, value: Any) -> Any:
        return await self._step(lambda: self._inner.asend(value))

    async def athrow(self, error: BaseException) -> Any:
        return await self._step(lambda: self._inner.athrow(error))

    async def aclose(self) -> None:
        try:
            with self._scope.active():
                await self._inner.aclose()
        except BaseException as error:
            self._scope.finish(error)
            raise
        self._scope.finish()

    def __del__(self) -> None:
        # Without an event loop nobody closes what was left in the middle.
        self._scope.finish()

    async def _step(self, step: Callable[[], Any]) -> Any:
        try:
            with self._scope.active():
                return await step()
        except BaseException as error:
            self._scope.finish(None if isinstance(error, StopAsyncIteration | GeneratorExit) else error)
            raise


_KINDS = {
    _asynchronous_generator: inspect.isasyncgenfunction,
    _generator: inspect.isgeneratorfunction,
    _coroutine: inspect.iscoroutinefunction,
}
