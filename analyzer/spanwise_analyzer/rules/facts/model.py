"""One model call with what the rules ask about it; None is *not reported*, never zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from spanwise import semconv
from spanwise_analyzer.rules.facts.failure import failed
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span, SpanKey

Endpoint: TypeAlias = tuple[str | None, str | None, str | None]
Deployment: TypeAlias = tuple[str | None, str | None, str | None, str | None, bool]
_NS = 1_000_000_000
_TOOL_FINISHES = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a prompt in its order: kind, keyed hash, estimated tokens."""

    kind: str
    digest: str
    tokens: int


@dataclass(frozen=True)
class ModelCall:
    """A model call; ``span`` is the node's, for reading attributes."""

    node: Node
    span: Span

    @property
    def key(self) -> SpanKey:
        """The span's key."""
        return self.span.key

    @property
    def failed(self) -> bool:
        """Whether the call ended in an error."""
        return failed(self.span)

    @property
    def input(self) -> int | None:
        """Input tokens, cached ones included."""
        return self.span.integer(semconv.GEN_AI_USAGE_INPUT_TOKENS)

    @property
    def cached(self) -> int | None:
        """Input tokens that the service read from its cache."""
        return self.span.integer(semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS)

    @property
    def uncached(self) -> int | None:
        """Input tokens that had to be processed."""
        if self.input is None or self.cached is None:
            return None
        return max(0, self.input - self.cached)

    @property
    def load(self) -> int | None:
        """Input tokens to process; all of them where the service says nothing of its cache."""
        return self.input if self.uncached is None else self.uncached

    @property
    def output(self) -> int | None:
        """Output tokens, reasoning included."""
        return self.span.integer(semconv.GEN_AI_USAGE_OUTPUT_TOKENS)

    @property
    def first_ns(self) -> int | None:
        """Time to the first content, in ns; None for a call that was not streamed."""
        seconds = self.span.number(semconv.RESPONSE_TIME_TO_FIRST_CONTENT)
        if seconds is None and self.span.text(semconv.OPENAI_API_TYPE) != semconv.API_RESPONSES:
            # A streamed Responses call has its first chunk long before its first content.
            seconds = self.span.number(semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK)
        return None if seconds is None else round(seconds * _NS)

    @property
    def reading_ns(self) -> int:
        """Time in which the prompt was read: to the first content, the whole call where that is not known."""
        return self.node.ns if self.first_ns is None else min(self.first_ns, self.node.ns)

    @property
    def requested(self) -> int | None:
        """How many tool calls the response asked for."""
        count = self.span.integer(semconv.TOOL_CALLS_IN_RESPONSE)
        if count is not None:
            return count
        return len(self.call_ids) or None

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Ids of the tool calls that the response asked for."""
        return self.span.texts(semconv.TOOL_CALL_IDS)

    @property
    def wants_tools(self) -> bool:
        """Whether the response asked for a tool, by count or by finish reason."""
        return bool(self.requested) or not _TOOL_FINISHES.isdisjoint(self.finishes)

    @property
    def finishes(self) -> tuple[str, ...]:
        """Finish reasons."""
        return self.span.texts(semconv.GEN_AI_RESPONSE_FINISH_REASONS)

    @property
    def images(self) -> int:
        """Images in the request."""
        return self.span.integer(semconv.IMAGE_COUNT) or 0

    @property
    def files(self) -> bool:
        """Whether the request holds a file part."""
        return bool(self.span.integer(semconv.FILE_COUNT) or self.span.texts(semconv.FILE_MIME))

    @property
    def workload(self) -> str:
        """The kind of work in the terms of the measured effects: image, file, tools or text."""
        if self.images:
            return "image"
        if self.files:
            return "file"
        return "tools" if self.span.integer(semconv.TOOLS_COUNT) or self.wants_tools else "text"

    @property
    def endpoint(self) -> Endpoint:
        """Provider, model and host: calls with the same one may share a prompt cache."""
        model = self.span.text(semconv.GEN_AI_REQUEST_MODEL) or self.span.text(semconv.GEN_AI_RESPONSE_MODEL)
        return self.span.text(semconv.GEN_AI_PROVIDER_NAME), model, self.span.text(semconv.SERVER_ADDRESS)

    @property
    def deployment(self) -> Deployment:
        """Endpoint, returned tier and whether it was streamed: calls with the same one may be compared."""
        return *self.endpoint, self.span.text(semconv.OPENAI_RESPONSE_SERVICE_TIER), self.first_ns is not None

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The prompt's blocks in order; empty when they were not recorded or cannot be read."""
        found = [_block(text) for text in self.span.texts(semconv.PROMPT_BLOCKS)]
        return tuple(block for block in found if block) if all(found) else ()

    @property
    def key_id(self) -> str | None:
        """Key under which the span's hashes were made."""
        return self.span.text(semconv.HASH_KEY_ID)

    def tpot_ns(self, min_tokens: float) -> float | None:
        """Time per output token in ns; None below ``min_tokens`` or where the first content is not known."""
        if self.first_ns is None or self.output is None or self.output < max(min_tokens, 2):
            return None
        return max(0, self.node.ns - self.first_ns) / (self.output - 1)


def _block(text: str) -> Block | None:
    kind, _, rest = text.partition(":")
    digest, _, tokens = rest.partition(":")
    return Block(kind, digest, int(tokens)) if digest and tokens.isdecimal() else None
