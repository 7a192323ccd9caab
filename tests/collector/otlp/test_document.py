from __future__ import annotations

import json
import math
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import flatten
from spanwise_collector.otlp.decode import Malformed, Parcel, decode
from spanwise_collector.otlp.document import decode_document
from spanwise_collector.otlp.limits import Cut

T1 = "0af7651916cd43dd8448eb211c80319c"
S1 = "b7ad6b7169203331"
N0 = 1_700_000_000_000_000_000


def span(**changes: Any) -> dict[str, Any]:
    whole = {
        "traceId": T1,
        "spanId": S1,
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": str(N0),
        "endTimeUnixNano": str(N0 + 1),
        "attributes": [],
    }
    return {name: inner for name, inner in {**whole, **changes}.items() if inner is not ...}


def document(*spans: Any, **resource_spans: Any) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}], **resource_spans}]}).encode()


def read(body: bytes) -> list[dict[str, Any]]:
    columns = {name: column.to_pylist() for name, column in flatten([decode_document(body)]).columns.items()}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def attributes(**values: Any) -> dict[str, Any]:
    """What comes back of the attributes of one span."""
    entries = [{"key": key, "value": inner} for key, inner in values.items()]
    return value.attributes(read(document(span(attributes=entries)))[0]["attributes"])


def outcome(parcel: Parcel) -> tuple[int, int]:
    return parcel.spans, parcel.rejected


@pytest.mark.parametrize("trace_id", [T1, T1.upper()])
def test_ids_are_hex_of_any_case(trace_id: str) -> None:
    """Read as base64 they would become 24 and 12 bytes, silently."""
    row = read(document(span(traceId=trace_id)))[0]
    assert (bytes.fromhex(T1), bytes.fromhex(S1)) == (row["trace_id"], row["span_id"])


@pytest.mark.parametrize("trace_id", [T1[:31], T1 + "00", "0" * 32, "!!!INVALID_BASE64!!!", "", ...])
def test_a_span_with_a_bad_trace_id_is_rejected_and_counted_and_its_neighbour_kept(trace_id: str) -> None:
    parcel = decode_document(document(span(traceId=trace_id), span()))
    assert outcome(parcel) == (1, 1)
    assert "traceId" in parcel.message


def test_unknown_fields_are_ignored() -> None:
    """At span and at resource level."""
    assert outcome(decode_document(document(span(newField=1), resource={"other": [1]}, more={}))) == (1, 0)


def test_the_old_name_of_scope_spans_is_understood() -> None:
    """A bare success with nothing kept would be a silent loss."""
    old = {"instrumentationLibrary": {"name": "lib"}, "spans": [span()]}
    body = json.dumps({"resourceSpans": [{"instrumentationLibrarySpans": [old]}]}).encode()
    assert outcome(decode_document(body)) == (1, 0)


def test_the_old_and_the_new_name_of_scope_spans_in_one_resource_lose_nothing() -> None:
    """In either order."""
    scopes = [{"scope": {"name": name}, "spans": [span()]} for name in ("new", "old")]
    for keys in (("scopeSpans", "instrumentationLibrarySpans"), ("instrumentationLibrarySpans", "scopeSpans")):
        resource_spans = {key: [scope] for key, scope in zip(keys, scopes, strict=True)}
        parcel = decode_document(json.dumps({"resourceSpans": [resource_spans]}).encode())
        assert outcome(parcel) == (2, 0)


def nested(member: str, depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"stringValue": "core"}
    for _ in range(depth):
        item = {"key": "k", "value": inner} if member == "kvlistValue" else inner
        inner = {member: {"values": [item]}}
    return inner


@pytest.mark.parametrize(("member", "deepest"), [("kvlistValue", 32), ("arrayValue", 48)])
def test_a_value_as_deep_as_protobuf_carries_is_kept_and_a_deeper_one_is_dropped_and_counted(
    member: str, deepest: int
) -> None:
    found = attributes(a=nested(member, deepest))["a"]
    for _ in range(deepest):
        found = found["k"] if member == "kvlistValue" else found[0]
    assert found == "core"
    for depth in (deepest + 1, 60, 150):
        values = [{"key": "a", "value": nested(member, depth)}, {"key": "b", "value": {"intValue": 1}}]
        body = document(span(attributes=values, droppedAttributesCount=4), span())
        parcel = decode_document(body)
        assert (2, 0, {Cut.DEPTH: 1}) == (*outcome(parcel), parcel.cuts)
        assert "1 attributes were nested too deep" in parcel.message
        row = read(body)[0]
        assert ({"b": 1}, 5) == (value.attributes(row["attributes"]), row["dropped_attributes"])


@pytest.mark.parametrize("place", ["events", "links"])
@pytest.mark.parametrize(("member", "deepest"), [("kvlistValue", 31), ("arrayValue", 47)])
def test_attributes_of_events_and_links_are_one_message_deeper(place: str, member: str, deepest: int) -> None:
    for depth, dropped in ((deepest, 0), (deepest + 1, 1)):
        holder = {"attributes": [{"key": "a", "value": nested(member, depth)}]}
        assert [dropped] == [each["dropped_attributes"] for each in read(document(span(**{place: [holder]})))[0][place]]


