from __future__ import annotations

import math
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from spanwise import semconv as sc
from spanwise_collector.span import Kind, Status
from spanwise_collector.store import Limits, Malformed, Overloaded, Store

T1 = "0af7651916cd43dd8448eb211c80319c"
T2 = "4bf92f3577b34da6a3ce929d0e0e4736"
T3 = "11111111111111111111111111111111"
S1 = "b7ad6b7169203331"
S2 = "b7ad6b7169203332"
N0 = 1_700_000_000_000_000_000
CONVERSATION = {sc.GEN_AI_CONVERSATION_ID: "c-1"}
CHAT = {sc.GEN_AI_OPERATION_NAME: "chat"}


def test_a_span_comes_back_as_it_was_sent(store: Store, otlp: Any) -> None:
    """D-39: types of values, events, links, status, flags, resource and scope included."""
    values = {
        "none": None,
        "mixed": [1, None, "a", True, 0.5],
        "map": {"b": [1, None]},
        "raw": b"\xff\x00",
        "big": -(2**63),
        "half": 0.5,
        "empty": "",
        "off": False,
    }
    event = WireSpan.Event(time_unix_nano=N0, name="e", attributes=otlp.span(attributes=values).attributes)
    link = WireSpan.Link(trace_id=bytes.fromhex(T2), span_id=bytes.fromhex(S2))
    sent = otlp.span(
        "chat",
        span=S1,
        parent=S2,
        kind=3,
        flags=257,
        trace_state="a=b",
        attributes=values,
        events=[event],
        links=[link],
    )
    sent.status.code, sent.status.message = 2, "broken"
    resource = {"service.name": "svc", "service.instance.id": "i-1", "n": 3}
    store.submit(otlp.body(sent, resource=resource, scope="lib")).result(10)
    (found,) = store.reader().trace(T1)
    assert (found.trace_id, found.span_id, found.parent_id) == (T1, S1, S2)
    assert (found.kind, found.status, found.status_message) == (Kind.CLIENT, Status.ERROR, "broken")
    assert (values, resource) == (found.attributes, found.resource)
    assert [(N0, "e", values)] == [(each.time_ns, each.name, each.attributes) for each in found.events]
    assert [(each.trace_id, each.span_id, each.attributes) for each in found.links] == [(T2, S2, {})]
    assert (
        found.service,
        found.process,
        found.scope,
        found.trace_state,
        found.flags,
    ) == ("svc", "i-1", "lib", "a=b", 257)


def test_not_a_number_comes_back(store: Store, otlp: Any) -> None:
    store.submit(otlp.body(otlp.span(attributes={"n": math.nan}))).result(10)
    found = store.reader().trace(T1)[0].attributes["n"]
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize("length", [50_000, 65_535, 65_536, 300_000])
@pytest.mark.parametrize("character", ["x", "\U0001f600"])
def test_long_values_are_kept_whole(store: Store, otlp: Any, length: int, character: str) -> None:
    """D-20."""
    store.submit(otlp.body(otlp.span(attributes={"long": character * length}), otlp.span())).result(10)
    assert [character * length] == [
        each.attributes["long"] for each in store.reader().trace(T1) if "long" in each.attributes
    ]


def test_an_end_before_the_start_is_kept_raw_and_harms_no_query(store: Store, otlp: Any) -> None:
    """D-30: unsigned subtraction would make it centuries, or fail."""
    odd = otlp.span(span=S1, start_time_unix_nano=N0, end_time_unix_nano=N0 - 1)
    far = otlp.span(span=S2, start_time_unix_nano=0, end_time_unix_nano=2**64 - 1)
    store.submit(otlp.body(odd, far, otlp.span())).result(10)
    found = {each.span_id: (each.start_ns, each.end_ns) for each in store.reader().trace(T1)}
    assert len(found) == 3
    assert (found[S1], found[S2]) == ((N0, N0 - 1), (0, 2**64 - 1))


