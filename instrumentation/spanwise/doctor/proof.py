"""One real span, on the agent's own way out, and its way back from the server that it reached."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import format_span_id, format_trace_id

from spanwise import endpoint, process, semconv
from spanwise.doctor.delivery import credentials, hearing, place, trust
from spanwise.doctor.finding import Finding
from spanwise.endpoint import Endpoint
from spanwise.tracer import release

API_PORT = 4320
TOKEN = "SPANWISE_TOKEN"  # noqa: S105 - the name of a variable
_WANTED = f"to see it, set {TOKEN} to a token that may read"
_LIMIT = 10.0  # s, from sending to giving up
_PAUSE = 0.02  # s, between two looks
_ANSWER_LIMIT = 5.0  # s


@dataclass(frozen=True, slots=True)
class Server:
    """Where spans can be read back from; ``named`` tells whether the user said so."""

    url: str
    named: bool
    credentials: str | None
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sent:
    """When the exporter was given the span, and when the collector had it; s of a monotonic clock."""

    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Look:
    """What one look brought: the trace, None where it is not there yet, or why nothing can be seen at all."""

    trace: Mapping[str, Any] | None = None
    foreign: str = ""


def findings(target: Endpoint, api: str | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Send the span, and show it back."""
    span = made()
    sent = _sent(span, target)
    if isinstance(sent, str):
        yield Finding(ok=False, text=f"the test span was not accepted: {sent}")
        return
    what = f"test span {semconv.DOCTOR_SPAN} of trace {_trace_id(span)}"
    yield Finding(ok=True, text=f"{what}: accepted in {(sent.ended - sent.began) * 1000:.0f} ms")
    yield shown(span, server(target, api, environ), sent.began)


def made() -> Span:
    """A span of this process that no sampler leaves out, and that is no conversation."""
    provider = TracerProvider(sampler=ALWAYS_ON, resource=process.resource(), shutdown_on_exit=False)
    span = provider.get_tracer(semconv.SCOPE, release()).start_span(semconv.DOCTOR_SPAN)
    span.end()
    if not isinstance(span, Span):
        raise TypeError("the SDK is disabled")
    return span


def server(target: Endpoint, api: str | None, environ: Mapping[str, str]) -> Server:
    """The server's API: where the user says, else beside the endpoint. Only there it gets the endpoint's token.

    A token for reading that the environment names comes first; it is for the API, wherever that is.
    """
    parts = place(target)
    host = parts.hostname or ""
    beside = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{API_PORT}"
    url = (api or beside).rstrip("/")
    url = url if "://" in url else f"http://{url}"
    own = urlsplit(url).hostname == host
    reading = f"Bearer {environ[TOKEN]}" if environ.get(TOKEN) else None
    return Server(url, api is not None, reading or (credentials(environ) if own else None), environ)


def shown(span: Span, at: Server, began: float) -> Finding:
    """The span as the server has it; waits a while for it."""
    url = f"{at.url}/api/traces/{_trace_id(span)}"
    while True:
        look = _look(url, at)
        if look.trace is not None:
            return _seen(look.trace, span, f"{url} after {(time.monotonic() - began) * 1000:.0f} ms")
        if look.foreign:
            return _unseen(look.foreign, at)
        if time.monotonic() - began > _LIMIT:
            return _late(at)
        time.sleep(_PAUSE)


def _sent(span: Span, target: Endpoint) -> Sent | str:
    """When the span went, or why it did not."""
    with hearing() as heard:
        try:
            exporter = endpoint.exporter(target)  # loading it takes longer than sending
            began = time.monotonic()
            result = exporter.export([span])
            ended = time.monotonic()
            exporter.shutdown()
        except Exception as error:  # noqa: BLE001 - whatever the exporter raises is what there is to tell
            return f"{type(error).__name__}: {error}"
    taken = result is SpanExportResult.SUCCESS
    return Sent(began, ended) if taken else heard.last or "the exporter does not say why"


def _look(url: str, at: Server) -> Look:
    headers = {"Authorization": at.credentials} if at.credentials else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the user's own address
    try:
        context = trust(at.environ) if url.startswith("https:") else None
        with urllib.request.urlopen(request, timeout=_ANSWER_LIMIT, context=context) as answer:  # noqa: S310 - as above
            return _understood(json.load(answer))
    except urllib.error.HTTPError as error:
        with error:
            return _not_yet(error)
    except (OSError, ValueError, HTTPException) as error:
        return Look(foreign=f"no answer from {at.url} ({getattr(error, 'reason', error)})")


def _understood(document: Any) -> Look:
    try:
        return Look(document["data"][0])
    except (LookupError, TypeError):
        return Look(foreign="the answer is no trace")


def _not_yet(error: urllib.error.HTTPError) -> Look:
    """A trace that is not there yet is an answer of the API in its own form; any other 404 is somebody else's."""
    if error.code == HTTPStatus.SERVICE_UNAVAILABLE:
        return Look()
    if error.code == HTTPStatus.UNAUTHORIZED:
        return Look(foreign=_WANTED)
    try:
        known = error.code == HTTPStatus.NOT_FOUND and bool(json.load(error)["errors"])
    except (ValueError, KeyError, TypeError):
        known = False
    return Look() if known else Look(foreign=f"the answer is {error.code}")


def _seen(trace: Mapping[str, Any], span: Span, where: str) -> Finding:
    wanted = format_span_id(span.context.span_id)
    for found in trace.get("spans", ()):
        if found.get("spanID") == wanted:
            service = trace.get("processes", {}).get(found.get("processID"), {}).get("serviceName")
            text = (
                f"read back from {where}: {found.get('operationName')} of service {service}, {found.get('duration')} µs"
            )
            return Finding(ok=True, text=text)
    return Finding(ok=False, text=f"read back from {where}: the trace is there, but without the span")


def _unseen(why: str, at: Server) -> Finding:
    if why == _WANTED:
        return Finding(None, f"the span was accepted but cannot be shown: {at.url} wants a token", _WANTED)
    return Finding(
        False if at.named else None,
        f"the span was accepted but cannot be shown: {why}; {at.url} is no Spanwise API",
        "where the server's page and API are elsewhere, say so: spanwise doctor --api URL",
    )


def _late(at: Server) -> Finding:
    return Finding(
        ok=False,
        text=f"the span was accepted, but {at.url} does not have it after {_LIMIT:.0f} s",
        remedy="what takes spans is another server, or something between the two keeps or drops them",
    )


def _trace_id(span: Span) -> str:
    return format_trace_id(span.context.trace_id)
