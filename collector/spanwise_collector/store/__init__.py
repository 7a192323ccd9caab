"""The database: the only package that knows DuckDB."""

from spanwise_collector.otlp.decode import Malformed
from spanwise_collector.store.accepted import Accepted, Damaged, DatabaseInUse, Overloaded
from spanwise_collector.store.accounts import Account
from spanwise_collector.store.extract import Choice, Extract
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
from spanwise_collector.store.pace import BOUNDS_S
from spanwise_collector.store.permit import Refused, place
from spanwise_collector.store.query import Busy, Exhausted, Queries, QueryLimits, Rows, Scalar
from spanwise_collector.store.queue import Limits, Load
from spanwise_collector.store.reader import Reader
from spanwise_collector.store.retention import Policy, Retention
from spanwise_collector.store.schema import NewerSchema
from spanwise_collector.store.store import Store

__all__ = [
    "BOUNDS_S",
    "DIMENSIONS",
    "Accepted",
    "Account",
    "AttributionRow",
    "Busy",
    "Choice",
    "Damaged",
    "DatabaseInUse",
    "Dimension",
    "Exhausted",
    "Extract",
    "LedgerFilter",
    "LedgerPage",
    "LedgerRow",
    "LedgerSummary",
    "Limits",
    "Load",
    "Malformed",
    "NewerSchema",
    "Overloaded",
    "Policy",
    "Queries",
    "QueryLimits",
    "Reader",
    "Refused",
    "Retention",
    "Rows",
    "Scalar",
    "SegmentRow",
    "Sort",
    "Store",
    "StoredLedger",
    "place",
]
