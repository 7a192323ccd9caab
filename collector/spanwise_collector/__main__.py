"""The receiver and its database alone: ``python -m spanwise_collector --db FILE``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from dataclasses import asdict

from spanwise_collector.ending import on_signal
from spanwise_collector.receiver import Entrance, Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import DatabaseInUse, NewerSchema, Store


def main() -> int:
    """Serve until SIGINT or SIGTERM, then drain; prints the bound addresses as one line of JSON."""
    parser = argparse.ArgumentParser(prog="spanwise_collector", description=__doc__)
    parser.add_argument("--db", required=True, help="database file; created if it does not exist")
    parser.add_argument("--host")
    parser.add_argument("--grpc-port", type=int)
    parser.add_argument("--http-port", type=int)
    options = parser.parse_args()
    ports = {"otlp_grpc_port": options.grpc_port, "otlp_http_port": options.http_port}
    try:
        settings = ReceiverSettings.from_environ(os.environ, host=options.host, **ports)
        entrance = Entrance.of(settings)
    except ValueError as error:
        parser.error(str(error))
    if entrance.warning:
        print(f"WARNING: {entrance.warning}", file=sys.stderr)  # noqa: T201  # as below
    try:
        _serve(Store.open(options.db), settings, entrance)
    except (DatabaseInUse, NewerSchema, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201  # a command line
        return 1
    return 0


def _serve(store: Store, settings: ReceiverSettings, entrance: Entrance) -> None:
    stopped = threading.Event()
    on_signal(stopped.set)
    receiver = Receiver(store, settings, entrance)
    try:
        print(json.dumps(asdict(receiver.start())), flush=True)  # noqa: T201
        stopped.wait()
        receiver.stop()
    finally:
        store.close()


if __name__ == "__main__":
    sys.exit(main())
