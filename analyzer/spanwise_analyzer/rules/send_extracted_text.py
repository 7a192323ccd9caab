"""A PDF was sent to the model although only its text matters."""

from __future__ import annotations

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.role import declared
from spanwise_analyzer.rules import saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "send-extracted-text"
EFFECT = "extracted-text"
_PDF = "application/pdf"


def find(view: View) -> Finding | None:
    """External: the article's effect on the calls with a PDF; the extraction has to be paid from it."""
    calls = [
        call for call in view.model_calls if _PDF in call.span.texts(semconv.FILE_MIME) and _text_matters(view, call)
    ]
    if not calls:
        return None
    nodes = [call.node for call in calls]
    found = saving.external(EFFECT, view.owned(nodes))
    evidence = [Evidence(call.key, view.owned([call.node]), _words(call)) for call in calls]
    caveats = () if _extracts(view) else ("No extraction was measured here: its time has to be subtracted.",)
    return Finding(RULE, view.stage(nodes), SavingKind.EXTERNAL, found, evidence, caveats)


def _text_matters(view: View, call: ModelCall) -> bool:
    spans = [call.node, *call.node.ancestors()]
    said = [node.span.flag(semconv.STEP_TEXT_ONLY) for node in spans if node.span]
    marked = next((flag for flag in said if flag is not None), None)
    return _extracts(view) if marked is None else marked


def _extracts(view: View) -> bool:
    """Whether documents are prepared in the same conversation; an image there is scaled, not read."""
    prepared = any(node.span and declared(node.span) is Stage.PREPARE for node in view.nodes)
    return prepared and not any(call.images for call in view.model_calls)


def _words(call: ModelCall) -> str:
    pages = call.span.integer(semconv.FILE_PAGES)
    return "a PDF was sent" + (f" ({pages} pages)" if pages else "") + f", {call.input} input tokens"
