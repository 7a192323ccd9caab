"""Answers of the Responses API, whole or in events."""

from __future__ import annotations

from typing import Any

from spanwise.openai import promises
from spanwise.openai.answer import Said, said
from spanwise.openai.reading import field, items, text
from spanwise.openai.record import Record

_SPOKEN = ("response.output_text.delta", "response.refusal.delta")
_PARTIAL_IMAGE = "response.image_generation_call.partial_image"
_FAILED = "failed"
_UNDER_WAY = ("queued", "in_progress")
# The conventions know the finish reasons of chat completions only.
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesReader:
    """Puts one answer together. Its last event holds the whole answer once more, with usage."""

    def __init__(self) -> None:
        self.record = Record()
        self._texts: list[str] = []

    def whole(self, answer: Any) -> None:
        """Take a complete answer."""
        self._identify(answer)
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
            self._identify(response)
        elif kind == "error":
            self.record.error = text(event, "code") or "error"
        if kind in _SPOKEN:
            self._texts.append(text(event, "delta"))
        return kind == _PARTIAL_IMAGE or (kind.endswith(".delta") and bool(text(event, "delta")))

    def end(self) -> None:
        """Everything there is has come; what the model still works on is to be fetched later."""
        if self.record.said is None and self._texts:
            self.record.said = Said("".join(self._texts))
        if self.record.background and self.record.status in _UNDER_WAY:
            promises.began(self.record.id)

    def _identify(self, answer: Any) -> None:
        self.record.identify(answer)
        self.record.status = text(answer, "status") or self.record.status
        self.record.background = field(answer, "background") is True or self.record.background
        self.record.diagnose(field(answer, "prompt_cache_diagnostics"))


class FetchReader(ResponsesReader):
    """Of an answer that was begun earlier. Its tokens are counted once: by this process, if it began it."""

    def end(self) -> None:
        """Everything there is has come."""
        super().end()
        if self.record.usage and not promises.came(self.record.id):
            self.record.usage.clear()


def _reason(status: str, answer: Any, *, calls: bool) -> str:
    if status == "incomplete":
        given = text(answer, "incomplete_details", "reason")
        return _REASONS.get(given, given or "length")
    if status == "completed":
        return "tool_calls" if calls else "stop"
    return "error" if status == _FAILED else ""
