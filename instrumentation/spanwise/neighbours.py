"""What other instrumentation of the same process already does."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider

from spanwise.safety import guarded


def sends_to(provider: TracerProvider, url: str) -> bool:
    """Whether a processor of ``provider`` already exports to ``url``, so that ours would send everything twice."""
    return bool(_sends_to(provider, url))


@guarded
def _sends_to(provider: TracerProvider, url: str) -> bool:
    # The SDK has no public way to ask; where these names change, the answer is "no" and spans are sent twice,
    # which a collector that tells spans apart by their ids survives.
    active = getattr(provider, "_active_span_processor", None)
    processors = getattr(active, "_span_processors", ())
    return any(_target(processor) == _bare(url) for processor in processors)


def _target(processor: object) -> str:
    exporter = getattr(processor, "span_exporter", None)
    return _bare(str(getattr(exporter, "_endpoint", "")))


def _bare(url: str) -> str:
    # The gRPC exporter keeps host and port only.
    return url.split("://", 1)[-1].rstrip("/").lower()
