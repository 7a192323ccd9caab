"""What goes into a tool and what comes out of it: sizes, kinds and keyed hashes, values only where wanted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise import content, hashing, semconv, sizes
from spanwise.mcp import fields

_URI = "uri"
_MAX_PARSED = 262_144  # characters of a text whose values are looked for: the caller waits meanwhile
_MAX_WORDS = 16_384
_MAX_COMPARED = 4_194_304  # characters of texts that are compared with the structured part, as above
_JSON_BEGINS = frozenset('{["-0123456789tfnNI \t\r\n')
_MAX_OUTLINED = 16_384  # bytes of a result in which a server looks for values


def request(method: str, params: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The arguments of a request as attributes, for either side."""
    if method == semconv.MCP_TOOLS_CALL:
        return _arguments(params.get("arguments") or {})
    uri = params.get(_URI)
    return {semconv.MCP_RESOURCE_URI: uri} if isinstance(uri, str) else {}


def answer(method: str, result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The answer to anything but a handshake or a list as attributes."""
    if method == semconv.MCP_TOOLS_CALL:
        return _kind(result) | _result(result)
    return _kind(result) | fields.caching(result) | {semconv.MCP_RESULT_BYTES: sizes.json_bytes(_shown(result))}


def outline(method: str, result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """As ``answer``, but only what costs next to nothing: a server's answer waits while this is worked out."""
    data = sizes.encoded(_shown(result))
    if method != semconv.MCP_TOOLS_CALL:
        return _kind(result) | {semconv.MCP_RESULT_BYTES: len(data)}
    found = _kind(result) | _sized(result, len(data))
    found |= {semconv.TOOL_RESULT_HASH: hashing.hashed(data), semconv.HASH_KEY_ID: hashing.key_id()}
    if len(data) <= _MAX_OUTLINED:
        found[semconv.TOOL_RESULT_LEAVES] = hashing.leaves(_values(result))
    return found


def is_error(method: str, result: Mapping[str, Any] | None) -> bool:
    """Whether a tool says that it failed."""
    return method == semconv.MCP_TOOLS_CALL and result is not None and result.get("isError") is True


def duplicate_bytes(result: Mapping[str, Any]) -> int:
    """Bytes of the structured part where it says nothing that the text does not say as well, else 0."""
    structured = result.get("structuredContent")
    if structured is None or sum(map(len, _texts(result))) > _MAX_COMPARED:
        return 0
    texts = [_parsed(text) for text in _texts(result)]
    said = texts[0] if len(texts) == 1 else texts
    # A value that is no object is wrapped by servers: {"result": value}.
    same = structured in (said, {"result": said}, {"result": texts})
    return sizes.json_bytes(structured) if same and texts else 0


def _arguments(arguments: Any) -> dict[str, AttributeValue]:
    data = fields.canonical(arguments)
    return {
        semconv.TOOL_ARGS_BYTES: len(data),
        semconv.TOOL_ARGS_HASH: hashing.hashed(data),
        semconv.TOOL_ARGS_LEAVES: hashing.leaves(arguments),
        semconv.HASH_KEY_ID: hashing.key_id(),
        **content.attributes(semconv.GEN_AI_TOOL_CALL_ARGUMENTS, arguments),
    }


def _result(result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    shown = _shown(result)
    data = sizes.encoded(shown)
    twice = duplicate_bytes(result)
    return {
        **_sized(result, len(data)),
        semconv.TOOL_RESULT_TOKENS: sizes.tokens(len(data) - twice),
        semconv.TOOL_RESULT_HASH: hashing.hashed(data),
        semconv.TOOL_RESULT_LEAVES: hashing.leaves(_values(result)),
        semconv.TOOL_DUPLICATE_BYTES: twice,
        semconv.HASH_KEY_ID: hashing.key_id(),
        **content.attributes(semconv.GEN_AI_TOOL_CALL_RESULT, shown),
    }


def _sized(result: Mapping[str, Any], nbytes: int) -> dict[str, AttributeValue]:
    return {
        semconv.TOOL_RESULT_BYTES: nbytes,
        semconv.TOOL_RESULT_TYPES: [str(block.get("type")) for block in _blocks(result)],
        semconv.TOOL_IS_ERROR: result.get("isError") is True,
    }


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    # What the protocol adds for itself is not part of the result.
    return {
        key: value
        for key, value in result.items()
        if key not in {"_meta", "isError", "resultType", "ttlMs", "cacheScope"}
    }


def _kind(result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    kind = result.get("resultType")
    return {semconv.MCP_RESULT_TYPE: kind} if isinstance(kind, str) else {}


def _values(result: Mapping[str, Any]) -> list[Any]:
    """What later arguments may have been taken from: the values of JSON, the words of plain text."""
    structured = result.get("structuredContent")
    if structured is not None:
        return [structured]
    parsed = [_parsed(text) if len(text) <= _MAX_PARSED else text for text in _texts(result)]
    return [value[:_MAX_WORDS].split() if isinstance(value, str) else value for value in parsed]


def _blocks(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    blocks = result.get("content")
    return [block for block in blocks if isinstance(block, Mapping)] if isinstance(blocks, list) else []


def _texts(result: Mapping[str, Any]) -> Iterator[str]:
    return (text for block in _blocks(result) if isinstance(text := block.get("text"), str))


def _parsed(text: str) -> Any:
    if text[:1] not in _JSON_BEGINS:  # what cannot be JSON is not worth an exception
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
