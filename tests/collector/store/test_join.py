from __future__ import annotations

from typing import Any

import pytest

from spanwise import semconv as sc
from spanwise_collector.store import LedgerRow, Store

T1 = "0af7651916cd43dd8448eb211c80319c"
T2 = "4bf92f3577b34da6a3ce929d0e0e4736"
T3 = "11111111111111111111111111111111"
N0 = 1_700_000_000_000_000_000
CALL = {sc.MCP_METHOD_NAME: "tools/call", sc.JSONRPC_REQUEST_ID: "7", sc.GEN_AI_TOOL_NAME: "find"}
SESSION = {sc.MCP_SESSION_ID: "s-1"}
CONVERSATION = {sc.GEN_AI_CONVERSATION_ID: "c-1"}


def client(otlp: Any, **more: Any) -> Any:
    more["attributes"] = {**CALL, **CONVERSATION, **more.get("attributes", {})}
    return otlp.span("client", kind=3, **{"trace": T1, **more})


def server(otlp: Any, **more: Any) -> list[Any]:
    """A server span as the root of a trace, a query below it, and a stranger beside them."""
    more["attributes"] = {**CALL, **more.get("attributes", {})}
    top = otlp.span("server", kind=2, **{"trace": T2, **more})
    below = otlp.span("query", trace=T2, parent=top.span_id.hex())
    return [top, below, otlp.span("stranger", trace=T2)]


def names(store: Store, conversation_id: str) -> list[str]:
    return sorted(each.name for each in store.reader().spans(conversation_id))


@pytest.mark.parametrize("server_first", [True, False])
def test_a_server_span_of_another_trace_joins_by_session_with_what_lies_below_it(
    store: Store, otlp: Any, *, server_first: bool
) -> None:
    requests = [
        otlp.body(client(otlp, attributes=SESSION)),
        otlp.body(*server(otlp, attributes=SESSION), resource={"service.name": "orders"}),
    ]
    for request in reversed(requests) if server_first else requests:
        store.submit(request).result(10)
    reader = store.reader()
    assert names(store, "c-1") == ["client", "query", "server"]
    assert ["c-1"] == reader.changed(0, 2) == reader.changed(1, 2)
    assert reader.conversation_seq("c-1") == 2


def test_without_a_session_name_interval_and_uniqueness_decide(store: Store, otlp: Any) -> None:
    known = {sc.MCP_SERVER_NAME: "orders"}
    inside = {"start_time_unix_nano": N0 + 10, "end_time_unix_nano": N0 + 20}
    store.submit(otlp.body(client(otlp, attributes=known))).result(10)
    store.submit(otlp.body(*server(otlp, **inside), resource={"service.name": "orders"})).result(10)
    assert names(store, "c-1") == ["client", "query", "server"]


@pytest.mark.parametrize(
    "change",
    [
        {"start_time_unix_nano": N0 - 10, "end_time_unix_nano": N0 + 20},
        {"attributes": {sc.GEN_AI_TOOL_NAME: "other"}},
        {"attributes": {sc.JSONRPC_REQUEST_ID: "8"}},
        {"attributes": {sc.MCP_SESSION_ID: "s-2"}},
    ],
)
def test_without_a_session_nothing_else_is_joined(store: Store, otlp: Any, change: dict[str, Any]) -> None:
    inside = {"start_time_unix_nano": N0 + 10, "end_time_unix_nano": N0 + 20}
    store.submit(otlp.body(client(otlp, attributes={sc.MCP_SERVER_NAME: "orders"}))).result(10)
    store.submit(otlp.body(*server(otlp, **{**inside, **change}), resource={"service.name": "orders"})).result(10)
    assert names(store, "c-1") == ["client"]
    assert sorted(store.reader().changed(0, 2), reverse=True) == ["c-1", T2]


def test_two_clients_that_fit_join_nothing(store: Store, otlp: Any) -> None:
    known = {sc.MCP_SERVER_NAME: "orders"}
    inside = {"start_time_unix_nano": N0 + 10, "end_time_unix_nano": N0 + 20}
    other = client(otlp, trace=T3, attributes={**known, sc.GEN_AI_CONVERSATION_ID: "c-2"})
    store.submit(otlp.body(client(otlp, attributes=known), other)).result(10)
    store.submit(otlp.body(*server(otlp, **inside), resource={"service.name": "orders"})).result(10)
    assert (names(store, "c-1"), names(store, "c-2")) == (["client"], ["client"])


def _ledger(conversation_id: str) -> LedgerRow:
    return LedgerRow(conversation_id, 1, "svc", None, N0, N0 + 1, 1, 1, "ok", None, 0, None)


def test_a_ledger_under_a_trace_id_goes_when_the_trace_turns_out_to_belong_elsewhere(store: Store, otlp: Any) -> None:
    """By a server span's late client, and by a root that names the conversation when it ends last."""
    store.submit(otlp.body(*server(otlp, attributes=SESSION)[:2], otlp.span("early", trace=T3))).result(10)
    assert store.reader().changed(0, 1) == [T2]
    store.save_ledgers([_ledger(T2), _ledger(T3)]).result(10)
    assert len(store.reader().ledgers().rows) == 2
    store.submit(otlp.body(client(otlp, attributes=SESSION), otlp.span(trace=T3, attributes=CONVERSATION))).result(10)
    store.retire_ledgers(after=1, upto=2).result(10)
    assert list(store.reader().ledgers().rows) == []
    store.save_ledgers([_ledger(T3)]).result(10)
    assert list(store.reader().ledgers().rows) == []