def test_of_two_copies_the_complete_one_counts(store: Store, otlp: Any) -> None:
    """D-44: both orders, in one request and in two."""
    half = otlp.span("chat", span=S1, end_time_unix_nano=0)
    whole = otlp.span("chat", span=S1, attributes={sc.GEN_AI_USAGE_INPUT_TOKENS: 5})
    other = {"half": otlp.span("chat", span=S2, trace=T2, end_time_unix_nano=0)}
    store.submit(otlp.body(half, whole)).result(10)
    store.submit(otlp.body(otlp.span("chat", span=S2, trace=T2))).result(10)
    store.submit(otlp.body(other["half"])).result(10)
    reader = store.reader()
    assert [each.integer(sc.GEN_AI_USAGE_INPUT_TOKENS) for each in reader.trace(T1)] == [5]
    assert [each.end_ns for each in reader.trace(T2)] == [N0 + 1_000_000_000]


def test_a_batch_delivered_again_shows_every_span_once(store: Store, otlp: Any) -> None:
    """D-37: three times, then half of it with a new one, then twice in parallel."""
    spans = [otlp.span(attributes=CONVERSATION) for _ in range(6)]
    for _ in range(3):
        store.submit(otlp.body(*spans)).result(10)
    more = otlp.body(*spans[:3], otlp.span(attributes=CONVERSATION))
    for waiting in [store.submit(more), store.submit(more)]:
        waiting.result(10)
    assert 7 == len(store.reader().spans("c-1")) == len(store.reader().trace(T1))


def test_one_span_id_in_two_traces_stays_two_spans(store: Store, otlp: Any) -> None:
    """D-36."""
    store.submit(
        otlp.body(
            otlp.span("chat", span=S1, trace=T1),
            otlp.span("tool", span=S1, trace=T2),
            otlp.span("child", span=S2, trace=T2, parent=S1),
        )
    ).result(10)
    reader = store.reader()
    assert [each.name for each in reader.trace(T1)] == ["chat"]
    assert {"tool", "child"} == {each.name for each in reader.trace(T2)}


def test_what_is_read_does_not_depend_on_order_or_batches(tmp_path: Path, otlp: Any) -> None:
    spans = [otlp.span(f"s{n}", attributes={**CONVERSATION, "n": n}, start_time_unix_nano=N0 + n) for n in range(12)]
    spans += [otlp.span("s0", span=f"{1:016x}", attributes=CONVERSATION, end_time_unix_nano=0)]
    answers = []
    for seed in range(3):
        order = random.Random(seed).sample(spans, len(spans))  # noqa: S311
        store = Store.open(tmp_path / f"{seed}.db")
        for start in range(0, len(order), seed + 2):
            store.submit(otlp.body(*order[start : start + seed + 2])).result(10)
        answers.append(store.reader().spans("c-1"))
        store.close()
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == 12


def test_spans_with_bad_ids_are_rejected_and_counted(store: Store, otlp: Any) -> None:
    bad = [otlp.span(trace="00" * 16), otlp.span(span="00" * 8), otlp.span(trace=T1[:30]), otlp.span(span="ab")]
    accepted = store.submit(otlp.body(*bad, otlp.span("good"))).result(10)
    assert (accepted.spans, accepted.rejected) == (1, 4)
    assert "traceId" in accepted.message
    assert [each.name for each in store.reader().trace(T1)] == ["good"]


def test_a_request_without_a_valid_span_is_answered(store: Store, otlp: Any) -> None:
    accepted = store.submit(otlp.body(otlp.span(span="00" * 8))).result(10)
    assert (accepted.spans, accepted.rejected) == (0, 1)
    assert store.reader().seq() == 0


def test_garbage_is_refused_at_once(store: Store) -> None:
    with pytest.raises(Malformed):
        store.submit(b"\xff\xff")


def test_spans_of_a_conversation_are_those_of_all_its_traces(store: Store, otlp: Any) -> None:
    store.submit(otlp.body(otlp.span("a", trace=T1, attributes=CONVERSATION), otlp.span("b", trace=T1))).result(10)
    store.submit(otlp.body(otlp.span("c", trace=T2, attributes=CONVERSATION), otlp.span("d", trace=T3))).result(10)
    reader = store.reader()
    assert {"a", "b", "c"} == {each.name for each in reader.spans("c-1")}
    assert [each.name for each in reader.spans(T3)] == ["d"]
    assert (reader.spans("nobody"), reader.trace("nobody")) == ([], [])
    assert (reader.has("c-1"), reader.has(T3), reader.has("nobody")) == (True, True, False)


