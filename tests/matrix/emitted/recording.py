"""What a run emitted, as OTLP JSON lines without anything of the machine, beside what its servers really did."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.matrix.emitted import logbook
from tests.matrix.emitted.ways import Way

ROOT = Path(__file__).parents[3]
HOME = ROOT / ".matrix" / "recorded"
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})
# Resource attributes that tell of the machine or change with every run.
_MACHINE = re.compile(r"^(host|process|os|container|k8s)\.|^service\.(instance\.id|version)$")
_PATHS = re.compile(r"(?<![\w.:/])(/[\w.@+-]+)+/")


def keep(name: str, way: Way, requests: list[bytes], book: Path) -> Path:
    """Write ``name.jsonl.gz`` and ``name.json``; the latter's path."""
    HOME.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{_line(request)}\n" for request in requests)
    (HOME / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    about = {
        "versions": {distribution: version(distribution) for distribution in way.distributions},
        "servers": way.server,
        "truth": [asdict(entry) for entry in logbook.read(book)],
    }
    file = HOME / f"{name}.json"
    file.write_text(json.dumps(about) + "\n", encoding="utf-8")
    return file


def _line(request: bytes) -> str:
    found = MessageToDict(ExportTraceServiceRequest.FromString(request), use_integers_for_enums=True)
    for part in found.get("resourceSpans", ()):
        resource = part.get("resource", {})
        resource["attributes"] = [pair for pair in resource.get("attributes", ()) if not _MACHINE.match(pair["key"])]
    return json.dumps(_clean(found), ensure_ascii=False)


def _clean(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: base64.b64decode(value).hex() if key in _IDS else _clean(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_clean(item) for item in found]
    return _PATHS.sub("", found) if isinstance(found, str) else found
