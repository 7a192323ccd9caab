"""Which span a tool call of the model was run in: the model call that reads its result has waited for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from opentelemetry.trace import Span, SpanContext

from spanwise import semconv

MAX_KEPT = 4096  # runs; the oldest is forgotten

# Without a lock, since each use is one step of the interpreter: a garbage collection that ends a call may wait in
# one thread for what another one is about to ask here.
_runs: OrderedDict[tuple[int, str], SpanContext] = OrderedDict()


def ran(call_id: str, span: Span) -> None:
    """``span`` is the run of the tool call that the model named ``call_id``."""
    context = span.get_span_context()
    _runs[context.trace_id, call_id] = context
    if len(_runs) > MAX_KEPT:
        _runs.popitem(last=False)


def link(span: Span, call_ids: Sequence[str]) -> None:
    """Link ``span`` to the runs of these tool calls, if all are known: else it waited for more than could be named.

    Only those of its own trace count, since model servers may number their calls anew each time.
    """
    trace_id = span.get_span_context().trace_id
    runs = [_runs.get((trace_id, call_id)) for call_id in call_ids]
    for run in runs if all(runs) else ():
        if run is not None:
            span.add_link(run, {semconv.LINK: semconv.LINK_WAITS_FOR})
