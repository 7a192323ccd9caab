"""The attributes that are asked for all the time, as typed columns; same meaning as ``dialect.canonical``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spanwise import semconv as sc
from spanwise_collector import dialect
from spanwise_collector.otlp.typed import ValueType

Rows: TypeAlias = npt.NDArray[np.int64]

_TEXTS: Final = {
    "conversation_id": (sc.GEN_AI_CONVERSATION_ID,),
    "operation": (sc.GEN_AI_OPERATION_NAME,),
    "model": (sc.GEN_AI_REQUEST_MODEL, sc.GEN_AI_RESPONSE_MODEL),
    "tool": (sc.GEN_AI_TOOL_NAME,),
    "agent": (sc.GEN_AI_AGENT_NAME,),
    "step": (sc.STEP_NAME,),
    "mcp_method": (sc.MCP_METHOD_NAME,),
    "mcp_session": (sc.MCP_SESSION_ID,),
    "mcp_server": (sc.MCP_SERVER_NAME,),
    "request_id": (sc.JSONRPC_REQUEST_ID,),
    "server_address": (sc.SERVER_ADDRESS,),
    "error_type": (sc.ERROR_TYPE,),
}
_INTEGERS: Final = {
    "turn": (sc.TURN,),
    "input_tokens": (sc.GEN_AI_USAGE_INPUT_TOKENS,),
    "output_tokens": (sc.GEN_AI_USAGE_OUTPUT_TOKENS,),
    "cached_tokens": (sc.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,),
}
_INTEGER: Final = r"^-?[0-9]{1,18}$"  # always fits BIGINT; token counts never come near


def _sources(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(source for name in names for source in (name, *dialect.ALIASES.get(name, ())))


_EXTRA: Final = (
    *(*dialect.OPERATIONS, *dialect.AGENTIC),
    *(dialect.SESSION_ID, dialect.TRACELOOP_ENTITY, dialect.MODEL_NAME, sc.GEN_AI_TOOL_CALL_ID),
)
_KEYS: Final = pa.array(
    sorted({key for names in (*_TEXTS.values(), *_INTEGERS.values()) for key in _sources(names)} | set(_EXTRA))
)
_CODES: Final = {key: code for code, key in enumerate(_KEYS.to_pylist())}
# Made once: Arrow takes a quarter of a millisecond to see what a Python number or text is.
_FALSE: Final = pa.scalar(value=False)
_NO_TEXT: Final = pa.scalar(None, pa.string())
_NO_BYTES: Final = pa.scalar(0, pa.int32())
_NO_CODE: Final = pa.scalar(-1, pa.int32())
_CALL: Final = pa.scalar(dialect.TOOL_CALL)
_CHAT: Final = pa.scalar(sc.OPERATION_CHAT)
_TOOL: Final = pa.scalar(sc.OPERATION_EXECUTE_TOOL)
_TOOL_TYPE: Final = pa.scalar("tool")
_MEANINGS: Final = {
    key: (pa.array(list(meanings)), pa.array(list(meanings.values()))) for key, meanings in dialect.OPERATIONS.items()
}


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Where the interesting keys lie: positions in the attribute values, grouped by key."""

    text: pa.StringArray
    types: npt.NDArray[np.uint8]
    rows: Rows  # span of each position
    order: Rows  # positions, by key
    bounds: Rows  # of each key in order
    spans: int

    def pick(self, keys: Sequence[str]) -> Rows:
        """Position of the first of these keys that each span has, -1 for none."""
        picked = np.full(self.spans, -1, dtype=np.int64)
        for key in reversed(keys):
            code = _CODES[key]
            found = self.order[self.bounds[code] : self.bounds[code + 1]]
            picked[self.rows[found]] = found
        return picked

    def texts(self, keys: Sequence[str]) -> pa.StringArray:
        """The scalar as text, null where absent."""
        return self._texts(self.pick(keys))

    def integers(self, keys: Sequence[str]) -> pa.Int64Array:
        """Whole numbers, also those sent as digits or as whole floats; null for anything else."""
        picked = self.pick(keys)
        texts = self._texts(picked)
        if (self.types[picked[picked >= 0]] != ValueType.INT).any():
            texts = pc.if_else(pc.match_substring_regex(texts, _INTEGER), texts, _NO_TEXT)
        return pc.cast(texts, pa.int64())

    def _texts(self, picked: Rows) -> pa.StringArray:
        absent = picked < 0
        if absent.all():
            return pa.nulls(self.spans, pa.string())
        return self.text.take(pa.array(picked, mask=absent))


