"""Model calls of the agent: a streamed consultation round, a streamed text, an extraction into a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel

from spanwise_demo.agent.toolbox import Request

Form = TypeVar("Form", bound=BaseModel)
Messages = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Said:
    """What the model answered in one round: text, calls, and the output tokens it took."""

    text: str
    requests: Sequence[Request]
    tokens: int | None = None

    def message(self) -> dict[str, Any]:
        """As a message of the conversation."""
        said: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.requests:
            said["tool_calls"] = [_called(request) for request in self.requests]
        return said


@dataclass(frozen=True, slots=True)
class Model:
    """A client, the model's name and the service tier to ask for."""

    client: AsyncOpenAI
    name: str
    tier: str | None = None

    async def round(self, messages: Messages, **options: Any) -> Said:
        """One streamed chat completion; ``options`` go to the API as they are."""
        request = {"messages": messages, "stream_options": {"include_usage": True}, **self._common(), **options}
        stream: AsyncStream[ChatCompletionChunk] = await self.client.chat.completions.create(**request)
        collected = _Collected()
        async for chunk in stream:
            collected.add(chunk)
        return collected.said()

    async def extract(self, form: type[Form], instructions: str, content: list[dict[str, Any]] | str) -> Form:
        """One streamed response in the form's JSON schema; pydantic's ValidationError when it does not fit."""
        schema = {"type": "json_schema", "name": form.__name__.lower(), "schema": form.model_json_schema()}
        request = {
            "instructions": instructions,
            "input": [{"role": "user", "content": content}],
            "text": {"format": schema},
            **self._common(),
        }
        stream: AsyncStream[ResponseStreamEvent] = await self.client.responses.create(**request)
        said = [event.delta async for event in stream if event.type == "response.output_text.delta"]
        return form.model_validate_json("".join(said))

    def _common(self) -> dict[str, Any]:
        tier = {} if self.tier is None else {"service_tier": self.tier}
        return {"model": self.name, "stream": True, **tier}


class _Collected:
    """Chunks of one completion, put together."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.calls: dict[int, list[str]] = {}
        self.tokens: int | None = None

    def add(self, chunk: ChatCompletionChunk) -> None:
        if chunk.usage is not None:
            self.tokens = chunk.usage.completion_tokens
        for choice in chunk.choices:
            self.text.append(choice.delta.content or "")
            for call in choice.delta.tool_calls or ():
                parts = self.calls.setdefault(call.index, ["", "", ""])
                parts[0] += call.id or ""
                parts[1] += (call.function.name if call.function else None) or ""
                parts[2] += (call.function.arguments if call.function else None) or ""

    def said(self) -> Said:
        requests = [Request(*parts) for _, parts in sorted(self.calls.items())]
        return Said("".join(self.text), requests, self.tokens)


def _called(request: Request) -> dict[str, Any]:
    return {
        "id": request.id,
        "type": "function",
        "function": {"name": request.name, "arguments": request.arguments},
    }
