"""``spanwise serve``: one process with receiver, store, analyzer, API and page."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Never

from spanwise_analyzer.server import Addresses, Server
from spanwise_analyzer.settings import ServeSettings, forward_headers, variable
from spanwise_collector.ending import on_signal
from spanwise_collector.forwarding import Forwarder, target
from spanwise_collector.receiver import Entrance
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import DatabaseInUse

_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; 0 after a clean end, 1 when it cannot start, 2 for a usage error."""
    try:
        defaults = ServeSettings.from_environ(os.environ)
        asked = _parser(defaults).parse_args(arguments)
        settings = _settings(defaults, asked)
        receiving = _receiving(settings)
        entrance = Entrance.of(receiving)
        forwarder = _forwarder(settings)
    except ValueError as error:
        return _failed(str(error), _USAGE)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    if entrance.warning:
        _complain(f"WARNING: {entrance.warning}")
    return _serve(lambda: Server.start(settings, receiving, entrance, forwarder), as_json=asked.json)


def _parser(settings: ServeSettings) -> ArgumentParser:
    parser = ArgumentParser("spanwise serve", description="Receive spans, explain conversations, answer over HTTP.")
    for item in fields(settings):
        default = getattr(settings, item.name)
        kind = type(ServeSettings.__dataclass_fields__[item.name].default)
        parser.add_argument(
            f"--{item.name.replace('_', '-')}",
            help=f"{item.metadata['help']} (default {default or 'none'}; {variable(item.name)})",
            **_how(kind, default),
        )
    parser.add_argument("--json", action="store_true", help="print the bound addresses as one line of JSON")
    return parser


def _settings(settings: ServeSettings, asked: Namespace) -> ServeSettings:
    given = {item.name: getattr(asked, item.name) for item in fields(settings)}
    return replace(settings, **given | {"forward": tuple(asked.forward or settings.forward)})


def _receiving(settings: ServeSettings) -> ReceiverSettings:
    shared = {item.name for item in fields(settings)} & {item.name for item in fields(ReceiverSettings)}
    return ReceiverSettings.from_environ(os.environ, **{name: getattr(settings, name) for name in shared})


def _how(kind: type, default: object) -> dict[str, Any]:
    if kind is tuple:
        return {"action": "append", "default": None}
    return {"action": BooleanOptionalAction, "default": default} if kind is bool else {"type": kind, "default": default}


def _forwarder(settings: ServeSettings) -> Forwarder | None:
    targets = [target(url) for url in settings.forward]
    return Forwarder(targets, forward_headers(os.environ)) if targets else None


def _serve(start: Callable[[], Server], *, as_json: bool) -> int:
    stop = threading.Event()
    on_signal(stop.set)
    try:
        _run(start(), stop, as_json=as_json)
    except (DatabaseInUse, OSError) as error:
        return _failed(str(error), 1)
    return _leave(0)


def _run(server: Server, stop: threading.Event, *, as_json: bool) -> None:
    try:
        _announce(server.addresses, as_json=as_json)
        server.wait(stop)
    finally:
        server.stop()


def _leave(code: int) -> Never:
    """End the process at once: everything is answered, committed and closed.

    The interpreter's own end would tear daemon threads of gRPC and anyio out of C++ code, which aborts the process
    (seen under load: 5 of 60 ends).
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _announce(addresses: Addresses, *, as_json: bool) -> None:
    lines = (
        [json.dumps(addresses.document())]
        if as_json
        else [
            f"page and API   {addresses.api}",
            f"OTLP/HTTP      {addresses.otlp_http}",
            f"OTLP/gRPC      {addresses.otlp_grpc}",
            f"database       {addresses.db}",
        ]
    )
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _complain(message: str) -> None:
    sys.stderr.write(f"spanwise serve: {' '.join(message.split())}\n")


def _failed(message: str, code: int) -> int:
    _complain(message)
    return code


if __name__ == "__main__":
    sys.exit(main())
