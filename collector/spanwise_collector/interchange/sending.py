"""Sends requests to a server over OTLP/HTTP, and again where the protocol says so."""

from __future__ import annotations

import json
import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from typing import Final, Self

import httpx2
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanwise_collector.interchange.piece import JSON, Body
from spanwise_collector.otlp.decode import Malformed
from spanwise_collector.store import Accepted

_PATH: Final = "/v1/traces"
_SENDERS: Final = 4  # a server commits what arrives together at once
_AGAIN: Final = frozenset({429, 502, 503, 504})
_PATIENCE_S: Final = 60.0
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 10.0
_TIMEOUT_S: Final = 30.0


class Unreachable(OSError):
    """Nobody takes OTLP at this address, or not for as long as we wait; the message says what to do."""


class ToServer:
    """A running server, spanwise or any other that takes OTLP/HTTP; a context manager."""

    def __init__(self, url: str, *, token: str = "", patience_s: float = _PATIENCE_S) -> None:
        base = (url if "://" in url else f"http://{url}").rstrip("/")
        self._url = base if base.endswith(_PATH) else base + _PATH
        self._patience_s = patience_s
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx2.Client(timeout=_TIMEOUT_S, trust_env=False, headers=shown)
        self._executor = ThreadPoolExecutor(_SENDERS, thread_name_prefix="spanwise-import")
        self._closing = threading.Event()
        self._reached = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._executor.shutdown(cancel_futures=True)
        self._client.close()

    def take(self, body: Body) -> Future[Accepted]:
        """See Destination; the future may fail with Unreachable."""
        parcel = body.parcel()
        return self._executor.submit(self._send, body, parcel.spans + parcel.rejected)

    def _send(self, body: Body, spans: int) -> Accepted:
        deadline = time.monotonic() + self._patience_s
        wait_s = _FIRST_WAIT_S
        while True:
            answer = self._post(body)
            if answer is not None and answer.status_code not in _AGAIN:
                return _accepted(answer, body.media_type, spans, self._url)
            pause_s = max(_asked_s(answer), wait_s * random.uniform(0.5, 1))  # noqa: S311  # only to spread senders
            if time.monotonic() + pause_s > deadline or self._closing.wait(pause_s):
                raise Unreachable(f"{self._url} took nothing for {self._patience_s:g} s{_why(answer)}; import again")
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _post(self, body: Body) -> httpx2.Response | None:
        """The answer, None if there was none but had been before."""
        try:
            answer = self._client.post(self._url, content=body.content, headers={"Content-Type": body.media_type})
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            if self._reached and isinstance(error, httpx2.TransportError):
                return None
            raise Unreachable(f"no OTLP/HTTP at {self._url} ({error}); start a server with `spanwise serve`") from error
        self._reached = True
        return answer


def _accepted(answer: httpx2.Response, media_type: str, spans: int, url: str) -> Accepted:
    if answer.is_success:
        rejected, message = _partial(answer.content, media_type)
        return Accepted(max(0, spans - rejected), rejected, message)
    if answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        raise Malformed("the server takes no request as large as this; import it into a file with --db")
    if answer.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        raise Unreachable(f"{url} answered {answer.status_code}: is it the API? OTLP/HTTP is usually on port 4318")
    if answer.status_code == HTTPStatus.BAD_REQUEST:
        raise Malformed(f"the server refused it: {answer.text[:200]}")
    raise Unreachable(f"{url} answered {answer.status_code} {answer.reason_phrase}: {answer.text[:200]}")


def _partial(body: bytes, media_type: str) -> tuple[int, str]:
    """How many spans were rejected, and why; an answer that cannot be read counts as full success."""
    try:
        if media_type == JSON:
            found = json.loads(body or b"{}").get("partialSuccess") or {}
            return int(found.get("rejectedSpans", 0)), str(found.get("errorMessage", ""))
        partial = ExportTraceServiceResponse.FromString(body).partial_success
    except (ValueError, AttributeError, TypeError, DecodeError):
        return 0, ""
    return partial.rejected_spans, partial.error_message


def _asked_s(answer: httpx2.Response | None) -> float:
    text = answer.headers.get("retry-after", "") if answer is not None else ""
    return float(text) if text.isdecimal() else 0.0


def _why(answer: httpx2.Response | None) -> str:
    return "" if answer is None else f" and answered {answer.status_code}"