def hot(attributes: pa.ListArray, names: pa.StringArray, scopes: pa.StringArray) -> dict[str, pa.Array]:
    """Typed columns from attribute lists (typed.py), names and names of scopes, one a span."""
    cells = _cells(attributes)
    columns = {name: cells.texts(_sources(keys)) for name, keys in _TEXTS.items()}
    columns |= {name: cells.integers(_sources(keys)) for name, keys in _INTEGERS.items()}
    _fill(columns, "conversation_id", _sessions(cells, scopes))
    _fill_mcp(columns, names, pc.starts_with(scopes, dialect.OPENLLMETRY_MCP_SCOPE))
    for meant in _operations(cells, columns):
        _fill(columns, "operation", meant)
    _fill(columns, "tool", _called(columns, names))
    _fill(columns, "tool", _observed(cells, names))
    _fill(columns, "tool", _entities(cells))
    _fill(columns, "step", _in_names(names, dialect.STEP_IN_NAME))
    return columns


def _cells(attributes: pa.ListArray) -> _Cells:
    values = attributes.flatten()
    text, types = values.field("text"), values.field("type").to_numpy()
    codes = pc.fill_null(pc.index_in(values.field("key"), value_set=_KEYS), _NO_CODE).to_numpy()
    empty = pc.fill_null(pc.equal(pc.binary_length(text), _NO_BYTES), _FALSE).to_numpy(zero_copy_only=False)
    codes = np.where((types == ValueType.NULL) | empty, -1, codes)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(_KEYS) + 1))
    rows = pc.list_parent_indices(attributes).to_numpy()
    return _Cells(text, types, rows, order, bounds, len(attributes))


def _fill(columns: dict[str, pa.Array], name: str, found: pa.Array | None) -> None:
    if found is not None and columns[name].null_count:
        columns[name] = pc.coalesce(columns[name], found)


def _sessions(cells: _Cells, scopes: pa.StringArray) -> pa.StringArray | None:
    openinference = pc.starts_with(scopes, dialect.OPENINFERENCE_SCOPE).to_numpy(zero_copy_only=False)
    ours = openinference | (cells.pick(dialect.AGENTIC) >= 0)
    return pc.if_else(pa.array(ours), cells.texts([dialect.SESSION_ID]), _NO_TEXT) if ours.any() else None


def _fill_mcp(columns: dict[str, pa.Array], names: pa.StringArray, where: pa.BooleanArray) -> None:
    """OpenLLMetry tells the method, and the tool, in the name only."""
    if not pc.any(where).as_py():
        return
    called = _in_names(names, dialect.CALL_IN_NAME, where)
    if called is not None:
        _fill(columns, "mcp_method", pc.if_else(pc.is_valid(called), _CALL, _NO_TEXT))
        _fill(columns, "tool", called)
    _fill(columns, "mcp_method", _in_names(names, dialect.METHOD_IN_NAME, where))


def _operations(cells: _Cells, columns: Mapping[str, pa.Array]) -> Iterator[pa.StringArray | None]:
    for key, (words, meant) in _MEANINGS.items():
        texts = columns["mcp_method"] if key == sc.MCP_METHOD_NAME else cells.texts([key])
        yield None if texts.null_count == len(texts) else meant.take(pc.index_in(texts, value_set=words))
    article = (cells.pick([dialect.MODEL_NAME]) >= 0) & (cells.pick([dialect.OPENINFERENCE_KIND]) < 0)
    yield pc.if_else(pa.array(article), _CHAT, _NO_TEXT) if article.any() else None
    named = (cells.pick([sc.GEN_AI_TOOL_CALL_ID]) >= 0) & (cells.pick([sc.GEN_AI_TOOL_NAME]) >= 0)
    yield pc.if_else(pa.array(named), _TOOL, _NO_TEXT) if named.any() else None


def _observed(cells: _Cells, names: pa.StringArray) -> pa.StringArray | None:
    types = cells.texts([dialect.LANGFUSE_TYPE])
    return None if types.null_count == len(types) else pc.if_else(pc.equal(types, _TOOL_TYPE), names, _NO_TEXT)


def _called(columns: Mapping[str, pa.Array], names: pa.StringArray) -> pa.StringArray | None:
    nameless = pc.and_(pc.is_null(columns["tool"]), pc.equal(columns["mcp_method"], _CALL))
    return _in_names(names, dialect.TOOL_IN_NAME, nameless) if pc.any(nameless).as_py() else None


def _entities(cells: _Cells) -> pa.StringArray | None:
    kinds = cells.texts([dialect.TRACELOOP_KIND])
    if kinds.null_count == len(kinds):
        return None
    return pc.if_else(pc.equal(kinds, _TOOL_TYPE), cells.texts([dialect.TRACELOOP_ENTITY]), _NO_TEXT)


def _in_names(names: pa.StringArray, pattern: str, where: pa.BooleanArray | None = None) -> pa.StringArray | None:
    fits = pc.match_substring_regex(names, pattern)
    if where is not None:
        fits = pc.and_(fits, pc.fill_null(where, _FALSE))
    if not pc.any(fits).as_py():
        return None
    return pc.if_else(fits, pc.struct_field(pc.extract_regex(names, pattern), "found"), _NO_TEXT)
