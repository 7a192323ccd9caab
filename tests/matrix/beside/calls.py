"""What an agent does with the openai SDK, and what it can see of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import openai
from pydantic import BaseModel

Record = list[str]
MESSAGES: Any = [{"role": "user", "content": "Where is my order?"}]
USAGE: Any = {"include_usage": True}


class Order(BaseModel):
    """The structured answer."""

    order: str


def kind(value: Any) -> str:
    """The type of a value, as a program would test for it."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _client(**changes: Any) -> openai.OpenAI:
    return openai.OpenAI(**_options(changes))


def _async_client(**changes: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(**_options(changes))


def _options(changes: dict[str, Any]) -> dict[str, Any]:
    return {"api_key": "key", "base_url": os.environ["MODEL_URL"], "max_retries": 0} | changes


def _said(record: Record, answer: Any) -> None:
    record.append(f"{kind(answer)} {answer.model_dump_json()}")


def chat(record: Record) -> None:
    with _client() as client:
        _said(record, client.chat.completions.create(model="m", messages=MESSAGES))


def chat_stream(record: Record) -> None:
    with _client() as client:
        stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True, stream_options=USAGE)
        record.append(str(isinstance(stream, openai.Stream)))
        for chunk in stream:
            _said(record, chunk)


def chat_left(record: Record) -> None:
    with _client() as client:
        stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True, stream_options=USAGE)
        with stream:
            for chunk in stream:
                _said(record, chunk)
                break
        record.append(str(stream.response.is_closed))


def chat_broken(record: Record) -> None:
    with _client() as client:
        for chunk in client.chat.completions.create(model="broken", messages=MESSAGES, stream=True):
            _said(record, chunk)


def chat_helper(record: Record) -> None:
    with _client() as client, client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
        record.extend(event.type for event in stream)
        _said(record, stream.get_final_completion())


def chat_parse(record: Record) -> None:
    with _client() as client:
        _said(record, client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Order))


def chat_raw(record: Record) -> None:
    with _client() as client:
        raw = client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)
        record.append(kind(raw))
        _said(record, raw.parse())


def chat_streaming(record: Record) -> None:
    with _client() as client:
        with client.chat.completions.with_streaming_response.create(model="m", messages=MESSAGES) as raw:
            record.append(kind(raw))
            _said(record, raw.parse())
        record.append(str(raw.http_response.is_closed))


def chat_refused(record: Record) -> None:
    with _client() as client:
        _said(record, client.chat.completions.create(model="refused", messages=MESSAGES))


def chat_retried(record: Record) -> None:
    with _client(max_retries=1) as client:
        _said(record, client.chat.completions.create(model="busy", messages=MESSAGES))


def chat_unreachable(record: Record) -> None:
    with _client(base_url="http://127.0.0.1:1/v1") as client:
        _said(record, client.chat.completions.create(model="m", messages=MESSAGES))


async def chat_async(record: Record) -> None:
    async with _async_client() as client:
        _said(record, await client.chat.completions.create(model="m", messages=MESSAGES))


async def chat_async_stream(record: Record) -> None:
    async with _async_client() as client:
        stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True, stream_options=USAGE)
        record.append(str(isinstance(stream, openai.AsyncStream)))
        async for chunk in stream:
            _said(record, chunk)


def responses(record: Record) -> None:
    with _client() as client:
        _said(record, client.responses.create(model="m", input="Where is my order?"))


def responses_stream(record: Record) -> None:
    with _client() as client:
        for event in client.responses.create(model="m", input="Where is my order?", stream=True):
            record.append(f"{kind(event)} {event.model_dump_json()}")


def responses_helper(record: Record) -> None:
    with _client() as client, client.responses.stream(model="m", input="Where is my order?") as stream:
        record.extend(event.type for event in stream)
        _said(record, stream.get_final_response())


def responses_parse(record: Record) -> None:
    with _client() as client:
        _said(record, client.responses.parse(model="m", input="Where is my order?", text_format=Order))


async def responses_async(record: Record) -> None:
    async with _async_client() as client:
        _said(record, await client.responses.create(model="m", input="Where is my order?"))


def embeddings(record: Record) -> None:
    with _client() as client:
        _said(record, client.embeddings.create(model="m", input="order", encoding_format="float"))


WORKS: Mapping[str, Any] = {
    work.__name__.replace("_", "-"): work
    for work in (
        chat,
        chat_stream,
        chat_left,
        chat_broken,
        chat_helper,
        chat_parse,
        chat_raw,
        chat_streaming,
        chat_refused,
        chat_retried,
        chat_unreachable,
        chat_async,
        chat_async_stream,
        responses,
        responses_stream,
        responses_helper,
        responses_parse,
        responses_async,
        embeddings,
    )
}