def test_changed_names_conversations_of_touched_traces_only(store: Store, otlp: Any) -> None:
    store.submit(otlp.body(otlp.span(trace=T1, attributes=CONVERSATION))).result(10)
    store.submit(otlp.body(otlp.span("chat", trace=T2, attributes=CHAT), otlp.span("GET /", trace=T3))).result(10)
    store.submit(otlp.body(otlp.span("late", trace=T1))).result(10)
    reader = store.reader()
    assert reader.seq() == 3
    assert (reader.changed(0, 1), reader.changed(1, 2), reader.changed(2, 3)) == (["c-1"], [T2], ["c-1"])
    assert (reader.conversation_seq("c-1"), reader.conversation_seq(T2), reader.conversation_seq("x")) == (3, 2, 0)
    assert reader.changed(3, 3) == []


def test_eight_threads_read_their_own_answers_while_one_writes(store: Store, otlp: Any) -> None:
    """D-41: on one shared connection a seventh of the reads got another thread's rows."""
    traces = [f"{n:032x}" for n in range(1, 9)]
    store.submit(otlp.body(*(otlp.span(trace, trace=trace) for trace in traces))).result(10)
    wrong: list[object] = []

    def read(trace: str) -> None:
        for _ in range(25):
            found = [each.name for each in store.reader().trace(trace)]
            if found != [trace]:
                wrong.append(found)

    threads = [threading.Thread(target=read, args=(trace,)) for trace in traces]
    for thread in threads:
        thread.start()
    for _ in range(20):
        store.submit(otlp.body(otlp.span(trace=T1))).result(10)
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_request_larger_than_the_queue_passes_alone_and_others_are_refused(tmp_path: Path, otlp: Any) -> None:
    limits = Limits(queue_bytes=1, queue_spans=1, patience_s=0.0)
    store = Store.open(tmp_path / "small.db", limits)
    try:
        futures, refused = [], 0
        for _ in range(200):
            try:
                futures.append(store.submit(otlp.body(otlp.span(), otlp.span())))
            except Overloaded:
                refused += 1
        kept = sum(future.result(10).spans for future in futures)
        assert refused > 0
        assert kept == len(store.reader().trace(T1)) == 2 * len(futures)
    finally:
        store.close()


def test_a_closed_store_has_committed_what_it_took_in_and_refuses_more(tmp_path: Path, otlp: Any) -> None:
    store = Store.open(tmp_path / "spans.db")
    futures = [store.submit(otlp.body(otlp.span())) for _ in range(20)]
    store.close()
    store.close()
    assert sum(future.result(0).spans for future in futures) == 20
    with pytest.raises(Overloaded):
        store.submit(otlp.body(otlp.span()))
    again = Store.open(tmp_path / "spans.db")
    assert len(again.reader().trace(T1)) == 20
    again.close()


def test_services_and_their_operations_are_listed(store: Store, otlp: Any) -> None:
    store.submit(otlp.body(otlp.span("b"), otlp.span("a"), resource={"service.name": "shop"})).result(10)
    reader = store.reader()
    assert (reader.operations("shop"), reader.operations("x")) == (["a", "b"], [])
    store.submit(otlp.body(otlp.span("c"), resource={"service.name": "shop"})).result(10)
    store.submit(otlp.body(otlp.span("d"), resource={"other": 1})).result(10)
    assert reader.services() == ["shop", "unknown_service"]
    assert reader.operations("shop") == ["a", "b", "c"]


def test_resources_are_stored_once_and_survive_a_restart(tmp_path: Path, otlp: Any) -> None:
    for round_number in range(2):
        store = Store.open(tmp_path / "spans.db")
        for service in ("a", "b", "a"):
            store.submit(otlp.body(otlp.span(f"{round_number}"), resource={"service.name": service})).result(10)
        rows = store.reader()._rows("SELECT count(*) FROM resources")
        assert rows == [(2,)]
        store.close()
    store = Store.open(tmp_path / "spans.db")
    assert sorted(each.service for each in store.reader().trace(T1)) == ["a", "a", "a", "a", "b", "b"]
    store.close()
