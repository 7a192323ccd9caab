"""What an exception of the SDK says about a call that failed."""

from __future__ import annotations

import re
from typing import Any

from openai import APIError, APITimeoutError
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.spanscope import error_type

_CODE = re.compile(r"[\w.\-]{1,64}", re.ASCII)  # a word of the service, and no sentence


def cancelled(error: BaseException) -> bool:
    """Whether the program gave up: cancellation, interrupt and exit are no failure of the call."""
    return not isinstance(error, Exception)


def failure(error: BaseException) -> dict[str, AttributeValue]:
    """Class of the exception, the service's own code for it, and whether time ran out."""
    found: dict[str, AttributeValue] = {semconv.ERROR_TYPE: error_type(error)}
    if isinstance(error, APITimeoutError):
        found[semconv.TIMED_OUT] = True
    if isinstance(error, APIError) and (said := code(error.code) or code(error.type)):
        found[semconv.ERROR_CODE] = said
    return found


def code(value: Any) -> str:
    """``value`` where it is one of the few words that a service calls its failures by; else nothing."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if _CODE.fullmatch(text) else ""
