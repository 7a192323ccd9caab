"""OTLP/HTTP as a plain ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Final

from spanwise_collector.origin import origins
from spanwise_collector.otlp.decode import Malformed, decode
from spanwise_collector.otlp.document import decode_document
from spanwise_collector.otlp.signal import LOGS, METRICS
from spanwise_collector.receiver import answer
from spanwise_collector.receiver.access import Right
from spanwise_collector.receiver.body import CODINGS, TooLarge, UnknownCoding, compressed, decompressed
from spanwise_collector.receiver.entrance import Entrance
from spanwise_collector.receiver.guard import Guard, Message, Receive, Refusal, Rules, Scope, Send
from spanwise_collector.receiver.intake import Intake, Outcome, Reading, retry_after_s
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Accepted, Overloaded

TRANSPORT: Final = "http"
TRACES: Final = "/v1/traces"
_ASIDE: Final = {f"/v1/{signal.name}": signal for signal in (METRICS, LOGS)}
_READERS: Final[Mapping[str, Reading]] = {answer.PROTOBUF: decode, answer.JSON: decode_document}
_OVERLOAD: Final = 503
_NOT_FOUND: Final = (
    "nothing here; OTLP/HTTP is POST /v1/traces. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used as it stands, so it needs "
    "the path; OTEL_EXPORTER_OTLP_ENDPOINT does not"
)


@dataclass(frozen=True, slots=True)
class _Refused(Exception):
    """The request ends here, with this status."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    at: str | None = None  # what of the request is wrong


class Disconnected(Exception):
    """The sender is gone; nobody waits for an answer."""


class Application:
    """Answers OTLP requests; one event loop, decoding in ``executor``."""

    def __init__(self, intake: Intake, settings: ReceiverSettings, executor: Executor) -> None:
        self._intake = intake
        self._settings = settings
        self._executor = executor
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]}
        media_type, encoding = _media_type(headers), _encoding(headers)
        try:
            accepted = await self._serve(scope, headers, media_type, receive)
        except _Refused as refused:
            self._intake.count(TRANSPORT, Outcome.REFUSED if refused.status == _OVERLOAD else Outcome.FAILED)
            status, body = refused.status, answer.failure(refused.status, refused.message, encoding, refused.at)
            more = refused.headers
        except Disconnected:
            return
        else:
            status, body, more = 200, answer.success(accepted, encoding), {}
        if packed := compressed(body, headers.get("accept-encoding", "")):
            body, more = packed, {**more, "content-encoding": "gzip", "vary": "Accept-Encoding"}
        await _respond(send, status, body, {"content-type": encoding, **more})

    async def _serve(self, scope: Scope, headers: Mapping[str, str], media_type: str, receive: Receive) -> Accepted:
        _check(scope, media_type)
        size = 0
        try:
            self._intake.admit()
            body, size = await self._body(headers, receive)
            async with asyncio.timeout(self._settings.commit_wait_s):
                return await self._take(scope["path"], body, headers.get("content-encoding", ""), media_type)
        except (Malformed, TooLarge, UnknownCoding, Overloaded, TimeoutError) as error:
            raise _refusal(error) from error
        finally:
            self._in_flight -= size

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> tuple[bytes, int]:
        limit = self._settings.max_message_bytes
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > limit:
            raise _Refused(413, f"the body is over {limit} bytes")
        chunks: list[bytes] = []
        size, more = 0, True
        try:
            while more:
                message = await _next(receive)
                chunks.append(message.get("body", b""))
                more = message.get("more_body", False)
                size = self._hold(size, len(chunks[-1]))
        except BaseException:
            self._in_flight -= size
            raise
        return b"".join(chunks), size

    def _hold(self, size: int, more: int) -> int:
        """Count bytes in memory; refuse when one request or all of them are too many."""
        self._intake.admit()
        if size + more > self._settings.max_message_bytes:
            raise _Refused(413, f"the body is over {self._settings.max_message_bytes} bytes")
        if self._in_flight + more > self._settings.max_in_flight_bytes:
            raise _overloaded("too many bytes in flight")
        self._in_flight += more
        return size + more

    async def _take(self, path: str, body: bytes, coding: str, media_type: str) -> Accepted:
        loop = asyncio.get_running_loop()
        if path in _ASIDE:
            await loop.run_in_executor(self._executor, self._set_aside, path, body, coding, media_type)
            return Accepted(0)
        future = await loop.run_in_executor(self._executor, self._submit, body, coding, media_type)
        return await asyncio.wrap_future(future)

    def _submit(self, body: bytes, coding: str, media_type: str) -> Any:
        plain = decompressed(body, coding, self._settings.max_message_bytes)
        return self._intake.take(plain, TRANSPORT, _READERS[media_type])

    def _set_aside(self, path: str, body: bytes, coding: str, media_type: str) -> None:
        plain = decompressed(body, coding, self._settings.max_message_bytes)
        self._intake.set_aside(plain, TRANSPORT, _ASIDE[path], document=media_type == answer.JSON)


def guarded(app: Application, intake: Intake, entrance: Entrance, *, trusted: str) -> Guard:
    """The application behind the checks that every request has to pass; ``trusted`` lists the origins of pages."""
    known = origins(trusted)
    rules = Rules(
        right=lambda _: Right.INGEST,
        answer=_refusal_answer,
        challenge="Bearer",
        refused=lambda: intake.count(TRANSPORT, Outcome.UNAUTHENTICATED),
        trusted=lambda origin: any(each.fullmatch(origin.lower()) for each in known),
    )
    return Guard(app, entrance, rules)


def _refusal_answer(refusal: Refusal, headers: Mapping[str, str]) -> tuple[str, bytes]:
    encoding = _encoding(headers)
    return encoding, answer.failure(refusal.status, refusal.message, encoding)


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _encoding(headers: Mapping[str, str]) -> str:
    """Of the answer: that of the request, JSON where it has none that we know."""
    media_type = _media_type(headers)
    return media_type if media_type in _READERS else answer.JSON


def _check(scope: Scope, media_type: str) -> None:
    path = scope["path"]
    if path != TRACES and path not in _ASIDE:
        raise _Refused(404, f"{path}: {_NOT_FOUND}")
    if scope["method"] != "POST":
        raise _Refused(405, f"{scope['method']} {path}: OTLP/HTTP is POST", {"allow": "POST"})
    if media_type not in _READERS:
        raise _Refused(415, f"Content-Type {media_type!r} is not supported; send {' or '.join(_READERS)}")


def _refusal(error: Exception) -> _Refused:
    match error:
        case TooLarge():
            return _Refused(413, str(error))
        case UnknownCoding():
            return _Refused(415, str(error), {"accept-encoding": CODINGS})
        case Malformed():
            return _Refused(400, str(error), at=error.field)
        case TimeoutError():
            return _overloaded("not committed in time; it may still be")
    return _overloaded(str(error))


def _overloaded(message: str) -> _Refused:
    return _Refused(_OVERLOAD, message, {"retry-after": str(retry_after_s())})


async def _next(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message


async def _respond(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    raw = [(name.encode(), text.encode("latin-1")) for name, text in headers.items()]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
