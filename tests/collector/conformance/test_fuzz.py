"""Anything may arrive: nothing may crash a decoder or the server, be an error of the server, or stay in memory."""

from __future__ import annotations

import http.client
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import grpc
import hypothesis
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.collector.conformance import mutation
from tests.collector.conformance.peer import JSON, PROTOBUF
from tests.collector.otlp.requests import EXTENDED, ours, rows
from tests.collector.otlpjson import document

from spanwise_collector.otlp.columns import flatten
from spanwise_collector.otlp.decode import Malformed, Parcel, decode
from spanwise_collector.otlp.document import decode_document
from spanwise_collector.otlp.hot import hot
from spanwise_collector.otlp.limits import SpanLimits

SECONDS: Final = int(os.environ.get("SPANWISE_FUZZ_SECONDS", "180"))
"""For everything in this module together."""

Decode = Callable[[bytes, SpanLimits], Parcel]
_SHORT: Final = 1
_HALF: Final = 0.5
_KEPT_MIB: Final = 100  # what the second half of the time may add; caches fill in the first
_MEGABYTE: Final = 2**20
_LIMITS: Final = (
    SpanLimits(),
    SpanLimits(attributes=2, events=1, links=1, value_bytes=7, value_depth=1),
)
_FINE: Final = {200, 400, 503}
_CODES: Final = {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAVAILABLE}


def resident(pid: int | str = "self") -> int:
    """Bytes in memory; 0 where the system does not tell."""
    statm = Path(f"/proc/{pid}/statm")
    return int(statm.read_text(encoding="ascii").split()[1]) * resource.getpagesize() if statm.exists() else 0


def read_whole(body: bytes, read: Decode, limits: SpanLimits) -> str:
    """Decode and look at every value; what became of it, in a few words."""
    kind = "protobuf" if read is decode else "JSON"
    try:
        parcel = read(body, limits)
    except Malformed:
        return f"{kind} malformed"
    flat = flatten([parcel])
    found = rows(flat)
    for row in found:
        ours(row)
    hot(flat.columns["attributes"], flat.columns["name"], pa.array([""] * len(found), pa.string()))
    assert parcel.spans == len(found)
    return f"{kind} {'cut' if parcel.cuts else 'rejected' if parcel.rejected else 'whole'}"


def mutated(seconds: float) -> Counter[str]:
    """Real requests with damage, for as long, and the memory that the second half kept."""
    chance = random.Random(int(seconds))  # noqa: S311  # reproducible, not secret
    originals: dict[Decode, list[bytes]] = {decode: mutation.requests(20), decode_document: mutation.documents(20)}
    counts: Counter[str] = Counter()
    until, half, before = time.monotonic() + seconds, time.monotonic() + seconds / 2, 0
    while time.monotonic() < until:
        if not before and time.monotonic() > half:
            before = resident()
        read: Decode = chance.choice([decode, decode_document])
        change = mutation.odd if read is decode_document and chance.random() < _HALF else mutation.damaged
        counts[read_whole(change(chance.choice(originals[read]), chance), read, chance.choice(_LIMITS))] += 1
    counts["MiB kept"] = (resident() - before) // _MEGABYTE
    return counts


def generated(seconds: float) -> Counter[str]:
    """Requests of every shape, with a few bytes overwritten, for as long."""
    counts: Counter[str] = Counter()

    @settings(
        max_examples=200,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # shrinking may take longer than all the rest
        suppress_health_check=list(HealthCheck),
    )
    @given(EXTENDED, st.booleans(), st.integers(0, 2**16), st.binary(max_size=4), st.sampled_from(_LIMITS))
    def one(
        request: ExportTraceServiceRequest,
        as_json: bool,  # noqa: FBT001
        at: int,
        damage: bytes,
        limits: SpanLimits,
    ) -> None:
        body = bytearray(json.dumps(document(request)).encode() if as_json else request.SerializeToString())
        place = at % (len(body) + 1)
        body[place : place + len(damage)] = damage
        counts[read_whole(bytes(body), decode_document if as_json else decode, limits)] += 1

    until, half, before, seed = time.monotonic() + seconds, time.monotonic() + seconds / 2, 0, 0
    while time.monotonic() < until:
        if not before and time.monotonic() > half:
            before = resident()
        hypothesis.seed(seed)(one)()
        seed += 1
    counts["MiB kept"] = (resident() - before) // _MEGABYTE if before else 0
    return counts


