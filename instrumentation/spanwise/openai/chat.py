"""Answers of chat completions (and of the older text completions), whole or in chunks."""

from __future__ import annotations

from typing import Any

from spanwise.openai.answer import Said, ToolCall, chat_call, said
from spanwise.openai.reading import count, field, items, text
from spanwise.openai.record import Record

_REASONING = ("reasoning_content", "reasoning")  # what services that think aloud add to a delta


class ChatReader:
    """Puts one answer together. Of several choices the first is the one that can become history."""

    def __init__(self) -> None:
        self.record = Record()
        self._texts: list[str] = []
        self._calls: dict[tuple[int, int], _CallPieces] = {}

    def whole(self, answer: Any) -> None:
        """Take a complete answer."""
        self.record.identify(answer)
        choices = items(answer, "choices")
        for choice in choices:
            self._finished(choice)
        first = [field(choice, "message") or {"content": text(choice, "text")} for choice in choices[:1]]
        others = [call for choice in choices[1:] for call in items(choice, "message", "tool_calls")]
        spoken = said(first)
        self.record.said = Said(spoken.text, (*spoken.calls, *map(chat_call, others)))

    def piece(self, chunk: Any) -> bool:
        """Take a chunk; True where it brought text, a refusal, reasoning or arguments of a tool call."""
        self.record.identify(chunk)
        brought = [
            self._choice(choice) for choice in items(chunk, "choices")
        ]  # every choice is read, not only the first
        return any(brought)

    def end(self) -> None:
        """Everything there is has come."""
        calls = tuple(pieces.joined() for _, pieces in sorted(self._calls.items()))
        if self.record.said is None and (self._texts or calls or self.record.complete):
            self.record.said = Said("".join(self._texts), calls)

    def _choice(self, choice: Any) -> bool:
        self._finished(choice)
        delta = field(choice, "delta")
        words = text(delta, "content") or text(delta, "refusal") or text(choice, "text")
        if words and not count(choice, "index"):
            self._texts.append(words)
        argued = [self._call(count(choice, "index") or 0, call) for call in items(delta, "tool_calls")]
        return bool(words) or any(argued) or any(text(delta, name) for name in _REASONING)

    def _call(self, index: int, call: Any) -> bool:
        key = index, count(call, "index") or 0
        return self._calls.setdefault(key, _CallPieces()).add(chat_call(call))

    def _finished(self, choice: Any) -> None:
        if reason := text(choice, "finish_reason"):
            self.record.finish_reasons[count(choice, "index") or 0] = reason


class _CallPieces:
    """A tool call whose arguments come piece by piece."""

    def __init__(self) -> None:
        self._id = self._name = ""
        self._arguments: list[str] = []

    def add(self, piece: ToolCall) -> bool:
        self._id = piece.id or self._id
        self._name = piece.name or self._name
        self._arguments.append(piece.arguments)
        return bool(piece.arguments)

    def joined(self) -> ToolCall:
        return ToolCall(self._id, self._name, "".join(self._arguments))
