"""Which calls the service could have answered from its prompt cache."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View

_RULE = "stabilise-prompt-prefix"
_NS = 1_000_000_000


def minimum() -> float:
    """Tokens below which a service caches nothing."""
    return book.limit(_RULE, "min_prefix_tokens")


def uncached(call: ModelCall) -> bool:
    """Long enough to be cached, and reported as not cached at all; a missing report is unknown, not zero."""
    return not call.failed and (call.input or 0) >= minimum() and call.cached == 0


def cacheable_from(view: View, call: ModelCall) -> Sequence[ModelCall]:
    """The latest calls to the same model and host whose prompt could still be cached when this one was sent."""
    calls = view.calls_by_endpoint.get(call.endpoint, ())
    until = bisect_right(calls, call.node.start_ns, key=_end_ns)
    forgotten = call.node.start_ns - round(book.limit(_RULE, "retention_s") * _NS)
    return calls[
        max(bisect_left(calls, forgotten, key=_end_ns), until - int(book.limit(_RULE, "compared_calls"))) : until
    ]


def _end_ns(call: ModelCall) -> int:
    return call.node.end_ns
