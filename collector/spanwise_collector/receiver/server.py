"""uvicorn in a thread of its own, so that OTLP/HTTP runs beside anything else in the process."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import uvicorn

from spanwise_collector.receiver.cors import App, Cors
from spanwise_collector.receiver.entrance import Entrance
from spanwise_collector.receiver.http import Application, guarded
from spanwise_collector.receiver.intake import Intake
from spanwise_collector.settings import ReceiverSettings

_BACKLOG = 2048
_DECODERS = 8


class HttpServer:
    """OTLP/HTTP from ``start`` to ``stop``."""

    def __init__(self, intake: Intake, settings: ReceiverSettings, entrance: Entrance) -> None:
        self._settings = settings
        self._scheme = entrance.scheme
        self._executor = ThreadPoolExecutor(_DECODERS, thread_name_prefix="spanwise-decode")
        inner = Application(intake, settings, self._executor)
        application: App = guarded(inner, intake, entrance, trusted=settings.cors_origins)
        if settings.cors_origins:
            application = Cors(application, settings.cors_origins, settings.cors_headers)
        config = uvicorn.Config(
            application,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=int(settings.stop_grace_s),
            ssl_context_factory=context_factory(entrance),
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="spanwise-otlp-http", daemon=True)
        self._socket: socket.socket | None = None

    def start(self) -> str:
        """Bind and serve; returns the base URL. Raises OSError if the port is taken."""
        address = (self._settings.host, self._settings.otlp_http_port)
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._socket = socket.create_server(address, family=family, backlog=_BACKLOG)
        self._thread.start()
        host, port = self._socket.getsockname()[:2]
        return f"{self._scheme}://[{host}]:{port}" if ":" in host else f"{self._scheme}://{host}:{port}"

    def stop(self) -> None:
        """Answer what is in flight, then close."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._executor.shutdown()
        if self._socket is not None:
            self._socket.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket] if self._socket else None)


def context_factory(entrance: Entrance) -> Callable[..., ssl.SSLContext] | None:
    """What uvicorn wants for TLS; None is plain HTTP."""
    tls = entrance.tls
    return None if tls is None else lambda *_: tls.context()
