"""Tools that the application runs itself: a span with the sizes of what went in and came out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast, overload

from opentelemetry.context import Context
from opentelemetry.util.types import AttributeValue

from spanwise import content, hashing, semconv, sizes, text, toolruns
from spanwise.safety import guarded, let_through
from spanwise.spanscope import SpanScope

F = TypeVar("F", bound=Callable[..., Any])

_TYPE = "function"


class ToolScope(SpanScope):
    """One run of a tool: the ``execute_tool {name}`` span."""

    def __init__(self, name: str | None, hints: Mapping[str, AttributeValue], arguments: Mapping[str, Any]) -> None:
        super().__init__()
        self._name, self._hints, self._arguments = name, hints, arguments

    def described(self) -> tuple[str, Mapping[str, AttributeValue]]:
        """Span name and attributes."""
        name = text.encodable(self._name or "tool")
        found: dict[str, AttributeValue] = {
            semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_EXECUTE_TOOL,
            semconv.GEN_AI_TOOL_NAME: name,
            semconv.GEN_AI_TOOL_TYPE: _TYPE,
        }
        return f"{semconv.OPERATION_EXECUTE_TOOL} {name}", found | dict(self._hints)

    def details(self) -> Mapping[str, AttributeValue]:
        """Sizes, hashes and leaves of the arguments."""
        return _arguments(self._arguments)

    def inside(self, ctx: Context) -> Context:
        """Let the model call that reads the result be linked to this run."""
        call_id = self._hints.get(semconv.GEN_AI_TOOL_CALL_ID)
        if self.span is not None and isinstance(call_id, str):
            toolruns.ran(call_id, self.span)
        return ctx

    def output(self, value: Any) -> None:
        """Record what the tool returned."""
        self.returned(value)

    @guarded
    def returned(self, value: Any) -> None:
        """Record what the tool returned."""
        if self.recorded:
            self.write(_result(value))

    def fresh(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolScope:
        """One run of ``fn``, with its arguments by name."""
        return ToolScope(self._name or _name(fn), self._hints, _bound(fn, args, kwargs))


@overload
def tool(name: F, /) -> F: ...


@overload
def tool(
    name: str | None = None,
    /,
    *,
    call_id: str | None = None,
    read_only: bool | None = None,
    idempotent: bool | None = None,
    destructive: bool | None = None,
    **arguments: Any,
) -> ToolScope: ...


def tool(
    name: str | F | None = None,
    /,
    *,
    call_id: str | None = None,
    read_only: bool | None = None,
    idempotent: bool | None = None,
    destructive: bool | None = None,
    **arguments: Any,
) -> Any:
    """Mark a function that the application runs as a tool: ``@tool``, ``@tool("name", read_only=True)``, or
    ``with tool("name", call_id="call_1", order=17) as run: run.output(result)``.

    Arguments and results are recorded by size and keyed hash, by value only where content is captured.
    """
    hints = {
        semconv.GEN_AI_TOOL_CALL_ID: call_id,
        semconv.TOOL_READ_ONLY: read_only,
        semconv.TOOL_IDEMPOTENT: idempotent,
        semconv.TOOL_DESTRUCTIVE: destructive,
    }
    known = {key: value for key, value in hints.items() if value is not None}
    if callable(name) or issubclass(type(name), classmethod | staticmethod):
        return ToolScope(None, known, {})(cast("Any", name))
    return ToolScope(name, known, arguments)


def _name(fn: Callable[..., Any]) -> str:
    while isinstance(fn, partial):
        fn = fn.func
    return str(getattr(fn, "__name__", type(fn).__name__))


def _bound(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Mapping[str, Any]:
    if isinstance(fn, partial):
        return _bound(fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
    try:
        found = dict(inspect.signature(fn).bind(*args, **kwargs).arguments)
    except Exception as error:  # noqa: BLE001 - a wrong call fails in the function, with its own message
        let_through(error)
        return kwargs
    found.pop("self", None)
    if isinstance(found.get("cls"), type):
        del found["cls"]
    return found


@guarded
def _arguments_of(arguments: Mapping[str, Any]) -> dict[str, AttributeValue]:
    encoded = sizes.encoded(arguments)
    return {
        semconv.TOOL_ARGS_BYTES: len(encoded),
        semconv.TOOL_ARGS_HASH: hashing.hashed(encoded),
        semconv.TOOL_ARGS_LEAVES: hashing.leaves(arguments),
        semconv.HASH_KEY_ID: hashing.key_id(),
        **content.attributes(semconv.GEN_AI_TOOL_CALL_ARGUMENTS, arguments),
    }


def _arguments(arguments: Mapping[str, Any]) -> dict[str, AttributeValue]:
    return _arguments_of(arguments) or {}


def _result(value: Any) -> dict[str, AttributeValue]:
    encoded = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else sizes.encoded(value)
    return {
        semconv.TOOL_RESULT_BYTES: len(encoded),
        semconv.TOOL_RESULT_TOKENS: sizes.tokens(len(encoded)),
        semconv.TOOL_RESULT_HASH: hashing.hashed(encoded),
        semconv.TOOL_RESULT_LEAVES: hashing.leaves(value),
        semconv.HASH_KEY_ID: hashing.key_id(),
        **content.attributes(semconv.GEN_AI_TOOL_CALL_RESULT, value),
    }
