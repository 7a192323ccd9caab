"""Everything that can trace the errand here does, and what it emitted is kept."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest
from tests.matrix.emitted.conftest import Record
from tests.matrix.emitted.ways import WAYS

ROUNDS = 6
DONE = {"completions": ROUNDS, "embeddings": 1, "tools/call": 2, "tools/list": 2, "local": 2}


@pytest.mark.parametrize("name", WAYS)
def test_the_errand_is_run_and_emits_spans(name: str, record: Record, request: pytest.FixtureRequest) -> None:
    about = record(name)
    truth = Counter(entry["what"] for entry in json.loads(about.read_text())["truth"])
    assert {what: truth[what] for what in DONE} == DONE
    lines = gzip.decompress(about.with_suffix(".jsonl.gz").read_bytes()).decode().splitlines()
    spans = [
        span["name"]
        for line in lines
        for part in json.loads(line)["resourceSpans"]
        for scope in part["scopeSpans"]
        for span in scope["spans"]
    ]
    request.node.user_properties.append(("spans", len(spans)))
    assert spans
