"""The HTTP face of the local model: deployments, and the APIs below each."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from spanwise_demo.model import chat, embeddings, responses
from spanwise_demo.model.answer import Answer
from spanwise_demo.model.ask import Ask
from spanwise_demo.model.deployment import Admission, Deployment, Fault, Settings
from spanwise_demo.model.policy import output_tokens, reply

_REFUSALS = {429: "rate_limit_exceeded", 500: "server_error"}
_REFUSAL_NS = 25_000_000
Timed = tuple[int, dict[str, Any]]


class Service:
    """All deployments; each has its own base URL ``/{id}/v1``, cache, quota and chance."""

    def __init__(self) -> None:
        self.deployments: dict[str, Deployment] = {}

    async def create(self, request: Request) -> Response:
        """Makes a deployment from a JSON body of settings; answers its id."""
        try:
            settings = Settings.read(await request.json())
        except (TypeError, ValueError) as error:
            return _refused(400, str(error))
        name = uuid.uuid4().hex[:12]
        self.deployments[name] = Deployment(settings)
        return JSONResponse({"id": name}, status_code=201)

    async def chat(self, request: Request) -> Response:
        """``POST /{id}/v1/chat/completions``."""
        return await self._serve(request, chat, chat.chunks)

    async def respond(self, request: Request) -> Response:
        """``POST /{id}/v1/responses``."""
        return await self._serve(request, responses, responses.events)

    async def embed(self, request: Request) -> Response:
        """``POST /{id}/v1/embeddings``."""
        return await self._serve(request, embeddings)

    async def _serve(
        self, request: Request, api: ModuleType, stream: Callable[[Answer], Iterable[Timed]] | None = None
    ) -> Response:
        came_ns = time.monotonic_ns()
        deployment = self.deployments.get(request.path_params["id"])
        if deployment is None:
            return _refused(404, "no such deployment")
        if (fault := deployment.fault()) is not None:
            await _until(came_ns + _REFUSAL_NS)
            return _faulty(fault)
        try:
            ask = api.read(await request.json())
        except (KeyError, TypeError, ValueError) as error:
            return _refused(400, f"malformed request: {error!r}")
        answer = _answer(ask, deployment.admit(ask))
        if stream is not None and ask.stream:
            return StreamingResponse(_paced(stream(answer), answer, came_ns), media_type="text/event-stream")
        await _until(came_ns + answer.admission.pace.at(output_tokens(answer.reply)))
        return JSONResponse(api.whole(answer), headers=_headers(came_ns))


def service() -> Starlette:
    """The application."""
    face = Service()
    return Starlette(
        routes=[
            Route("/deployments", face.create, methods=["POST"]),
            Route("/{id}/v1/chat/completions", face.chat, methods=["POST"]),
            Route("/{id}/v1/responses", face.respond, methods=["POST"]),
            Route("/{id}/v1/embeddings", face.embed, methods=["POST"]),
        ]
    )


def _answer(ask: Ask, admission: Admission) -> Answer:
    return Answer(uuid.uuid4().hex, int(time.time()), ask, reply(ask), admission)


async def _paced(timed: Iterable[Timed], answer: Answer, came_ns: int) -> AsyncIterator[bytes]:
    """Server-sent events, each when its tokens are out."""
    for sent, event in timed:
        if sent:
            await _until(came_ns + answer.admission.pace.at(sent))
        yield _event(event)
    yield b"data: [DONE]\n\n"


def _event(event: Mapping[str, Any]) -> bytes:
    kind = f"event: {event['type']}\n" if "type" in event else ""
    return f"{kind}data: {json.dumps(event)}\n\n".encode()


async def _until(moment_ns: int) -> None:
    await asyncio.sleep(max(moment_ns - time.monotonic_ns(), 0) / 1e9)


def _headers(came_ns: int) -> dict[str, str]:
    return {"openai-processing-ms": str((time.monotonic_ns() - came_ns) // 1_000_000)}


def _faulty(fault: Fault) -> Response:
    headers = {"retry-after-ms": str(fault.retry_after_ms)} if fault.retry_after_ms else {}
    return _refused(fault.status, "try again later", headers)


def _refused(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    error = {"message": message, "type": _REFUSALS.get(status, "invalid_request_error"), "param": None, "code": None}
    return JSONResponse({"error": error}, status_code=status, headers=headers)
