"""Sessions, lists, probes and connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.analyzer.core.scene import mcp, span
from tests.analyzer.rules.cases import (
    altered,
    bounds_ms,
    expected_ms,
    found,
    keys,
    listing,
    model,
    rules,
    session,
    shown,
    turn,
)

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.rules.finding import SavingKind
from spanwise_collector.span import Kind, Span, Status, Value


def tasks(count: int) -> list[Span]:
    """A turn in which each task opens its own session (250 ms) and asks the model (500 ms)."""
    starts = [750 * number for number in range(count)]
    opened = [each for number, start in enumerate(starts) for each in session(f"s{number}", start)]
    return [turn(750 * count), *opened, *(model(f"m{start}", start + 250, start + 750) for start in starts)]


def test_every_set_up_but_the_first_is_saved_exactly() -> None:
    finding = found("reuse-mcp-session", tasks(3))
    assert finding is not None
    assert (finding.kind, finding.stage) == (SavingKind.EXACT, Stage.MCP_CONNECT)
    assert expected_ms(finding) == 500
    assert bounds_ms(finding) == (500, 500)
    assert shown(finding) == keys("s1-connect", "s2-connect")


def test_the_closes_of_needless_sessions_are_the_upper_bound() -> None:
    said = {semconv.MCP_SERVER_NAME: "orders", semconv.MCP_CONNECTION_ID: "s1"}
    close = replace(span("close", 1500, 1550, "turn", said, kind=Kind.CLIENT), name="mcp.close orders")
    spans = [turn(1550), *(each for each in tasks(2) if each.name != "turn"), close]
    assert bounds_ms(found("reuse-mcp-session", spans)) == (250, 300)


def test_spans_with_only_standard_attributes_are_enough() -> None:
    host = {semconv.SERVER_ADDRESS: "tools.example", semconv.SERVER_PORT: 443}

    def greeting(name: str, start: float) -> Span:
        return mcp(name, start, start + 200, "turn", method="initialize", attributes=host)

    spans = [turn(1500), greeting("i1", 0), model("m1", 200, 700), greeting("i2", 700), model("m2", 900, 1500)]
    finding = found("reuse-mcp-session", spans)
    assert (expected_ms(finding), shown(finding)) == (200, keys("i2"))


def test_a_server_without_name_and_address_is_not_known_to_be_the_same() -> None:
    spans = [turn(1500)]
    for number, start in enumerate((0, 700)):
        spans += [mcp(f"i{number}", start, start + 200, "turn", method="initialize")]
        spans += [model(f"m{number}", start + 200, start + 700)]
    assert found("reuse-mcp-session", spans) is None


def test_one_session_for_all_tasks_is_no_repeat() -> None:
    assert found("reuse-mcp-session", tasks(1)) is None


def test_two_servers_are_not_the_same_server() -> None:
    stock = [altered(each, {semconv.MCP_SERVER_NAME: "stock"}) for each in session("b", 300)]
    spans = [turn(1500), *session("a", 0), *stock, model("m", 600, 1500)]
    assert found("reuse-mcp-session", spans) is None


def test_sessions_opened_side_by_side_are_a_pool() -> None:
    spans = [turn(1500), *session("a", 0), *session("b", 10), model("m", 600, 1500)]
    assert found("reuse-mcp-session", spans) is None


def test_another_tenant_could_not_have_used_the_session() -> None:
    other = [altered(each, {semconv.TENANT: "t2"}) for each in session("b", 750)]
    spans = [turn(2000), *session("a", 0), *other, model("m", 1000, 2000)]
    assert found("reuse-mcp-session", spans) is None


def test_a_discovery_that_falls_back_is_one_set_up() -> None:
    assert found("reuse-mcp-session", [turn(2000), *probed(), model("m", 1000, 2000)]) is None


def test_the_only_set_up_inside_a_turn_is_prewarmed() -> None:
    spans = [turn(2000), *session("a", 0, took=(100, 600, 50)), model("m", 750, 2000)]
    finding = found("prewarm-server", spans)
    assert expected_ms(finding) == 750
    assert rules(spans) == ["prewarm-server"]


def test_a_set_up_before_the_first_turn_keeps_nobody_waiting() -> None:
    spans = [turn(2000), *session("a", -900, took=(100, 600, 50), under=""), model("m", 0, 2000)]
    assert rules(spans) == []


def test_a_set_up_in_a_start_of_its_own_keeps_nobody_waiting() -> None:
    start = span("agent.step.start", -900, -100, "", {semconv.STEP_NAME: "start"})
    spans = [turn(2000), start, *session("a", -900, took=(100, 600, 50), under="agent.step.start")]
    assert found("prewarm-server", [*spans, model("m", 0, 2000)]) is None


def test_a_quick_set_up_needs_no_prewarming() -> None:
    spans = [turn(2000), *session("a", 0, took=(50, 50, 50)), model("m", 150, 2000)]
    assert found("prewarm-server", spans) is None


def test_repeated_set_ups_are_for_reuse_not_for_prewarming() -> None:
    assert found("prewarm-server", tasks(2)) is None


def probed() -> list[Span]:
    """A session whose discovery is refused after 400 ms and that then falls back."""
    said = {semconv.MCP_SERVER_NAME: "orders", semconv.MCP_CONNECTION_ID: "a"}
    connect = replace(span("connect", 0, 100, "turn", said, kind=Kind.CLIENT), name="mcp.connect orders")
    probe = mcp("probe", 100, 500, "turn", method="server/discover", attributes=said, status=Status.ERROR)
    greeting = mcp("init", 500, 600, "turn", method="initialize", attributes=said)
    return [connect, probe, greeting, listing("list", 600, 650, connection="a")]


def test_a_refused_probe_is_the_time_to_save() -> None:
    spans = [turn(2000), *probed(), model("m", 650, 2000)]
    finding = found("pin-protocol-version", spans)
    assert expected_ms(finding) == 400
    assert shown(finding) == keys("probe")
    assert rules(spans) == ["pin-protocol-version"]


def test_a_probe_that_is_answered_is_no_failure() -> None:
    spans = [replace(each, status=Status.OK) for each in probed()]
    assert found("pin-protocol-version", [turn(2000), *spans, model("m", 650, 2000)]) is None


def relisted(second: Mapping[str, Value] | None = None, first: Mapping[str, Value] | None = None) -> list[Span]:
    """Two lists (100 ms each) of one session, with attributes of the one and the other."""
    asked = altered(listing("l1", 0, 100, connection="a"), first or {})
    again = altered(listing("l2", 1100, 1200, connection="a"), second or {})
    return [turn(2200), asked, model("m1", 100, 1100), again, model("m2", 1200, 2200)]


def test_an_unchanged_list_is_not_asked_for_again() -> None:
    finding = found("honour-list-ttl", relisted())
    assert expected_ms(finding) == 100
    assert shown(finding) == keys("l2")


def test_a_list_that_changed_was_worth_asking() -> None:
    assert found("honour-list-ttl", relisted({semconv.TOOLS_NAMES_HASH: "n2"})) is None


def test_a_list_without_hash_may_have_changed() -> None:
    assert found("honour-list-ttl", relisted({semconv.TOOLS_NAMES_HASH: None})) is None


def test_lists_that_are_both_without_hash_may_differ() -> None:
    unknown = {semconv.TOOLS_NAMES_HASH: None, semconv.TOOLS_ORDER_HASH: None}
    assert found("honour-list-ttl", relisted(unknown, unknown)) is None


def test_hashes_of_two_keys_are_not_compared() -> None:
    assert found("honour-list-ttl", relisted({semconv.HASH_KEY_ID: "k2"})) is None


def test_the_clients_own_cache_costs_no_request() -> None:
    assert found("honour-list-ttl", relisted({semconv.MCP_CACHE_HIT: True})) is None


def test_another_session_lists_for_itself() -> None:
    assert found("honour-list-ttl", relisted({semconv.MCP_CONNECTION_ID: "b"})) is None


def test_after_its_ttl_a_list_may_be_asked_for_again() -> None:
    assert found("honour-list-ttl", relisted(first={semconv.MCP_TTL_MS: 500})) is None


def test_within_its_ttl_it_may_not() -> None:
    assert found("honour-list-ttl", relisted(first={semconv.MCP_TTL_MS: 60_000})) is not None
    assert found("honour-list-ttl", relisted(first={semconv.MCP_TTL_MS: 0})) is not None


def test_an_announced_change_is_a_reason_to_list() -> None:
    told = mcp(
        "told", 600, 601, "turn", method="notifications/tools/list_changed", attributes={semconv.MCP_CONNECTION_ID: "a"}
    )
    assert found("honour-list-ttl", [*relisted(), told]) is None


def connecting(*, new: bool | None = True, seconds: float = 0.2, times: int = 2) -> list[Span]:
    """Calls in a row: one that opened a connection, then ``times`` that did so again or not, then one that did not."""
    first = {semconv.CONNECTION_NEW: True, semconv.CONNECTION_CONNECT_TIME: 0.2}
    again = {semconv.CONNECTION_NEW: new, semconv.CONNECTION_CONNECT_TIME: seconds}
    calls = [model(f"m{number}", 1000 * number, 1000 * number + 1000) for number in range(times + 2)]
    told: list[Mapping[str, Value]] = [first, *[again] * times, {semconv.CONNECTION_NEW: False}]
    return [turn(1000 * len(calls)), *(altered(call, said) for call, said in zip(calls, told, strict=True))]


def test_connecting_again_and_again_to_one_host_is_saved() -> None:
    finding = found("reuse-connections", connecting())
    assert expected_ms(finding) == 400
    assert shown(finding) == keys("m1", "m2")


def test_a_reused_or_unknown_or_quick_connection_is_no_cause() -> None:
    assert found("reuse-connections", connecting(new=False)) is None
    assert found("reuse-connections", connecting(new=None)) is None
    assert found("reuse-connections", connecting(seconds=0.001)) is None


def test_one_lost_connection_is_an_accident() -> None:
    assert found("reuse-connections", connecting(times=1)) is None


def test_requests_side_by_side_need_connections_of_their_own() -> None:
    said = {semconv.CONNECTION_NEW: True, semconv.CONNECTION_CONNECT_TIME: 0.2}
    spans = [turn(1000), *(model(f"m{number}", 10 * number, 1000, said) for number in range(4))]
    assert found("reuse-connections", spans) is None


def test_the_http_request_below_a_call_tells_the_same_connection() -> None:
    carried = [
        span(f"http-{each.name}", each.start_ns / 1e6, each.end_ns / 1e6, each.name, _carrier(each))
        for each in connecting()[1:]
    ]
    finding = found("reuse-connections", [*connecting(), *carried])
    assert (expected_ms(finding), shown(finding)) == (400, keys("http-m1", "http-m2"))


def _carrier(call: Span) -> dict[str, Value]:
    kept = (semconv.CONNECTION_NEW, semconv.CONNECTION_CONNECT_TIME, semconv.SERVER_ADDRESS)
    return {semconv.HTTP_REQUEST_METHOD: "POST", **{name: call.attributes.get(name) for name in kept}}
