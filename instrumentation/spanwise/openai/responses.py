"""Answers of the Responses API, whole or in events."""

from __future__ import annotations

from typing import Any

from spanwise.openai.answer import Said, said
from spanwise.openai.reading import field, items, text
from spanwise.openai.record import Record

_SPOKEN = ("response.output_text.delta", "response.refusal.delta")
_PARTIAL_IMAGE = "response.image_generation_call.partial_image"
_FAILED = "failed"
# The conventions know the finish reasons of chat completions only.
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesReader:
    """Puts one answer together. Its last event holds the whole answer once more, with usage."""

    def __init__(self) -> None:
        self.record = Record()
        self._texts: list[str] = []

    def whole(self, answer: Any) -> None:
        """Take a complete answer."""
        self.record.identify(answer)
        output = items(answer, "output")
        self.record.said = said(output)
        status = text(answer, "status")
        if status == _FAILED:
            self.record.error = text(answer, "error", "code") or _FAILED
        if reason := _reason(status, answer, calls=bool(self.record.said.calls)):
            self.record.finish_reasons[0] = reason

    def piece(self, event: Any) -> bool:
        """Take an event; True where it brought text, a refusal, reasoning or arguments of a tool call."""
        kind = text(event, "type")
        response = field(event, "response")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self.whole(response)
        elif response is not None:
            self.record.identify(response)
        elif kind == "error":
            self.record.error = text(event, "code") or "error"
        if kind in _SPOKEN:
            self._texts.append(text(event, "delta"))
        return kind == _PARTIAL_IMAGE or (kind.endswith(".delta") and bool(text(event, "delta")))

    def end(self) -> None:
        """Everything there is has come."""
        if self.record.said is None and self._texts:
            self.record.said = Said("".join(self._texts))


def _reason(status: str, answer: Any, *, calls: bool) -> str:
    if status == "incomplete":
        given = text(answer, "incomplete_details", "reason")
        return _REASONS.get(given, given or "length")
    if status == "completed":
        return "tool_calls" if calls else "stop"
    return "error" if status == _FAILED else ""
