"""What is known of a call before its request is written: enough to name its span and to sample it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.openai.reading import text
from spanwise.openai.route import FETCH, Route
from spanwise.stages import Stage
from spanwise.text import encodable


def asked(route: Route, body: Mapping[str, Any], *, streamed: bool) -> dict[str, AttributeValue]:
    """First attributes of a request to ``route``."""
    found: dict[str, AttributeValue] = {semconv.GEN_AI_OPERATION_NAME: route.operation}
    if route is FETCH:
        found[semconv.STAGE] = str(Stage.MODEL_CALL)  # it waits for the model, and is no call of its own
    if route.api is not None:
        found[semconv.OPENAI_API_TYPE] = route.api
    if model := text(body, "model"):
        found[semconv.GEN_AI_REQUEST_MODEL] = encodable(model)
    if streamed:
        found[semconv.GEN_AI_REQUEST_STREAM] = True
    return found
