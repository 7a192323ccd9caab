"""Serves an ASGI application on a free loopback port and says where."""

from __future__ import annotations

import json
import socket
import sys
import threading
from typing import Any

import uvicorn


def listen(app: Any, path: str = "") -> None:
    """Prints ``{"url": …}`` once the port is bound, then serves until standard input ends.

    So the process never outlives the one that started it, and still ends in order: telemetry is flushed.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.bind(("127.0.0.1", 0))
    bound.listen(128)
    host, port = bound.getsockname()
    sys.stdout.write(json.dumps({"url": f"http://{host}:{port}{path}"}) + "\n")
    sys.stdout.flush()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    threading.Thread(target=_watch, args=(server,), daemon=True).start()
    server.run(sockets=[bound])


def _watch(server: uvicorn.Server) -> None:
    sys.stdin.buffer.read()
    server.should_exit = True
