"""Receivers behind tokens and TLS, and certificates made for the test."""

from __future__ import annotations

import http.client
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from spanwise_collector.receiver import Bound, Entrance, Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Store

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


@dataclass(frozen=True)
class Door:
    """A running receiver."""

    receiver: Receiver
    bound: Bound
    entrance: Entrance


class Reply(NamedTuple):
    """What came back, header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Open: TypeAlias = Callable[..., Door]


@pytest.fixture
def door(store: Store) -> Iterator[Open]:
    """Start a receiver with these settings."""
    started: list[Receiver] = []

    def begin(**settings: Any) -> Door:
        chosen = ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0, **settings)
        entrance = Entrance.of(chosen)
        receiver = Receiver(store, chosen, entrance)
        bound = receiver.start()
        started.append(receiver)
        return Door(receiver, bound, entrance)

    yield begin
    for receiver in started:
        receiver.stop()


@pytest.fixture
def post() -> Callable[..., Reply]:
    """Send one request with exactly these headers besides length and, if not given, Host."""

    def send(url: str, body: bytes = b"", **headers: str) -> Reply:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf", **named})
        answer = connection.getresponse()
        found = Reply(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())
        connection.close()
        return found

    return send


@dataclass(frozen=True)
class Authority:
    """Makes certificates that one CA signed."""

    openssl: str
    folder: Path

    @property
    def ca(self) -> Path:
        """The CA's own certificate."""
        return self.folder / "ca.pem"

    def certificate(self, name: str) -> tuple[str, str]:
        """A new certificate of 127.0.0.1 and its key."""
        files = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        names = (
            "-addext",
            "subjectAltName=IP:127.0.0.1,DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        )
        self._request(name, *files, "-CA", str(self.ca), "-CAkey", str(self.folder / "ca.key"), *names)
        return str(files[0]), str(files[1])

    def begin(self) -> None:
        """Make the CA."""
        self._request("ca", self.ca, self.folder / "ca.key")

    def _request(self, name: str, certificate: Path, key: Path, *more: str) -> None:
        out = ("-out", str(certificate), "-keyout", str(key))
        command = [self.openssl, "req", "-x509", *_KEY, "-subj", f"/CN={name}", *out, *more]
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="session")
def authority(program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Authority:
    found = Authority(program("openssl"), tmp_path_factory.mktemp("authority"))
    found.begin()
    return found
