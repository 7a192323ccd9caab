"""What rules take out of spans before they are stored."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise_collector.otlp import cards
from spanwise_collector.otlp.decode import Malformed
from spanwise_collector.otlp.redaction import PRESETS, BadRule, Redaction
from spanwise_collector.receiver import Entrance
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Store

T1 = "0af7651916cd43dd8448eb211c80319c"
SECRETS = ("ann@example.com", "4111 1111 1111 1111", "swordfish")


def everywhere(otlp: Any, text: str) -> ExportTraceServiceRequest:
    """A request with the text in every place that can hold a text of the sender."""
    span = otlp.span(f"name {text}", attributes={"plain": text, "list": ["a", text], "map": {"inner": {"deep": text}}})
    span.status.message = f"failed: {text}"
    event = span.events.add(name=f"event {text}")
    event.attributes.extend(otlp.span(attributes={"body": text}).attributes)
    link = span.links.add(trace_id=span.trace_id, span_id=span.span_id)
    link.attributes.extend(otlp.span(attributes={"why": text}).attributes)
    request: ExportTraceServiceRequest = otlp.request(span, resource={"service.name": "svc", "owner": text})
    request.resource_spans[0].scope_spans[0].scope.attributes.extend(otlp.span(attributes={"of": text}).attributes)
    return request


def redacted(request: ExportTraceServiceRequest, *rules: str, key: str = "k") -> ExportTraceServiceRequest:
    changed = ExportTraceServiceRequest()
    changed.ParseFromString(Redaction(rules, key).redacted(request.SerializeToString()))
    return changed


def attributes(request: ExportTraceServiceRequest) -> Mapping[str, str]:
    span = request.resource_spans[0].scope_spans[0].spans[0]
    return {pair.key: pair.value.string_value for pair in span.attributes}


@pytest.mark.parametrize(
    ("rule", "secret", "mark"),
    [
        ("value:email", SECRETS[0], "[redacted email]"),
        ("value:card", SECRETS[1], "[redacted card]"),
        ("value:/sword[a-z]+/", SECRETS[2], "[redacted]"),
        ("value:bearer", "Bearer abcdefgh12345", "[redacted bearer]"),
        ("value:ipv4", "192.0.2.71", "[redacted ipv4]"),
    ],
)
def test_a_rule_for_values_reaches_every_text_of_a_request(otlp: Any, rule: str, secret: str, mark: str) -> None:
    redaction = Redaction([rule])
    before = everywhere(otlp, f"<{secret}>")
    after = redaction.redacted(before.SerializeToString())
    assert secret.encode() not in after
    assert ExportTraceServiceRequest.FromString(after) == everywhere_again(before, secret, mark)
    assert [10] == list(redaction.counts().values())


def everywhere_again(request: ExportTraceServiceRequest, secret: str, mark: str) -> ExportTraceServiceRequest:
    """The same request, the secret replaced through its text form."""
    from google.protobuf import text_format

    changed = ExportTraceServiceRequest()
    text_format.Parse(text_format.MessageToString(request).replace(secret, mark), changed)
    return changed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4111111111111111", "[]"),
        ("pay 4111-1111-1111-1111, please", "pay [], please"),
        ("3782 822463 10005", "[]"),
        ("99 4111 1111 1111 1111 34", "99 [] 34"),
        ("5500005555555559 4111 1111 1111 1111", "[] []"),
        ("4111111111111112", "4111111111111112"),
        ("14111111111111111", "14111111111111111"),
        ("1700000000000000000", "1700000000000000000"),
        ("4111  1111 1111 1111", "4111  1111 1111 1111"),
        ("1 2 3 - 4", "1 2 3 - 4"),
        ("4" * 40, "4" * 40),
    ],
)
def test_card_numbers_are_found_by_their_check_and_other_numbers_stay(text: str, expected: str) -> None:
    assert expected == cards.masked(text, "[]")[0]


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize(
    "piece", ["a", "1", "1 ", "@", "a@", "a@a.", "1.", "4111 ", "411-", "4", "bearer ", "bearer a"]
)
def test_presets_take_no_longer_than_their_text_deserves(otlp: Any, preset: str, piece: str) -> None:
    """A text that a sender chose must not hold a thread."""
    body = otlp.body(otlp.span(attributes={"text": piece * (1_000_000 // len(piece))}))
    began = time.thread_time()
    Redaction([f"value:{preset}"]).redacted(body)
    assert time.thread_time() - began < 8


def test_attributes_are_dropped_and_hashed_by_name_at_every_level(otlp: Any) -> None:
    values = {"user.id": "u1", "user.name": "Ann", "tool": {"user": {"id": "u1"}, "name": "lookup"}, "kept": "yes"}
    request = otlp.request(otlp.span(attributes=values), otlp.span(attributes={"user.id": "u1"}))
    after = redacted(request, "drop:user.name", "drop:tool.user*", "hash:user.id")
    first, second = after.resource_spans[0].scope_spans[0].spans
    found = {pair.key: pair.value for pair in first.attributes}
    assert {"user.id", "tool", "kept"} == set(found)
    assert found["user.id"].string_value.startswith("hash:")
    assert found["user.id"] == second.attributes[0].value
    assert ["name"] == [pair.key for pair in found["tool"].kvlist_value.values]
    assert (1, 0) == (first.dropped_attributes_count, second.dropped_attributes_count)


def test_hashes_are_equal_for_equal_values_under_one_key_only(otlp: Any) -> None:
    request = otlp.request(otlp.span(attributes={"user": "u1"}))
    one, same, other, own = (attributes(redacted(request, "hash:user", key=key))["user"] for key in ("k", "k", "l", ""))
    assert one == same
    assert len({one, other, own, attributes(redacted(request, "hash:user", key=""))["user"]}) == 4


def test_what_cannot_be_read_cannot_be_redacted_and_is_not_taken_in() -> None:
    with pytest.raises(Malformed, match="cannot be redacted"):
        Redaction(["value:email"]).redacted(b"\xff\xff")


def test_fields_that_nobody_knows_are_left_out(otlp: Any) -> None:
    unknown = b"\xfa\x3f\x09swordfish"  # field 1023
    request = otlp.body(otlp.span()) + unknown
    assert otlp.request(*ExportTraceServiceRequest.FromString(request).resource_spans[0].scope_spans[0].spans)
    assert b"swordfish" not in Redaction(["value:email"]).redacted(request)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("user.*", "'user.*' is no rule"),
        ("drop:", "is no rule"),
        ("value:phone", "value:phone"),
        ("value:/(/", "regular"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_shown_at_the_start(rule: str, words: str) -> None:
    with pytest.raises(BadRule, match=words.replace("*", r"\*")):
        Entrance.of(ReceiverSettings(redact=f"value:email {rule}"))


def test_without_rules_there_is_no_redaction() -> None:
    assert Redaction.of(" ") is None
    assert Entrance.of(ReceiverSettings()).redaction is None


@pytest.mark.parametrize("media_type", ["application/x-protobuf", "application/json"])
def test_what_is_stored_has_gone_through_the_rules(
    door: Callable[..., Any], post: Callable[..., Any], store: Store, otlp: Any, media_type: str
) -> None:
    opened = door(redact="drop:prompt value:email hash:gen_ai.conversation.id", hash_key="k")
    values = {"prompt": SECRETS[2], "note": f"ask {SECRETS[0]}", "gen_ai.conversation.id": "c-1"}
    body = otlp.body(otlp.span(attributes=values))
    if media_type == "application/json":
        pairs = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
        span = {"traceId": T1, "spanId": "b7ad6b7169203331", "name": "work", "attributes": pairs}
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    assert post(opened.bound.http, body, Content_Type=media_type).status == 200
    (found,) = store.reader().trace(T1)
    assert {"note", "gen_ai.conversation.id"} == set(found.attributes)
    assert found.attributes["note"] == "ask [redacted email]"
    assert not store.reader().has("c-1")
    assert store.reader().has(str(found.attributes["gen_ai.conversation.id"]))
    assert {"drop": 1, "hash": 1, "email": 1} == opened.receiver.redactions()
