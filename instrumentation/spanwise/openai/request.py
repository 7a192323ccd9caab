"""Attributes that are known before a request is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise import content, hashing, semconv, sizes
from spanwise.catalogue import catalogue
from spanwise.openai.answer import content_text
from spanwise.openai.media import Media
from spanwise.openai.prompt import SYSTEM, USER, Entry, Prompt
from spanwise.openai.reading import field, text
from spanwise.openai.route import EMBEDDINGS, Route

PREFIX_TOKENS = 1024  # what prefix caches begin at
MAX_BLOCKS = 512
_MAX_LETTERS = 8192  # of what users wrote that are looked at
_WORD_EDGES = ".,;:!?()[]{}<>\"'`*"
_PLAIN = {
    semconv.GEN_AI_REQUEST_TEMPERATURE: ("temperature", float),
    semconv.GEN_AI_REQUEST_TOP_P: ("top_p", float),
    semconv.GEN_AI_REQUEST_SEED: ("seed", int),
    semconv.GEN_AI_REQUEST_FREQUENCY_PENALTY: ("frequency_penalty", float),
    semconv.GEN_AI_REQUEST_PRESENCE_PENALTY: ("presence_penalty", float),
    semconv.REQUEST_PARALLEL_TOOL_CALLS: ("parallel_tool_calls", bool),
    semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: ("previous_response_id", str),
}
_MAX_TOKENS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_JSON_FORMATS = ("json_object", "json_schema")


def request_attributes(route: Route, body: Mapping[str, Any], parsed: Prompt) -> dict[str, AttributeValue]:
    """What the JSON body of a request tells, and the prompt in it: parameters, sizes and keyed hashes."""
    if route is EMBEDDINGS:
        return _embeddings(body)
    return _parameters(body) | _prompt(parsed) | _tools(parsed) | _content(parsed)


def _embeddings(body: Mapping[str, Any]) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    if isinstance(dimensions := body.get("dimensions"), int):
        found[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] = dimensions
    if encoding := text(body, "encoding_format"):
        found[semconv.GEN_AI_REQUEST_ENCODING_FORMATS] = [encoding]
    return found


def _parameters(body: Mapping[str, Any]) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {
        name: kind(body[key]) for name, (key, kind) in _PLAIN.items() if _is(body.get(key), kind)
    }
    tier = text(body, "service_tier")
    optional: dict[str, AttributeValue | None] = {
        semconv.GEN_AI_REQUEST_MAX_TOKENS: _first_number(body, *_MAX_TOKENS),
        semconv.GEN_AI_REQUEST_REASONING_LEVEL: _effort(body),
        semconv.GEN_AI_REQUEST_STOP_SEQUENCES: _stops(body.get("stop")),
        semconv.GEN_AI_REQUEST_CHOICE_COUNT: _choices(body.get("n")),
        semconv.GEN_AI_OUTPUT_TYPE: _output_type(body),
        # The conventions leave "auto" out: it asks for nothing.
        semconv.OPENAI_REQUEST_SERVICE_TIER: tier if tier and tier != "auto" else None,
        semconv.GEN_AI_CONVERSATION_ID: text(body, "conversation") or text(body, "conversation", "id") or None,
    }
    return found | {name: value for name, value in optional.items() if value is not None}


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind)


def _first_number(body: Mapping[str, Any], *keys: str) -> int | None:
    return next((body[key] for key in keys if isinstance(body.get(key), int)), None)


def _effort(body: Mapping[str, Any]) -> str | None:
    return text(body, "reasoning_effort") or text(body, "reasoning", "effort") or None


def _stops(value: Any) -> list[str] | None:
    stops = [value] if isinstance(value, str) else value
    return [str(stop) for stop in stops] if isinstance(stops, list | tuple) and stops else None


def _choices(value: Any) -> int | None:
    return value if isinstance(value, int) and value != 1 else None


def _output_type(body: Mapping[str, Any]) -> str | None:
    kind = text(body, "response_format", "type") or text(body, "text", "format", "type")
    if kind in _JSON_FORMATS:
        return "json"
    return kind or None


def _prompt(parsed: Prompt) -> dict[str, AttributeValue]:
    if not parsed.entries:
        return {}
    sent = Media(
        tuple(image for entry in parsed.entries for image in entry.media.images),
        tuple(file for entry in parsed.entries for file in entry.media.files),
    )
    beginning = parsed.beginning(PREFIX_TOKENS * sizes.BYTES_PER_TOKEN)
    found: dict[str, AttributeValue] = {
        semconv.REQUEST_MESSAGES: len(parsed.entries),
        semconv.REQUEST_LEAVES: _words(parsed),
        semconv.PROMPT_BLOCKS: parsed.blocks()[:MAX_BLOCKS],
        semconv.PROMPT_PREFIX_HASH: hashing.hashed(beginning),
        semconv.HASH_KEY_ID: hashing.key_id(),
    }
    return found | _roles(parsed) | sent.attributes()


def _roles(parsed: Prompt) -> dict[str, AttributeValue]:
    counts: Counter[str] = Counter()
    nbytes: Counter[str] = Counter()
    for entry in parsed.entries:
        counts[entry.role] += 1
        nbytes[entry.role] += len(entry.data)
    found: dict[str, AttributeValue] = {}
    for role, number in counts.items():
        found[semconv.REQUEST_ROLE_COUNT_PREFIX + role] = number
        found[semconv.REQUEST_ROLE_BYTES_PREFIX + role] = nbytes[role]
    return found


def _words(parsed: Prompt) -> list[str]:
    """Hashes of the words that users wrote, newest message first, those that look like ids before the others."""
    words = dict.fromkeys(_split(_recent(parsed, _MAX_LETTERS)))
    ranked = sorted(words, key=lambda word: not any(character.isdigit() for character in word))
    return hashing.leaves(ranked)


def _recent(parsed: Prompt, letters: int) -> Iterator[str]:
    """Texts of users, newest first, of so many letters together: a pasted document costs no more than its beginning."""
    for entry in reversed(parsed.entries):
        for piece in _texts(entry) if entry.role == USER else ():
            if letters <= 0:
                return
            yield piece[:letters]
            letters -= len(piece)


def _texts(entry: Entry) -> list[str]:
    return [item if isinstance(item, str) else content_text(field(item, "content")) for item in entry.items]


def _split(texts: Iterable[str]) -> Iterator[str]:
    return (word.strip(_WORD_EDGES) for text in texts for word in text.split())


def _tools(parsed: Prompt) -> dict[str, AttributeValue]:
    return catalogue([_tool_name(tool) for tool in parsed.tools], parsed.tools)


def _tool_name(tool: Any) -> str:
    # Hosted tools have a type only.
    nested = text(tool, "function", "name") or text(tool, "custom", "name")
    return nested or text(tool, "name") or text(tool, "server_label") or text(tool, "type")


def _content(parsed: Prompt) -> dict[str, AttributeValue]:
    if not content.captured():
        return {}
    instructions = [item for entry in parsed.entries if entry.role == SYSTEM for item in entry.items]
    messages = [item for entry in parsed.entries if entry.role != SYSTEM for item in entry.items]
    return {
        **(content.attributes(semconv.GEN_AI_SYSTEM_INSTRUCTIONS, instructions) if instructions else {}),
        **(content.attributes(semconv.GEN_AI_TOOL_DEFINITIONS, parsed.tools) if parsed.tools else {}),
        **content.attributes(semconv.GEN_AI_INPUT_MESSAGES, messages),
    }
