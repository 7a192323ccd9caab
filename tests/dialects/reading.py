"""One errand, recorded as each instrumentor emits it, and what the ledger makes of it beside what really happened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_analyzer.calls import ModelCalls
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.role import Role
from spanwise_collector.interchange.destination import IntoStore
from spanwise_collector.interchange.importing import imported
from spanwise_collector.store import Store

RECORDED = Path(__file__).parent / "recorded"
MODEL = (Stage.MODEL_CALL, Stage.MODEL_FIRST_TOKEN, Stage.MODEL_GENERATE)
SERVERS = (Stage.MCP_SERVER, Stage.MCP_OPAQUE, Stage.MCP_TRANSPORT, Stage.TOOL_DOWNSTREAM)


@dataclass(frozen=True, slots=True)
class Seen:
    """Of one recording: versions, what the servers noted (s, by kind of request), and the ledgers."""

    name: str
    versions: Mapping[str, str]
    truth_s: Mapping[str, float]
    truth_tokens: int
    spans: int
    ledgers: tuple[Ledger, ...]

    def seconds(self, *stages: Stage) -> float:
        """Time in these stages, in all conversations."""
        return sum(ledger.stage_ns(*stages) for ledger in self.ledgers) / 1e9

    @property
    def calls(self) -> int:
        """Model calls, each counted once."""
        return sum(len(ModelCalls(ledger.tree).counted()) for ledger in self.ledgers)

    @property
    def input_tokens(self) -> int:
        """Of all model calls; 0 where none reports any."""
        return sum(ledger.tokens.input or 0 for ledger in self.ledgers)

    def requests(self, role: Role) -> int:
        """Spans of this role."""
        return sum(node.role is role for ledger in self.ledgers for node in ledger.tree.blocking())


def names() -> list[str]:
    """All recordings: an instrumentor, or two with a plus between them."""
    return sorted(file.name.removesuffix(".jsonl.gz") for file in RECORDED.glob("*.jsonl.gz"))


@cache
def seen(name: str) -> Seen:
    """Import one recording and account for its conversations."""
    about = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    truth: Counter[str] = Counter()
    for entry in about["truth"]:
        truth[entry["what"]] += entry["end_ns"] - entry["start_ns"]
    with TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "spans.db")
        try:
            report = imported(str(RECORDED / f"{name}.jsonl.gz"), IntoStore(store), lambda *_: None)
            reader = store.reader()
            ids = reader.changed(0, reader.seq())
            ledgers = tuple(account(each, reader.spans(each)) for each in ids)
        finally:
            store.close()
    tokens = sum(entry["input"] for entry in about["truth"] if entry["what"] == "completions")
    return Seen(name, about["versions"], _in_seconds(truth.items()), tokens, report.spans, ledgers)


def _in_seconds(found: Iterable[tuple[str, int]]) -> dict[str, float]:
    return {what: ns / 1e9 for what, ns in found}
