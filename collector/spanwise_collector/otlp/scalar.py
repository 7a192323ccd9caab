"""Reads single JSON values by the rules of OTLP/JSON; each reader takes the value and where it stands."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from spanwise_collector.otlp.decode import Malformed

Read: TypeAlias = Callable[[Any, str], Any]

_KINDS: Final = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_CODES: Final = {"OK": 1, "ERROR": 2}
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class BadSpan(ValueError):
    """A value makes its span unusable, though the document is sound."""


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise Malformed(f"expected an object, found {_kind(value)}", where)
    return value


def items(value: Any, where: str) -> list[Any]:
    """A JSON array."""
    if not isinstance(value, list):
        raise Malformed(f"expected a list, found {_kind(value)}", where)
    return value


def text(value: Any, where: str) -> str:
    """A string; halves of a surrogate pair, which UTF-8 cannot carry, become U+FFFD."""
    if not isinstance(value, str):
        raise Malformed(f"expected a string, found {_kind(value)}", where)
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def flag(value: Any, where: str) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise Malformed(f"expected true or false, found {_kind(value)}", where)
    return value


def integer(low: int, high: int) -> Read:
    """A whole number in the range, as number or as digits."""

    def read(value: Any, where: str) -> int:
        number = _whole(value, where)
        if not low <= number <= high:
            raise BadSpan(f"{where}: {number} is not within {low}..{high}")
        return number

    return read


INT64: Final = integer(-(2**63), 2**63 - 1)
UINT64: Final = integer(0, 2**64 - 1)
UINT32: Final = integer(0, 2**32 - 1)


def double(value: Any, where: str) -> float:
    """A number, also as text, NaN and the infinities included."""
    if isinstance(value, str):
        value = _SPECIAL.get(value, value)
    try:
        return float(_not_flag(value))
    except (ValueError, TypeError, OverflowError) as error:
        raise Malformed(f"{value!r:.64} is not a number", where) from error


def hex_id(nbytes: int) -> Read:
    """An id in hex digits of any case; an empty one stays empty."""

    def read(value: Any, where: str) -> bytes:
        digits = text(value, where)
        try:
            found = bytes.fromhex(digits)
        except ValueError:
            found = b"?"
        if digits and (len(found) != nbytes or len(digits) != 2 * nbytes):
            raise BadSpan(f"{where}: expected {2 * nbytes} hex digits, found {digits[:64]!r}")
        return found

    return read


def base64_bytes(value: Any, where: str) -> bytes:
    """Bytes in base64, either alphabet, padded or not."""
    digits = text(value, where).translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except ValueError as error:
        raise Malformed("not base64", where) from error


def kind(value: Any, where: str) -> int:
    """A span kind; the names, which the mapping forbids and some senders use, are understood."""
    return _enum(value, where, "SPAN_KIND_", _KINDS)


def status_code(value: Any, where: str) -> int:
    """A status code, read like a kind."""
    return _enum(value, where, "STATUS_CODE_", _CODES)


def _enum(value: Any, where: str, prefix: str, names: Mapping[str, int]) -> int:
    if isinstance(value, str) and not value.isdecimal():
        return names.get(value.removeprefix(prefix), 0)
    number: int = integer(-(2**31), 2**31 - 1)(value, where)
    return number


def _whole(value: Any, where: str) -> int:
    if isinstance(value, int | str) or (isinstance(value, float) and value.is_integer()):
        try:
            return int(_not_flag(value))
        except (ValueError, TypeError):
            pass
    raise Malformed(f"{value!r:.64} is not a whole number", where)


def _not_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError("a boolean is not a number")
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
