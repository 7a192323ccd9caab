"""Tells the spans that cannot be put on the wire from those that can, so that one does not take the others with it."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan

from spanwise.spancopy import cleaned


def mended(spans: Sequence[ReadableSpan]) -> list[ReadableSpan] | None:
    """``spans`` with those that cannot be written cleaned, or left out where that does not help.

    None where all can be written as they are, so that an export that failed had other reasons.
    """
    if _writes(spans):
        return None
    found = (span if _writes([span]) else _clean(span) for span in spans)
    return [span for span in found if span is not None]


def _clean(span: ReadableSpan) -> ReadableSpan | None:
    try:
        copy = cleaned(span)
    except Exception:  # noqa: BLE001 - whatever else a program has put into its span
        return None
    return copy if _writes([copy]) else None


def _writes(spans: Sequence[ReadableSpan]) -> bool:
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    try:
        encode_spans(spans).SerializePartialToString()
    except Exception:  # noqa: BLE001 - protobuf raises UnicodeError, ValueError, TypeError and its own
        return False
    return True
