"""Real MCP servers of every kind, and a place where another process may send its spans."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp import StdioServerParameters
from mcp.server.mcpserver import MCPServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

SERVERS = Path(__file__).parent / "servers"
PATIENCE = 20.0  # s, until a test gives up waiting

Stdio = Callable[..., StdioServerParameters]
Http = Callable[[MCPServer], AbstractAsyncContextManager[str]]


class Sink:
    """An OTLP/HTTP endpoint that keeps what it is sent."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        """Where to send spans to."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait_for(self, *names: str) -> dict[str, Span]:
        """The first span of each name, as soon as all are there."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = {span.name: span for span in reversed(self._spans)}
            if found.keys() >= set(names):
                return found
            time.sleep(0.01)
        return pytest.fail(f"no {names} among {[span.name for span in self._spans]}")

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        spans = self._spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                spans.extend(_spans(ExportTraceServiceRequest.FromString(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


def _spans(request: ExportTraceServiceRequest) -> list[Span]:
    return [span for part in request.resource_spans for scope in part.scope_spans for span in scope.spans]


@pytest.fixture
def sink() -> Iterator[Sink]:
    """Takes the spans of other processes."""
    made = Sink()
    yield made
    made.close()


@pytest.fixture
def run_script(sink: Sink) -> Callable[[str], None]:
    """Runs a script to its end; its spans go to the sink."""

    def run(script: str) -> None:
        subprocess.run([sys.executable, str(SERVERS / script)], env=_environment(sink), check=True, timeout=PATIENCE)

    return run


@pytest.fixture
def stdio(sink: Sink) -> Stdio:
    """Parameters of a server script, which sends its spans to the sink."""

    def parameters(script: str = "tools.py", arguments: Sequence[str] = ()) -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable, args=[str(SERVERS / script), *arguments], env=_environment(sink)
        )

    return parameters


@pytest.fixture
def http_process(sink: Sink) -> Iterator[str]:
    """The URL of the server script in a process of its own."""
    command = [sys.executable, str(SERVERS / "tools.py"), "http"]
    with subprocess.Popen(command, env=_environment(sink), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        process.terminate()


@pytest.fixture
def served() -> Http:
    """Serves a server object of the test over streamable HTTP; the block gets the URL."""
    return _serve


@asynccontextmanager
async def _serve(server: MCPServer) -> AsyncIterator[str]:
    # It listens at once, so that nobody has to wait for the server to be up.
    listener = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error", lifespan="on"))
    task = asyncio.create_task(running.serve(sockets=[listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    running.should_exit = True
    await task


def _environment(sink: Sink) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": sink.url, "SPANWISE_RAISE": "1", "SPANWISE_HASH_KEY": "key"}
