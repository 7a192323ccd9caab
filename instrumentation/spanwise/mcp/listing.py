"""What a list of tools, prompts or resources costs: number, bytes, and whether it is the same as before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise import content, hashing, semconv, sizes
from spanwise.mcp import fields

_ITEMS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_HINTS = {
    semconv.TOOL_READ_ONLY: "readOnlyHint",
    semconv.TOOL_IDEMPOTENT: "idempotentHint",
    semconv.TOOL_DESTRUCTIVE: "destructiveHint",
}


def attributes(method: str, params: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """One page of a list as attributes."""
    found = outline(method, params, result)
    return found | _tools(_items(method, result)) if method == semconv.MCP_TOOLS_LIST else found


def outline(method: str, params: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """As ``attributes``, without what takes time to find out."""
    items = len(_items(method, result))
    found: dict[str, AttributeValue] = {
        semconv.MCP_ITEMS: items,
        semconv.MCP_MORE_PAGES: bool(result.get("nextCursor")),
    }
    if method == semconv.MCP_TOOLS_LIST:
        found[semconv.TOOLS_COUNT] = items
    if cursor := params.get("cursor"):
        found |= {semconv.MCP_CURSOR: hashing.hashed(str(cursor)), semconv.HASH_KEY_ID: hashing.key_id()}
    return found | fields.caching(result)


def remember(hints: MutableMapping[str, Mapping[str, Any]], method: str, result: Mapping[str, Any]) -> None:
    """Note the annotations of the listed tools for their later calls."""
    if method == semconv.MCP_TOOLS_LIST:
        for tool in _items(method, result):
            annotations = tool.get("annotations")
            hints[str(tool.get("name"))] = annotations if isinstance(annotations, Mapping) else {}


def hints(annotations: Mapping[str, Any] | None) -> dict[str, AttributeValue]:
    """A tool's annotations as attributes; what the server did not say is left out."""
    said = {name: (annotations or {}).get(key) for name, key in _HINTS.items()}
    return {name: value for name, value in said.items() if isinstance(value, bool)}


def _items(method: str, result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    items = result.get(_ITEMS[method])
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _tools(tools: list[Mapping[str, Any]]) -> dict[str, AttributeValue]:
    encoded = [sizes.encoded(tool) for tool in tools]
    # The commas and brackets of the list count too: they are sent.
    nbytes = sum(map(len, encoded)) + max(0, len(encoded) - 1) + 2
    canonical = [fields.canonical(tool) for tool in tools]
    return {
        semconv.TOOLS_BYTES: nbytes,
        semconv.TOOLS_TOKENS: sizes.tokens(nbytes),
        semconv.TOOLS_NAMES: [str(tool.get("name")) for tool in tools],
        semconv.TOOLS_SIZES: [len(data) for data in encoded],
        semconv.TOOLS_DESCRIPTION_BYTES: sum(len(text.encode()) for text in _descriptions(tools)),
        semconv.TOOLS_NAMES_HASH: hashing.hashed(b"\n".join(sorted(canonical))),
        semconv.TOOLS_ORDER_HASH: hashing.hashed(b"\n".join(canonical)),
        semconv.HASH_KEY_ID: hashing.key_id(),
        **content.attributes(semconv.GEN_AI_TOOL_DEFINITIONS, tools),
    }


def _descriptions(node: Any) -> Iterator[str]:
    """The texts under "description" anywhere in the definitions: of tools and of their parameters."""
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            if isinstance(text := item.get("description"), str):
                yield text
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
