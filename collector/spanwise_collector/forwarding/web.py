"""OTLP/HTTP to a target: protobuf, compressed."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final

import httpx2

from spanwise_collector.forwarding.target import Target
from spanwise_collector.forwarding.verdict import TAKEN, Outcome, Verdict, retry_after_s

_HEADERS: Final = {"content-type": "application/x-protobuf", "content-encoding": "gzip", "user-agent": "spanwise"}
_RETRYABLE: Final = frozenset({429, 502, 503, 504})
_LEVEL: Final = 1  # spans shrink to a fifth by the cheapest level already
_ANSWER: Final = 65_536


class WebSender:
    """One target over HTTP; used in the event loop that made it."""

    def __init__(self, target: Target, headers: Mapping[str, str], timeout_s: float) -> None:
        self._url = target.url
        self._timeout_s = timeout_s
        # The whole exchange has a deadline: a target that sends a byte a second would pass any limit between two reads.
        self._client = httpx2.AsyncClient(headers={**headers, **_HEADERS}, timeout=None)

    async def send(self, body: bytes) -> Verdict:
        """Hand over one serialized request."""
        packed = await asyncio.to_thread(gzip.compress, body, _LEVEL)
        verdict = None
        try:
            async with asyncio.timeout(self._timeout_s), self._post(packed) as answer:
                verdict = _verdict(answer)
                await _rest(answer)
        except TimeoutError:
            return verdict or Verdict(Outcome.SILENT, f"no answer within {self._timeout_s:g} s")
        except (httpx2.HTTPError, OSError) as error:
            return verdict or Verdict(Outcome.SILENT, str(error) or type(error).__name__)
        return verdict

    def _post(self, packed: bytes) -> AbstractAsyncContextManager[httpx2.Response]:
        return self._client.stream("POST", self._url, content=packed)

    async def close(self) -> None:
        """Close its connections."""
        await self._client.aclose()


def _verdict(answer: httpx2.Response) -> Verdict:
    if answer.is_success:
        return TAKEN
    reason = f"answered {answer.status_code} {answer.reason_phrase}".strip()
    if answer.status_code in _RETRYABLE:
        return Verdict(Outcome.BUSY, reason, retry_after_s(answer.headers.get("retry-after")))
    return Verdict(Outcome.REFUSED, reason)


async def _rest(answer: httpx2.Response) -> None:
    """Read what follows, so that the connection can be used again; an answer without end is cut off."""
    size = 0
    async for piece in answer.aiter_raw():
        size += len(piece)
        if size > _ANSWER:
            return
