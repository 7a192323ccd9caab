"""The running server: its parts, started in the order of the flow and stopped so that nothing acknowledged is lost."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Self

import uvicorn

from spanwise_analyzer.api import application
from spanwise_analyzer.books import Books
from spanwise_analyzer.database import opened
from spanwise_analyzer.guarding import guarded
from spanwise_analyzer.health import Monitor
from spanwise_analyzer.settings import ServeSettings
from spanwise_collector.forwarding import Forwarder
from spanwise_collector.receiver import Entrance, Guard, Receiver, context_factory
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Policy, Retention

_POLL_S = 0.5
_TAKEN = "is another `spanwise serve` running? choose another port with --port / --otlp-http-port / --otlp-grpc-port"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the server listens."""

    api: str
    otlp_http: str
    otlp_grpc: str
    db: str

    def document(self) -> dict[str, str]:
        """For the one line of JSON."""
        return asdict(self)


class Server:
    """One process's store, receiver, books and API; ``stop`` undoes ``start`` in reverse order."""

    def __init__(self, addresses: Addresses, monitor: Monitor, api: ApiThread, parts: ExitStack) -> None:
        self.addresses = addresses
        self._monitor = monitor
        self._api = api
        self._parts = parts

    @classmethod
    def start(
        cls,
        settings: ServeSettings,
        receiving: ReceiverSettings,
        entrance: Entrance,
        forwarder: Forwarder | None = None,
    ) -> Self:
        """Open the file and all ports; raises DatabaseInUse or OSError, and leaves nothing open then."""
        with ExitStack() as parts:
            with _binding():
                listener = parts.enter_context(_listen(settings.host, settings.port))
            if forwarder:
                forwarder.start()
                parts.callback(forwarder.stop, receiving.stop_grace_s)  # after the last commit
            store = opened(settings.db)
            parts.callback(store.close)
            books = Books(store)
            parts.callback(books.close)
            policy = Policy(settings.retention_days, settings.retention_bytes, settings.aggregate_days)
            retention = Retention(store, policy, books.accounted)
            parts.callback(retention.stop)
            receiver = Receiver(store, receiving, entrance, forward=forwarder.offer if forwarder else None)
            with _binding():
                bound = receiver.start()
            forwarded = forwarder.counts if forwarder else dict
            monitor = Monitor(store, books, receiver.counts, receiver.redactions, forwarded, lambda: receiver.trouble)
            queries = store.queries() if settings.sql else None
            if queries is not None:
                parts.callback(queries.close)
            app = guarded(application(books, monitor, queries), entrance, open_metrics=settings.open_metrics)
            api = ApiThread(app, listener, entrance, drain_seconds=settings.drain_seconds)
            parts.callback(api.stop)
            parts.callback(receiver.stop)  # last in, first out: no new spans while the rest drains
            addresses = Addresses(
                _url(listener, settings.host, entrance.scheme), bound.http, bound.grpc, str(settings.db)
            )
            if forwarder:
                forwarder.refuse_own([addresses.api, addresses.otlp_http, addresses.otlp_grpc])
            books.start()
            retention.start()
            api.start()
            return cls(addresses, monitor, api, parts.pop_all())

    def wait(self, stop: threading.Event) -> None:
        """Until told to stop, or until the API dies, which it must not do alone."""
        while not stop.wait(_POLL_S) and self._api.alive:
            pass

    def stop(self) -> None:
        """Refuse new spans, answer what is open, commit what is queued, close the file."""
        self._monitor.draining.set()
        self._parts.close()


class ApiThread:
    """uvicorn beside the main thread, which is left to the signals."""

    def __init__(self, app: Guard, listener: socket.socket, entrance: Entrance, *, drain_seconds: float) -> None:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=max(1, round(drain_seconds)),
            ssl_context_factory=context_factory(entrance),
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), name="spanwise-api", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether it still serves."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to serve; connections made before are waiting in the listener's backlog."""
        self._thread.start()

    def stop(self) -> None:
        """Answer open requests and end; idempotent."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()


@contextmanager
def _binding() -> Iterator[None]:
    """Say what a taken port means and what to do; gRPC does not tell why it cannot bind."""
    try:
        yield
    except OSError as error:
        if error.errno not in (None, errno.EADDRINUSE):
            raise
        raise OSError(f"{error.strerror or error}; {_TAKEN}") from error


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {host} port {port}: {error.strerror or error}") from error


def _url(listener: socket.socket, host: str, scheme: str) -> str:
    port = listener.getsockname()[1]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
