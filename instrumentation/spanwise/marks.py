"""What only the agent knows: conversations, turns, steps, stages, and whether the answer was right."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, get_current_span
from opentelemetry.util.types import AttributeValue

from spanwise import content, context, hashing, semconv, sizes, text
from spanwise.safety import guarded, tell
from spanwise.scope import Scope
from spanwise.spanscope import SpanScope
from spanwise.stages import Stage
from spanwise.tracer import service_name

_MAX_CONVERSATIONS = 10_000  # whose turns are counted; the oldest is forgotten

_turns: OrderedDict[str, int] = OrderedDict()
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child of fork must not find it held by a thread that it does not have

    def _unlock() -> None:
        global _lock  # noqa: PLW0603 - one process has one lock
        _lock = threading.RLock()

    os.register_at_fork(after_in_child=_unlock)


class conversation(Scope):  # noqa: N801 - read as a verb: with spanwise.conversation("id")
    """Everything inside belongs to the conversation ``id``, also in threads, tasks and other processes.

    ``user`` is recorded as a keyed hash only.
    """

    def __init__(self, id: str | None, user: str | None = None) -> None:  # noqa: A002 - the public name
        super().__init__()
        self._id, self._user = id, user

    def opened(self) -> Context:
        """The current context inside the conversation; one without an id is none, and none is invented."""
        if self._id is None:
            tell("a conversation without an id is none")
        return context.with_conversation("" if self._id is None else self._id, self._user)


class turn(SpanScope):  # noqa: N801 - as above
    """One question and its answer: opens the ``invoke_agent {agent}`` span.

    Without ``number`` turns are counted per conversation, from 1. ``agent`` defaults to the service's name.
    """

    def __init__(self, number: int | None = None, *, agent: str | None = None) -> None:
        super().__init__()
        self._number, self._agent = number, agent

    def parent(self) -> Context:
        """The current context inside the turn."""
        return context.with_turn(_given(self._number) or _next_turn())

    def described(self) -> tuple[str, Mapping[str, AttributeValue]]:
        """Span name and attributes."""
        agent = text.encodable(self._agent or service_name())
        found: dict[str, AttributeValue] = {
            semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_INVOKE_AGENT,
            semconv.GEN_AI_AGENT_NAME: agent,
        }
        if (tenant := hashing.tenant_hash()) is not None:
            found |= {semconv.TENANT: tenant, semconv.HASH_KEY_ID: hashing.key_id()}
        return f"{semconv.OPERATION_INVOKE_AGENT} {agent}", found

    def inside(self, ctx: Context) -> Context:
        """Let ``outcome`` find the turn's span."""
        return ctx if self.span is None else context.with_turn_span(self.span, ctx)


class step(SpanScope):  # noqa: N801 - as above
    """One step of the agent: opens the ``agent.step.{name}`` span.

    ``inputs`` are recorded by size, type and keyed hash, by value only where content is captured. ``text_only``
    says that only the text of documents matters here. A step that is left by an exception has failed.
    """

    def __init__(self, name: str, *, text_only: bool = False, **inputs: Any) -> None:
        super().__init__()
        self._name, self._text_only, self._inputs = text.encodable(name), text_only, inputs

    def described(self) -> tuple[str, Mapping[str, AttributeValue]]:
        """Span name and attributes."""
        found: dict[str, AttributeValue] = {semconv.STEP_NAME: self._name}
        if self._text_only:
            found[semconv.STEP_TEXT_ONLY] = True
        return f"agent.step.{self._name}", found

    def details(self) -> Mapping[str, AttributeValue]:
        """Sizes, types and hashes of the inputs."""
        return _values(semconv.STEP_INPUT_PREFIX, self._inputs)

    @guarded
    def output(self, **values: Any) -> None:
        """Record what the step brought, as ``inputs`` are."""
        if self.recorded:
            self.write(_values(semconv.STEP_OUTPUT_PREFIX, values))

    def closed(self, error: BaseException | None) -> None:
        """Record whether the step succeeded."""
        self.write({semconv.STEP_OUTPUT_STATUS: "error" if isinstance(error, Exception) else "ok"})
        super().closed(error)


class stage(SpanScope):  # noqa: N801 - as above
    """Work of a declared stage, e.g. "prepare" for text extraction, "user.wait" for waiting on a person."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = text.encodable(name)

    def described(self) -> tuple[str, Mapping[str, AttributeValue]]:
        """Span name and attributes."""
        human = {semconv.HUMAN: True} if self._name == Stage.USER_WAIT else {}
        return f"agent.stage.{self._name}", {semconv.STAGE: self._name, **human}


@guarded
def outcome(passed: bool | None = None, consumed_tokens: int | None = None) -> None:  # noqa: FBT001 - the public call
    """Record on the running turn whether its answer was right, and how many tokens of it were used."""
    span: Span = context.turn_span() or get_current_span()
    if passed is not None:
        span.set_attribute(semconv.QUALITY_PASSED, bool(passed))
    if consumed_tokens is not None:
        span.set_attribute(semconv.OUTPUT_CONSUMED_TOKENS, int(consumed_tokens))


def _given(number: int | None) -> int | None:
    if number is None or context.is_turn(number):
        return number
    tell("the number of a turn is not between 1 and 2^31 - 1 and is ignored")
    return None


def _next_turn() -> int | None:
    conversation_id = context.conversation_id(get_current())
    if conversation_id is None:
        return None
    with _lock:
        number = _turns.pop(conversation_id, 0) + 1
        _turns[conversation_id] = number
        if len(_turns) > _MAX_CONVERSATIONS:
            _turns.popitem(last=False)
    return number


def _values(prefix: str, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    for key, value in values.items():
        # Each by itself: one that cannot be looked at costs neither the others nor the step.
        found |= _value(prefix + key, value) or {}
    if found:
        found[semconv.HASH_KEY_ID] = hashing.key_id()
    return found


@guarded
def _value(name: str, value: Any) -> dict[str, AttributeValue]:
    encoded = sizes.encoded(value)
    return {
        name + semconv.STEP_BYTES_SUFFIX: len(encoded),
        name + semconv.STEP_HASH_SUFFIX: hashing.hashed(encoded),
        name + semconv.STEP_TYPE_SUFFIX: type(value).__name__,
        **content.attributes(name, value),
    }
