"""What came back: put together from a whole answer, or from the pieces of a streamed one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise import content, semconv
from spanwise.openai import reading
from spanwise.openai.answer import Said, ToolCall
from spanwise.openai.failure import code

MAX_CALLS = 256


@dataclass(slots=True)
class Record:
    """One answer. Nothing that is unknown is written; ``complete`` tells that the model came to its end."""

    id: str = ""
    model: str = ""
    tier: str = ""
    fingerprint: str = ""
    conversation: str = ""
    status: str = ""
    error: str = ""
    background: bool = False
    finish_reasons: dict[int, str] = field(default_factory=dict)
    usage: dict[str, int] = field(default_factory=dict)
    cache: dict[str, AttributeValue] = field(default_factory=dict)
    said: Said | None = None

    @property
    def complete(self) -> bool:
        """Whether every choice that began has also ended."""
        return bool(self.finish_reasons)

    def identify(self, source: Any) -> None:
        """Take ids, model and tier from an answer or a chunk; empty ones (Azure's annotations) tell nothing."""
        self.id = reading.text(source, "id") or self.id
        self.model = reading.text(source, "model") or self.model
        self.tier = reading.text(source, "service_tier") or self.tier
        self.fingerprint = reading.text(source, "system_fingerprint") or self.fingerprint
        self.conversation = reading.text(source, "conversation", "id") or self.conversation
        self.count(reading.field(source, "usage"))

    def count(self, usage: Any) -> None:
        """Take the token counts, of either API."""
        for name, paths in _USAGE.items():
            for path in paths:
                if (number := reading.count(usage, *path)) is not None:
                    self.usage[name] = number

    def diagnose(self, found: Any) -> None:
        """Take the service's own word on why its prompt cache did or did not help."""
        for name, key in _DIAGNOSIS.items():
            value = reading.text(found, key) or reading.count(found, key)
            if value is not None:
                self.cache[name] = value

    def attributes(self) -> dict[str, AttributeValue]:
        """The answer's part of the span."""
        optional: Mapping[str, str] = {
            semconv.GEN_AI_RESPONSE_ID: self.id,
            semconv.GEN_AI_RESPONSE_MODEL: self.model,
            semconv.OPENAI_RESPONSE_SERVICE_TIER: self.tier,
            semconv.OPENAI_RESPONSE_SYSTEM_FINGERPRINT: self.fingerprint,
            semconv.RESPONSE_STATUS: self.status,
            semconv.ERROR_TYPE: self.error,
            semconv.ERROR_CODE: code(self.error),
        }
        found: dict[str, AttributeValue] = {name: value for name, value in optional.items() if value}
        found |= self.usage
        found |= self.cache
        if self.background:
            found[semconv.RESPONSE_BACKGROUND] = True
        if self.finish_reasons:
            found[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = [
                reason for _, reason in sorted(self.finish_reasons.items())
            ]
        return found | ({} if self.said is None else _said(self.said))


def _said(said: Said) -> dict[str, AttributeValue]:
    calls: tuple[ToolCall, ...] = said.calls[:MAX_CALLS]
    found: dict[str, AttributeValue] = {
        semconv.RESPONSE_BLOCK_HASH: said.hash(),
        semconv.TOOL_CALLS_IN_RESPONSE: len(said.calls),
    }
    if calls:
        found[semconv.TOOL_CALL_IDS] = [call.id for call in calls]
        found[semconv.TOOL_CALL_NAMES] = [call.name for call in calls]
    if not content.captured():
        return found
    return found | content.attributes(semconv.GEN_AI_OUTPUT_MESSAGES, [_message(said)])


def _message(said: Said) -> dict[str, Any]:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in said.calls]
    return {"role": "assistant", "content": said.text} | ({"tool_calls": calls} if calls else {})


_DIAGNOSIS = {
    semconv.PROMPT_CACHE_RESULT: "type",
    semconv.PROMPT_CACHE_REASON: "reason",
    semconv.PROMPT_CACHE_MISSED_TOKENS: "cache_missed_tokens",
    semconv.PROMPT_CACHE_REUSABLE_TOKENS: "comparison_reusable_tokens",
}
_USAGE = {
    semconv.GEN_AI_USAGE_INPUT_TOKENS: (("prompt_tokens",), ("input_tokens",)),
    semconv.GEN_AI_USAGE_OUTPUT_TOKENS: (("completion_tokens",), ("output_tokens",)),
    semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
    ),
    semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: (
        ("prompt_tokens_details", "cache_write_tokens"),
        ("input_tokens_details", "cache_write_tokens"),
    ),
    semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
    ),
}
