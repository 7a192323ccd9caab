"""The database: the only package that knows DuckDB."""

from spanwise_collector.otlp.decode import Malformed
from spanwise_collector.store.accepted import Accepted, DatabaseInUse, Overloaded
from spanwise_collector.store.ledgers import (
    DIMENSIONS,
    AttributionRow,
    Dimension,
    LedgerFilter,
    LedgerPage,
    LedgerRow,
    LedgerSummary,
    SegmentRow,
    Sort,
    StoredLedger,
)
from spanwise_collector.store.queue import Limits, Load
from spanwise_collector.store.reader import Reader
from spanwise_collector.store.retention import Policy, Retention
from spanwise_collector.store.store import Store

__all__ = [
    "DIMENSIONS",
    "Accepted",
    "AttributionRow",
    "DatabaseInUse",
    "Dimension",
    "LedgerFilter",
    "LedgerPage",
    "LedgerRow",
    "LedgerSummary",
    "Limits",
    "Load",
    "Malformed",
    "Overloaded",
    "Policy",
    "Reader",
    "Retention",
    "SegmentRow",
    "Sort",
    "Store",
    "StoredLedger",
]
