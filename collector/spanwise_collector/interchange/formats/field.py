"""Reads single fields of JSON documents that are no OTLP; what is wrong is Malformed and names the field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from spanwise_collector.interchange.formats.source import SourceSpan
from spanwise_collector.interchange.piece import Fault
from spanwise_collector.otlp.decode import Malformed

Row: TypeAlias = Mapping[str, Any]

_LATEST: Final = 2**64 - 1
_PAIR: Final = 2
_DIGITS: Final = 20  # of the latest point in time
# A number of today counts what it must count to be of today: from seconds to nanoseconds.
_UNITS: Final = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
_MOMENT: Final = re.compile(
    r"(?P<second>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](?P<part>\d+))? ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?"
)
_KINDS: Final = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_CODES: Final = {"ok": 1, "error": 2}


def each(rows: Any, where: str, read: Callable[[Row], SourceSpan]) -> Iterator[SourceSpan | Fault]:
    """Every row as a span, or what is wrong with it: one that cannot be read does not take the others with it."""
    if not isinstance(rows, list):
        raise Malformed("expected a list of spans", where)
    for index, row in enumerate(rows):
        place = f"{where}[{index}]"
        try:
            yield read(mapping(row, ""))
        except Malformed as error:
            yield Fault(f"{place}.{error.field}" if error.field else place, error.reason, 1)


def mapping(value: Any, where: str) -> Row:
    """A JSON object; nothing is an empty one, and text may hold one."""
    if isinstance(value, str) and value.startswith("{"):
        value = parsed(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Malformed(f"expected an object, found {value!r:.60}", where)
    return value


def entries(value: Any, where: str) -> list[Any]:
    """A JSON list; nothing is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"expected a list, found {value!r:.60}", where)
    return value


def text(row: Row, *names: str) -> str:
    """The first of these fields that is there, as text; empty if none is."""
    value = first(row, *names)
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int | float):
        return str(value)
    raise Malformed(f"expected text, found {value!r:.60}", names[0])


def needed(row: Row, *names: str) -> str:
    """As ``text``, but it must be there."""
    found = text(row, *names)
    if not found:
        raise Malformed("is missing", names[0])
    return found


def first(row: Row, *names: str) -> Any:
    """The first of these fields that is there and not null."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def moment(row: Row, *names: str) -> int:
    """A point in time in ns: a number in the unit in which it is of our time, [seconds, ns], or ISO 8601."""
    value = first(row, *names)
    if value is None:
        raise Malformed("is missing", names[0])
    return instant(value, names[0])


def instant(value: Any, where: str) -> int:
    """As ``moment``."""
    found = _instant(value)
    if found is None or not 0 <= found <= _LATEST:
        raise Malformed(f"{value!r:.60} is no point in time", where)
    return found


def count(row: Row, name: str, *, unit_ns: int = 1) -> int:
    """A number of units, in ns; it may be written as text."""
    value = row.get(name)
    try:
        found = round(float(value) * unit_ns) if isinstance(value, float) else int(value) * unit_ns  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = -1
    if isinstance(value, bool) or not 0 <= found <= _LATEST:
        raise Malformed(f"{value!r:.60} is no number of time units", name)
    return found


def kind(value: Any) -> int:
    """A span kind by its number or by its name in any spelling; 0 if it is none."""
    if type(value) is int and value in _KINDS.values():
        return int(value)
    return _named(value, _KINDS)


def code(value: Any) -> int:
    """A status code, likewise."""
    known = type(value) is int and value in _CODES.values()
    return int(value) if known else _named(value, _CODES)


def parsed(content: str) -> Any:
    """A JSON value inside of text; the text itself where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content


def others(row: Row, *known: str) -> dict[str, Any]:
    """What else a row holds, to be kept under its own name."""
    return {key: value for key, value in row.items() if key not in known and value not in (None, "", [], {})}


def _named(value: Any, numbers: Mapping[str, int]) -> int:
    return numbers.get(re.split(r"[._]", value.lower())[-1], 0) if isinstance(value, str) else 0


def _instant(value: Any) -> int | None:
    if isinstance(value, list) and len(value) == _PAIR and all(type(part) is int for part in value):
        return int(value[0] * 10**9 + value[1])
    if isinstance(value, str):
        return int(value) * _unit(int(value)) if value.isdecimal() and len(value) <= _DIGITS else _written(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LATEST:
        return round(value * _unit(value)) if isinstance(value, float) else value * _unit(value)
    return None


def _unit(number: float) -> int:
    return next((unit for bound, unit in _UNITS if number < bound), 1)


def _written(value: str) -> int | None:
    match = _MOMENT.fullmatch(value.strip())
    if not match:
        return None
    zone = {None: "+00:00", "Z": "+00:00", "UTC": "+00:00"}.get(match["zone"], match["zone"])
    try:
        second = datetime.fromisoformat(match["second"] + zone)
    except ValueError:
        return None
    return int(second.timestamp()) * 10**9 + int(f"{match['part'] or '0':0<9.9}")
