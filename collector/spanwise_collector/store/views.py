"""The views and macros that SQL from outside may name; they live on one cursor only (views.sql, docs/sql.md)."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

import duckdb

_SCRIPT: Final = (files("spanwise_collector.store") / "views.sql").read_text(encoding="utf-8")

VIEWS: Final = frozenset(re.findall(r"^CREATE TEMP VIEW (\w+)", _SCRIPT, re.MULTILINE))
MACROS: Final = frozenset(re.findall(r"^CREATE TEMP MACRO (\w+)", _SCRIPT, re.MULTILINE))


def define(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the views and macros known to this cursor, and to no other."""
    (name,) = cursor.execute("SELECT current_database()").fetchall()[0]
    file = '"{}".main'.format(name.replace('"', '""'))
    cursor.execute(_SCRIPT.replace("{file}", file))