class Target:
    """A server, and one connection of each transport to it."""

    def __init__(self, database: Path) -> None:
        ports = ["--port", "0", "--otlp-grpc-port", "0", "--otlp-http-port", "0"]
        command = [sys.executable, "-m", "spanwise_analyzer.serve", "--json", "--db", str(database), *ports]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self._addresses = json.loads(self.process.stdout.readline())
        self._http = http.client.HTTPConnection(self._addresses["otlp_http"].removeprefix("http://"), timeout=30)
        self._channel = grpc.insecure_channel(self._addresses["otlp_grpc"])
        self._export = self._channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")

    def post(self, body: bytes, media_type: str) -> str:
        """Send over HTTP; the status must be one that a sender understands."""
        self._http.request("POST", "/v1/traces", body, {"Content-Type": media_type})
        answer = self._http.getresponse()
        said = answer.read()
        assert answer.status in _FINE, (answer.status, said, body)
        return f"{media_type} {answer.status}"

    def call(self, body: bytes) -> str:
        """Send over gRPC, the same."""
        call = self._export.future(body, timeout=30)
        assert call.code() in _CODES, (call.details(), body)
        return f"grpc {call.code().name}"

    def get(self, path: str) -> Any:
        """Ask the API, which must not fail whatever was sent."""
        connection = http.client.HTTPConnection(self._addresses["api"].removeprefix("http://"), timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        assert answer.status < http.client.INTERNAL_SERVER_ERROR, (path, said)
        return said

    def end(self) -> int:
        """Close all; the exit code."""
        self._http.close()
        self._channel.close()
        self.process.terminate()
        self.process.communicate(timeout=60)
        return self.process.returncode


def bombarded(target: Target, seconds: float) -> Counter[str]:
    """Damaged requests over every transport, for as long, and the memory that the second half kept."""
    chance = random.Random(int(seconds))  # noqa: S311  # reproducible, not secret
    protobuf, documents = mutation.requests(20), mutation.documents(20)
    counts: Counter[str] = Counter()
    until, half, before = time.monotonic() + seconds, time.monotonic() + seconds / 2, 0
    while time.monotonic() < until:
        if not before and time.monotonic() > half:
            before = resident(target.process.pid)
        counts[target.post(mutation.damaged(chance.choice(protobuf), chance), PROTOBUF)] += 1
        change = chance.choice([mutation.damaged, mutation.odd])
        counts[target.post(change(chance.choice(documents), chance), JSON)] += 1
        counts[target.call(mutation.damaged(chance.choice(protobuf), chance))] += 1
    counts["MiB kept"] = (resident(target.process.pid) - before) // _MEGABYTE
    return counts


def look_around(target: Target) -> None:
    """What came of it can be asked for."""
    listed = json.loads(target.get("/api/v1/conversations?limit=50"))["conversations"]
    assert listed
    for each in listed:
        target.get(f"/api/v1/conversations/{quote(each['conversation_id'], safe='')}")
    for path in ("/api/v1/attribution?group_by=stage", "/api/v1/recommendations", "/metrics", "/"):
        target.get(path)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    target = Target(tmp_path / "spans.db")
    yield target
    assert 0 == target.end()


def report(counts: Counter[str], record: Callable[[str, object], None]) -> None:
    """Into the report of the test run, and to whoever watches."""
    for name, number in counts.items():
        record(name, number)
    sys.stdout.write(f"{dict(counts)}\n")


def test_damaged_requests_crash_no_decoder() -> None:
    assert {"protobuf malformed", "protobuf whole", "JSON malformed", "JSON whole"} <= set(mutated(_SHORT))


def test_damaged_requests_are_no_error_of_the_server(target: Target) -> None:
    counts = bombarded(target, _SHORT)
    assert {f"{PROTOBUF} 400", f"{JSON} 400", "grpc INVALID_ARGUMENT", "grpc OK"} <= set(counts)
    look_around(target)


@pytest.mark.soak
@pytest.mark.parametrize("decoders", [mutated, generated])
def test_long_fuzzing_of_the_decoders_keeps_no_memory(
    decoders: Callable[[float], Counter[str]], record_property: Callable[[str, object], None]
) -> None:
    counts = decoders(SECONDS / 3)
    report(counts, record_property)
    assert counts["MiB kept"] < _KEPT_MIB


@pytest.mark.soak
def test_long_fuzzing_of_the_server_keeps_no_memory(
    target: Target, record_property: Callable[[str, object], None]
) -> None:
    counts = bombarded(target, SECONDS / 3)
    look_around(target)
    report(counts, record_property)
    assert counts["MiB kept"] < _KEPT_MIB
