"""Attribute lists as four columns: key, type, text and body, whatever the value's type.

``type`` is the number of AnyValue's member, 0 for no value. Scalars are in ``text`` (numbers in their shortest exact
form), arrays, maps and bytes in ``body``. One text for all scalars lets a filter find 3 whether it was sent as a number
or as a string, and four leaves are written about a third faster than one per type.

Two things have no text that tells them apart, so ``body`` does (encode.py reads both back): a NaN of other bits than
the usual one has its eight bytes there, little endian, and an attribute that came without any value, not even an
empty one, has no bytes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class ValueType(IntEnum):
    """Which member of AnyValue was set."""

    NULL = 0
    STRING = 1
    BOOL = 2
    INT = 3
    DOUBLE = 4
    ARRAY = 5
    MAP = 6
    BYTES = 7


_TEXTS: Final = (ValueType.DOUBLE, ValueType.INT, ValueType.BOOL, ValueType.STRING)
_BODIES: Final = (ValueType.BYTES, ValueType.MAP, ValueType.ARRAY)
_USUAL_NAN: Final = np.array(np.nan).view(np.uint64)
DOUBLE_BYTES: Final = 8


def typed(lists: pa.ListArray) -> pa.ListArray:
    """A list array of Pair (wire.py) as one of {key, type, text, body}."""
    pairs = lists.flatten()
    members = pairs.field("value").flatten()  # respects absent values
    columns = {
        "key": pairs.field("key"),
        "type": _types(members),
        "text": _first([pc.cast(members[kind - 1], pa.string()) for kind in _TEXTS if _any(members[kind - 1])], pairs),
        "body": _first(
            [
                *(members[kind - 1] for kind in _BODIES if _any(members[kind - 1])),
                *_odd_nans(members[ValueType.DOUBLE - 1]),
                *_absences(pairs.field("value")),
            ],
            pairs,
            pa.binary(),
        ),
    }
    return relist(lists, pa.StructArray.from_arrays(list(columns.values()), list(columns)))


def relist(lists: pa.ListArray, values: pa.Array) -> pa.ListArray:
    """The same lists over new values, one for each old one."""
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _odd_nans(doubles: pa.DoubleArray) -> list[pa.BinaryArray]:
    if not _any(doubles):
        return []
    bits = doubles.fill_null(0.0).to_numpy().view(np.uint64)
    odd = np.isnan(bits.view(np.float64)) & (bits != _USUAL_NAN)
    if not odd.any():
        return []
    found = pa.Array.from_buffers(pa.binary(DOUBLE_BYTES), len(bits), [None, pa.py_buffer(bits.astype("<u8"))])
    return [pc.if_else(pa.array(odd), pc.cast(found, pa.binary()), None)]


def _absences(values: pa.StructArray) -> list[pa.BinaryArray]:
    return [pc.if_else(pc.is_null(values), pa.scalar(b""), None)] if values.null_count else []


def _types(members: list[pa.Array]) -> pa.UInt8Array:
    types = np.zeros(len(members[0]), dtype=np.uint8)
    for number, member in enumerate(members, start=1):
        if _any(member):
            types[pc.is_valid(member).to_numpy(zero_copy_only=False)] = number
    return pa.array(types)


def _any(member: pa.Array) -> bool:
    return bool(member.null_count < len(member))


def _first(columns: list[pa.Array], like: pa.Array, kind: pa.DataType | None = None) -> pa.Array:
    if not columns:
        return pa.nulls(len(like), kind or pa.string())
    return columns[0] if len(columns) == 1 else pc.coalesce(*columns)
