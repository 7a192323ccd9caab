"""What the local model answers: it follows the procedure in its instructions as far as the request allows.

The instructions name tools in backquotes. A tool is wanted when it is offered and was not called since the last user
message; it can be called when each required argument is found in the conversation. So an argument that only another
tool's result holds costs another round, as with any model.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from spanwise_demo.model.ask import Ask, Call, Reply, Tool
from spanwise_demo.model.prompt import TOKEN_BYTES, tokens
from spanwise_demo.model.prose import prose

_NAMED = re.compile(r"`(\w+)`")
_LENGTH = re.compile(r"(at most|about) (\d+) words")
_TOGETHER = "at once"
_CHATTY_WORDS = 170


def reply(ask: Ask) -> Reply:
    """Tool calls while some are wanted and possible, then the answer."""
    calls = list(_calls(ask))
    if calls:
        together = ask.parallel and _TOGETHER in ask.instructions
        return Reply(calls=calls if together else calls[:1], finish="tool_calls")
    return _cut(_answer(ask), ask.max_tokens)


def output_tokens(answer: Reply) -> int:
    """Tokens of an answer, calls included."""
    return tokens(answer.text) + sum(tokens(call.name + call.arguments) for call in answer.calls)


def _calls(ask: Ask) -> Iterator[Call]:
    offered = {tool.name: tool for tool in ask.tools}
    done = _called(ask)
    for name in dict.fromkeys(_NAMED.findall(ask.instructions)):
        if name in offered and name not in done:
            arguments = _arguments(offered[name], ask.words)
            if arguments is not None:
                yield _call(name, arguments, ask)


def _called(ask: Ask) -> set[str]:
    names: set[str] = set()
    for message in ask.messages:
        if message.role == "user":
            names.clear()
        names.update(call.name for call in message.calls)
    return names


def _call(name: str, arguments: Mapping[str, Any], ask: Ask) -> Call:
    text = json.dumps(arguments)
    digest = hashlib.sha256(f"{name}{text}{len(ask.messages)}{ask.words}".encode()).hexdigest()
    return Call(id=f"call_{digest[:24]}", name=name, arguments=text)


def _arguments(tool: Tool, words: str) -> dict[str, Any] | None:
    """Values for the required arguments; None when the conversation does not hold one of them."""
    properties = tool.parameters.get("properties", {})
    found = {name: _value(properties.get(name, {}), words) for name in tool.parameters.get("required", ())}
    return None if any(value is None for value in found.values()) else found


def _value(schema: Mapping[str, Any], words: str) -> Any:
    if "enum" in schema:
        return next((value for value in schema["enum"] if str(value) in words), schema["enum"][0])
    if "pattern" in schema:
        matches = re.findall(schema["pattern"].strip("^$"), words)
        return matches[-1] if matches else None
    kinds: dict[str, Any] = {"boolean": True, "integer": schema.get("minimum", 1), "number": 1.0, "array": []}
    return kinds.get(schema.get("type", ""), "as the customer wrote")


def _answer(ask: Ask) -> Reply:
    if ask.schema is not None:
        return Reply(text=json.dumps(_filled(ask.schema, ask.words)))
    seed = int.from_bytes(hashlib.sha256(ask.words.encode()).digest()[:8])
    return Reply(text=prose(_length(ask.instructions), seed=seed))


def _filled(schema: Mapping[str, Any], words: str) -> dict[str, Any]:
    return {name: _value(item, words) for name, item in schema.get("properties", {}).items()}


def _length(instructions: str) -> int:
    """Words to write: as told, a little less than an upper bound, or as many as a chatty model likes."""
    found = _LENGTH.search(instructions)
    if found is None:
        return _CHATTY_WORDS
    count = int(found.group(2))
    return count if found.group(1) == "about" else max(count * 9 // 10, 1)


def _cut(answer: Reply, limit: int | None) -> Reply:
    if limit is None or tokens(answer.text) <= limit:
        return answer
    return Reply(text=answer.text.encode()[: limit * TOKEN_BYTES].decode(errors="ignore"), finish="length")
