"""Which SQL from outside may run: one SELECT over the documented views, with functions that only compute.

Whatever is not listed is refused, so nothing that a newer engine brings is allowed by mistake. The engine's own parser
takes the statement apart; its statement type alone would not do, since ``WITH a AS (DELETE …)`` is a SELECT for it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

import duckdb

from spanwise_collector.store.views import MACROS, VIEWS

_FILE: Final = files("spanwise_collector.store") / "permitted.toml"
_LISTED: Final = {name: frozenset(words.split()) for name, words in tomllib.loads(_FILE.read_text("utf-8")).items()}
_TYPES: Final = _LISTED["queries"] | _LISTED["sources"] | _LISTED["modifiers"] | _LISTED["orders"]
FUNCTIONS: Final = MACROS | _LISTED["functions"]
# Planning cannot be interrupted and takes its time for statements that nobody writes by hand.
_DEEPEST: Final = 300  # levels of the parsed statement; a subquery or an operator takes about four
_MOST_SOURCES: Final = 50
_TOO_DEEP: Final = "the statement is nested too deeply"

_CASTS: Final = frozenset(
    [
        "bigint",
        "blob",
        "bool",
        "boolean",
        "bytea",
        "char",
        "date",
        "decimal",
        "double",
        "float",
        "float4",
        "float8",
        "hugeint",
        "int",
        "int1",
        "int2",
        "int4",
        "int8",
        "integer",
        "interval",
        "json",
        "list",
        "logical",
        "long",
        "map",
        "numeric",
        "real",
        "short",
        "smallint",
        "string",
        "struct",
        "text",
        "time",
        "timestamp",
        "timestamp_ms",
        "timestamp_ns",
        "timestamp_s",
        "timestamptz",
        "tinyint",
        "ubigint",
        "uhugeint",
        "uinteger",
        "usmallint",
        "utinyint",
        "uuid",
        "varchar",
    ]
)


class Refused(ValueError):
    """This SQL may not run, or cannot; ``position`` is the character of the text that is at fault, if it is known."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


def permit(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise Refused unless ``sql`` is one statement that may run."""
    (text,) = cursor.execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchall()[0]
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise Refused(_TOO_DEEP) from error
    if document["error"]:
        raise _unreadable(document, sql)
    if len(document["statements"]) != 1:
        raise Refused(f"one statement is expected, not {len(document['statements'])}")
    _Inspection(sql).check(document["statements"][0]["node"], VIEWS)


def place(sql: str, position: int) -> str:
    """Line and column of a character, both from 1."""
    before = sql[:position]
    return f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))}"


class _Inspection:
    """Looks at every part of one parsed statement."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._sources = 0

    def check(self, node: Any, known: frozenset[str], depth: int = 0) -> None:
        """Refuse a part that is not listed; ``known`` are the names that may stand for a table here."""
        if depth > _DEEPEST:
            raise Refused(_TOO_DEEP)
        if isinstance(node, list):
            for item in node:
                self.check(item, known, depth + 1)
        elif isinstance(node, dict):
            self._check_one(node, known, depth)

    def _check_one(self, node: Mapping[str, Any], known: frozenset[str], depth: int) -> None:
        if "cte_map" in node:
            known = self._with(node, known, depth)
        self._sources += node.get("type") in _LISTED["sources"]
        faults = filter(None, (*_faults(node, known), "too many tables" if self._sources > _MOST_SOURCES else None))
        for fault in faults:
            raise Refused(fault, _character(self._sql, node.get("query_location")))
        for inner in _parts(node):
            self.check(inner, known, depth + 1)

    def _with(self, node: Mapping[str, Any], known: frozenset[str], depth: int) -> frozenset[str]:
        """The names that are known behind WITH; a query sees its own name only if it is recursive."""
        for entry in node["cte_map"]["map"]:
            name, query = entry["key"].lower(), entry["value"]
            recursive = query["query_node"]["type"] == "RECURSIVE_CTE_NODE"
            self.check(query, known | {name} if recursive else known, depth + 1)
            known |= {name}
        return known


def _unreadable(document: Mapping[str, Any], sql: str) -> Refused:
    if document["error_type"] == "not implemented":
        return Refused("only SELECT is allowed, with WITH or without; nothing else may run")
    position = document.get("position")
    return Refused(document["error_message"], _character(sql, None if position is None else int(position)))


def _character(sql: str, byte: int | None) -> int | None:
    """The engine counts bytes; a number beyond the text means that it does not know."""
    encoded = sql.encode()
    return len(encoded[:byte].decode(errors="ignore")) if byte is not None and byte <= len(encoded) else None


def _faults(node: Mapping[str, Any], known: frozenset[str]) -> Iterator[str | None]:
    kind, expression = node.get("type"), node.get("class")
    if expression is not None:
        yield None if expression in _LISTED["expressions"] else f"{expression.lower()} expressions are not allowed"
    elif isinstance(kind, str):
        yield None if kind in _TYPES else f"{kind.lower().replace('_', ' ')} is not allowed"
    if "type_name" in node:
        yield _strange("type", node, _LISTED["casts"])
    if "table_name" in node:
        yield _strange_table(node, known)
    if kind == "TABLE_FUNCTION":
        yield _strange("table function", node["function"], _LISTED["table_functions"])
    elif "function_name" in node:
        yield _strange("function", node, FUNCTIONS)


def _strange_table(node: Mapping[str, Any], known: frozenset[str]) -> str | None:
    path = node["qualified_name"]["path"]
    if len(path) == 1 and path[0].lower() in known and not node["at_clause"]:
        return None
    return f"there is no table {'.'.join(path)!r}; there are {', '.join(sorted(VIEWS))}"


def _strange(what: str, node: Mapping[str, Any], allowed: frozenset[str]) -> str | None:
    path = node["qualified_name"]["path"]
    if len(path) == 1 and path[0].lower() in allowed and not node.get("export_state"):
        return None
    return f"the {what} {'.'.join(path)} is not allowed"


def _parts(node: Mapping[str, Any]) -> Iterator[Any]:
    """What is below a node; a function that stands for a table was judged with its node."""
    for key, inner in node.items():
        if key != "cte_map":
            yield inner["arguments"] if key == "function" else inner
