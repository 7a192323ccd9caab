"""Public trace files, imported into a store of their own, and what the ledger says about them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.traces.table import File, Ledger

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_collector.interchange.destination import IntoStore
from spanwise_collector.interchange.importing import imported
from spanwise_collector.interchange.report import Report
from spanwise_collector.store import Choice, Reader, Store

TRACES = Path(os.environ.get("SPANWISE_TRACES", "no traces"))


@dataclass(frozen=True, slots=True)
class Found:
    """Of one file: what was read, and one ledger for each that is expected."""

    report: Report
    traces: int
    ledgers: tuple[Ledger, ...]


def found(file: File) -> Found:
    """Import the file and account for the conversations that are asked for."""
    with TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "spans.db")
        try:
            report = imported(str(TRACES / file.name), IntoStore(store), lambda *_: None)
            reader = store.reader()
            traces, named = _ids(reader)
            ledgers = tuple(_ledger(reader, each, named | traces) for each in file.ledgers)
            return Found(report, len(traces), ledgers)
        finally:
            store.close()


def _ids(reader: Reader) -> tuple[set[str], set[str]]:
    """Traces in hex, and what the spans call their conversations."""
    tables = list(reader.extract(Choice()).tables)
    traces = {raw.hex() for table in tables for raw in table["trace_id"].to_pylist()}
    spans = [span for trace in sorted(traces) for span in reader.trace(trace)]
    named = {span.text(semconv.GEN_AI_CONVERSATION_ID) for span in spans}
    return traces, {each for each in named if each}


def _ledger(reader: Reader, expected: Ledger, ids: set[str]) -> Ledger:
    """Of the largest conversation whose id begins as expected."""
    mine = [reader.spans(each) for each in sorted(ids) if each.startswith(expected.conversation)]
    spans = max(mine, key=len)
    ledger = account(next(each for each in sorted(ids) if reader.spans(each) == spans), spans)
    return Ledger(
        conversation=expected.conversation,
        window_s=(ledger.end_ns - ledger.start_ns) / 1e9,
        model_s=ledger.stage_ns(Stage.MODEL_CALL, Stage.MODEL_FIRST_TOKEN, Stage.MODEL_GENERATE) / 1e9,
        tool_s=ledger.stage_ns(Stage.TOOL_LOCAL) / 1e9,
        input_tokens=ledger.tokens.input,
    )


def agrees(expected: Ledger, actual: Ledger) -> bool:
    """To the last digit that the source gives, which is a millisecond or for short traces a microsecond."""
    tolerance = 6e-4 if expected.window_s > 1 else 6e-7
    if expected.window_s >= 12 and round(expected.window_s, 1) == expected.window_s:
        tolerance = 0.06
    pairs = [
        (expected.window_s, actual.window_s, tolerance),
        (expected.model_s, actual.model_s, 1e-3),
        (expected.tool_s, actual.tool_s, 1e-3),
        (expected.input_tokens, actual.input_tokens, 0),
    ]
    return all(want is None or (have is not None and abs(want - have) <= within) for want, have, within in pairs)
