"""An image was sent with more than low detail, and reading takes much of the time."""

from __future__ import annotations

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "lower-image-detail"
EFFECT = "low-image-detail"
_COSTLY = frozenset({"high", "auto", "original"})
_IMAGE = "image"


def find(view: View) -> Finding | None:
    """External: the article's effect on the calls with such images."""
    reading = view.ledger.stage_ns(Stage.MODEL_FIRST_TOKEN, Stage.MODEL_CALL)
    if view.ledger.share(reading) < book.limit(RULE, "model_share"):
        return None
    calls = [call for call in view.model_calls if _costly(call) and not _from_tool(view, call)]
    if not calls:
        return None
    nodes = [call.node for call in calls]
    found = saving.external(EFFECT, view.owned(nodes))
    return Finding(RULE, view.stage(nodes), SavingKind.EXTERNAL, found, [_evidence(view, call) for call in calls])


def _costly(call: ModelCall) -> bool:
    return call.images > 0 and call.span.text(semconv.IMAGE_DETAIL) in _COSTLY and not call.failed


def _from_tool(view: View, call: ModelCall) -> bool:
    # An image that a tool returned is a matter of the tool's result.
    earlier = [tool for tool in view.tool_calls if tool.node.end_ns <= call.node.start_ns]
    return any(_IMAGE in (tool.texts(semconv.TOOL_RESULT_TYPES) or ()) for tool in earlier)


def _evidence(view: View, call: ModelCall) -> Evidence:
    detail = call.span.text(semconv.IMAGE_DETAIL)
    what = f"{call.images} image(s) with detail {detail}, {call.input} input tokens"
    return Evidence(call.key, view.owned([call.node]), what)