@pytest.mark.parametrize("member", ["kvlistValue", "arrayValue"])
def test_a_value_of_a_resource_or_scope_nested_too_deep_leaves_the_others(member: str) -> None:
    holder = {"attributes": [{"key": "a", "value": nested(member, 60)}, {"key": "b", "value": {"boolValue": True}}]}
    scoped = {"resourceSpans": [{"resource": holder, "scopeSpans": [{"scope": holder, "spans": [span()]}]}]}
    parcel = decode_document(json.dumps(scoped).encode())
    assert (1, 0, {Cut.DEPTH: 2}) == (*outcome(parcel), parcel.cuts)
    assert {"b": True} == value.resource_attributes(flatten([parcel]).resources.bodies[0].as_py())


def test_a_snake_case_envelope_is_refused_by_name() -> None:
    with pytest.raises(Malformed, match=r"resource_spans.*resourceSpans"):
        decode_document(b'{"resource_spans": []}')


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"kind": ...}, 0),
        ({"endTimeUnixNano": ...}, 3),
        ({"attributes": ...}, 3),
        ({"kind": "SPAN_KIND_CLIENT"}, 3),
        ({"kind": 99}, 99),
    ],
)
def test_incomplete_spans_are_stored(changes: dict[str, Any], kind: int) -> None:
    rows = read(document(span(**changes)))
    assert [kind] == [row["kind"] for row in rows]


def test_attributes_as_an_object_are_refused_by_name() -> None:
    """Nothing is stored and the field is named."""
    with pytest.raises(
        Malformed, match=r"resourceSpans\[0\]\.scopeSpans\[0\]\.spans\[1\]\.attributes: expected a list"
    ):
        decode_document(document(span(), span(attributes={"a": "b"})))


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[]", b"\xff", b'{"resourceSpans": {}}', b"[" * 100_000, b'{"resourceSpans": [1]}']
)
def test_what_is_no_document_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed):
        decode_document(body)


@pytest.mark.parametrize("body", [b"{}", b'{"resourceSpans": []}', b'{"resourceSpans": null}'])
def test_an_empty_document_holds_nothing(body: bytes) -> None:
    assert outcome(decode_document(body)) == (0, 0)


def test_integers_come_as_digits_or_as_numbers() -> None:
    found = attributes(a={"intValue": 1}, b={"intValue": "-9223372036854775808"}, c={"intValue": 2.0})
    assert found == {"a": 1, "b": -(2**63), "c": 2}


def test_a_count_that_is_not_a_number_harms_nobody() -> None:
    """Null is no value, the text NaN is not-a-number."""
    found = attributes(a={"doubleValue": None}, b={"doubleValue": "NaN"}, c={"doubleValue": "-Infinity"})
    assert (None, -math.inf) == (found["a"], found["c"])
    assert math.isnan(found["b"])


def test_an_integer_beyond_its_range_rejects_its_span_only() -> None:
    big = [{"key": "n", "value": {"intValue": str(2**63)}}]
    parcel = decode_document(document(span(attributes=big), span()))
    assert outcome(parcel) == (1, 1)
    assert "intValue" in parcel.message


def test_half_an_emoji_becomes_the_replacement_character() -> None:
    """In a name as six characters of JSON, and in a value; a whole pair is left alone."""
    body = document(span(name="x"), span()).replace(b'"x"', b'"tool \\ud83e"')
    assert [row["name"] for row in read(body)] == ["tool �", "chat"]
    assert attributes(a={"stringValue": "\ud83e"}, b={"stringValue": "\U0001f600"}) == {"a": "�", "b": "\U0001f600"}


def test_every_type_of_value_is_kept() -> None:
    """Over JSON."""
    inner = {"values": [{"intValue": 1}, {}, {"stringValue": "a"}]}
    found = attributes(
        none={},
        mixed={"arrayValue": inner},
        map={"kvlistValue": {"values": [{"key": "b", "value": {"arrayValue": inner}}]}},
        raw={"bytesValue": "/wA="},
        empty={"stringValue": ""},
        off={"boolValue": False},
    )
    expected = {
        "none": None,
        "mixed": [1, None, "a"],
        "map": {"b": [1, None, "a"]},
        "raw": b"\xff\x00",
        "empty": "",
        "off": False,
    }
    assert expected == found


def test_json_and_protobuf_give_the_same_columns() -> None:
    link = {"traceId": T1, "spanId": S1, "traceState": "a=b", "flags": 257, "attributes": []}
    event = {"timeUnixNano": str(N0), "name": "e", "attributes": [{"key": "k", "value": {"stringValue": "v"}}]}
    whole = span(links=[link], events=[event], status={"code": 2, "message": "m"}, flags=256, parentSpanId=S1)
    request = ExportTraceServiceRequest()
    message = (
        request.resource_spans.add()
        .scope_spans.add()
        .spans.add(
            trace_id=bytes.fromhex(T1),
            span_id=bytes.fromhex(S1),
            parent_span_id=bytes.fromhex(S1),
            name="chat",
            kind=3,
            start_time_unix_nano=N0,
            end_time_unix_nano=N0 + 1,
            flags=256,
        )
    )
    message.status.code, message.status.message = 2, "m"
    message.links.add(trace_id=bytes.fromhex(T1), span_id=bytes.fromhex(S1), trace_state="a=b", flags=257)
    message.events.add(time_unix_nano=N0, name="e").attributes.add(key="k").value.string_value = "v"
    official = flatten([decode(request.SerializeToString())]).columns
    ours = flatten([decode_document(document(whole))]).columns
    assert {name: column.to_pylist() for name, column in official.items()} == {
        name: column.to_pylist() for name, column in ours.items()
    }
