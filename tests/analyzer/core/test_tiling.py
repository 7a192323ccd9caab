"""Every instant of a conversation has exactly one owner, whatever the spans look like."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.analyzer.core.forests import TRACES, bare, identifier, nested, odd, plain

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_analyzer.ledger import Ledger, Segment
from spanwise_collector.span import Span, Value

AGENT = {"gen_ai.operation.name": "invoke_agent"}


def answer(ledger: Ledger) -> dict[str, object]:
    """Everything a reader sees of a ledger."""
    return {name: getattr(ledger, name) for name in Ledger.__slots__ if name != "tree"}


def shape(ledger: Ledger) -> list[tuple[int, int, Stage, str | None]]:
    return [(row.start_ns, row.end_ns, row.stage, row.span.span_id if row.span else None) for row in ledger.segments]


@given(odd())
def test_segments_cover_the_window_without_gap_or_overlap(spans: list[Span]) -> None:
    ledger = account("c", spans)
    edges = [ledger.start_ns, *(row.end_ns for row in ledger.segments)]
    assert edges[:-1] == [row.start_ns for row in ledger.segments]
    assert edges[-1] == ledger.end_ns
    assert all(row.ns > 0 for row in ledger.segments)


@given(odd())
def test_the_active_stages_sum_to_the_active_time_and_all_to_the_wall_clock(spans: list[Span]) -> None:
    ledger = account("c", spans)
    assert sum(row.ns for row in ledger.stages) == ledger.active_ns
    assert ledger.end_ns - ledger.start_ns == ledger.active_ns + ledger.idle_ns + ledger.wait_ns


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.just("1:2:" + "9" * 5000),
    st.lists(st.one_of(st.text(max_size=3), st.integers(), st.just("user:h:7")), max_size=3),
)
NAMES = sorted(value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str))


@given(odd(), st.data())
def test_no_value_of_an_attribute_is_an_error(spans: list[Span], data: st.DataObject) -> None:
    junk = st.dictionaries(st.sampled_from(NAMES), JUNK, max_size=8)
    ledger = account("c", [replace(span, attributes={**span.attributes, **data.draw(junk)}) for span in spans])
    assert sum(row.ns for row in ledger.segments) == ledger.end_ns - ledger.start_ns


@given(odd())
def test_an_owner_is_open_while_it_owns(spans: list[Span]) -> None:
    ledger = account("c", spans)
    for row in ledger.segments:
        if row.span is not None:
            node = ledger.tree.nodes[row.span.key]
            assert node.start_ns <= row.start_ns < row.end_ns <= node.end_ns


@given(odd())
def test_nobody_owns_an_instant_only_if_no_blocking_span_is_open(spans: list[Span]) -> None:
    ledger = account("c", spans)
    for row in ledger.segments:
        if row.span is None:
            assert [
                n for n in ledger.tree.blocking() if n.ns and n.start_ns < row.end_ns and row.start_ns < n.end_ns
            ] == []


@given(nested())
def test_in_nested_trees_the_deepest_open_span_owns(spans: list[Span]) -> None:
    ledger = account("c", spans)
    for row in ledger.segments:
        assert row.span is not None
        children = ledger.tree.nodes[row.span.key].children
        assert [n for n in children if n.ns and n.start_ns < row.end_ns and row.start_ns < n.end_ns] == []


@given(odd(), st.randoms(use_true_random=False), st.data())
def test_order_and_copies_of_the_spans_do_not_matter(spans: list[Span], random: object, data: st.DataObject) -> None:
    copies = data.draw(st.lists(st.sampled_from(spans), max_size=6)) if spans else []
    mixed = data.draw(st.permutations([*spans, *copies]))
    assert answer(account("c", spans)) == answer(account("c", mixed))


@given(odd(), st.integers(1, 10**15), st.integers(1, 1000))
def test_a_shift_and_a_stretch_of_time_shift_and_stretch_the_segments(spans: list[Span], by: int, times: int) -> None:
    spans = [
        replace(span, attributes={**span.attributes, "spanwise.response.time_to_first_content": None}) for span in spans
    ]
    expected = [(by + row[0] * times, by + row[1] * times, *row[2:]) for row in shape(account("c", spans))]
    moved = [
        replace(span, start_ns=by + span.start_ns * times, end_ns=by + span.end_ns * times if span.end_ns else 0)
        for span in spans
    ]
    assert expected == shape(account("c", moved))


@given(plain(), st.data())
def test_a_span_without_length_changes_nothing(spans: list[Span], data: st.DataObject) -> None:
    host = data.draw(st.sampled_from(spans))
    at = data.draw(st.integers(host.start_ns, host.end_ns)) - 1000
    more = [*spans, bare(99, at, at, int(host.span_id, 16) - 1)]
    assert shape(account("c", spans)) == shape(account("c", more))


@given(plain(), st.data())
def test_a_leaf_inside_a_span_never_adds_to_what_the_span_owns(spans: list[Span], data: st.DataObject) -> None:
    host = data.draw(st.sampled_from(spans))
    start = data.draw(st.integers(host.start_ns, host.end_ns))
    end = data.draw(st.integers(start, host.end_ns))
    more = [*spans, bare(99, start - 1000, end - 1000, int(host.span_id, 16) - 1)]
    assert account("c", more).owned.get(host.key, 0) <= account("c", spans).owned.get(host.key, 0)


@given(odd())
def test_no_span_owns_more_than_it_lasts(spans: list[Span]) -> None:
    ledger = account("c", spans)
    assert [key for key, ns in ledger.owned.items() if ns > ledger.tree.nodes[key].ns] == []


@given(odd())
def test_the_segments_fed_back_as_spans_own_themselves(spans: list[Span]) -> None:
    first = [row for row in account("c", spans).segments if row.span is not None]
    flat = [
        Span(TRACES[0], identifier(number), "", "flat", row.start_ns, row.end_ns) for number, row in enumerate(first)
    ]
    again = [row for row in account("c", flat).segments if row.span is not None]
    assert [(row.start_ns, row.end_ns) for row in first] == [(row.start_ns, row.end_ns) for row in again]


@given(st.integers(0, 20), st.integers(1, 20))
def test_two_identical_parallel_children_own_one_interval_together(start: int, length: int) -> None:
    twins = [bare(number, start, start + length, 0) for number in (1, 2)]
    ledger = account("c", [bare(0, 0, 50, -1), *twins])
    assert length == ledger.owned_by(span.key for span in twins)


@given(odd())
def test_turns_and_what_lies_outside_them_sum_to_the_active_time(spans: list[Span]) -> None:
    ledger = account("c", spans)
    outside = sum(row.ns for row in ledger.segments if row.turn is None and row.stage.active)
    assert ledger.active_ns == sum(turn.active_ns for turn in ledger.turns) + outside
    assert len(ledger.turns) == len({turn.number for turn in ledger.turns})


@given(odd())
def test_the_first_token_splits_a_call_and_keeps_its_total(spans: list[Span]) -> None:
    unsplit = [
        replace(span, attributes={**span.attributes, "spanwise.response.time_to_first_content": None}) for span in spans
    ]
    assert account("c", unsplit).owned == account("c", spans).owned


@given(odd())
def test_retry_time_is_only_renamed(spans: list[Span]) -> None:
    def before(segments: list[Segment]) -> Counter[Stage]:
        total: Counter[Stage] = Counter()
        for row in segments:
            total[row.was or row.stage] += row.ns
        return total

    once = [replace(span, attributes=_unrepeatable(span)) for span in spans]
    ledger, plainly = account("c", spans), account("c", once)
    assert ledger.owned == plainly.owned
    if all(row.stage.active or row.was is None for row in ledger.segments):
        assert before(list(plainly.segments)) == before(list(ledger.segments))


def _unrepeatable(span: Span) -> dict[str, Value]:
    hidden = ("spanwise.request.hash", "gen_ai.tool.call.id", "spanwise.mcp.result_type")
    return {name: value for name, value in span.attributes.items() if name not in hidden}


@given(odd(), st.integers(0, 40), st.integers(0, 100), st.data())
def test_a_background_span_changes_only_the_background_list(
    spans: list[Span], start: int, length: int, data: st.DataObject
) -> None:
    parent = data.draw(st.sampled_from([-1, *range(len(spans))]))
    extra = bare(99, start, start + length, parent, attributes={"spanwise.async": True, "gen_ai.conversation.id": "c"})
    without, with_it = account("c", spans), account("c", [*spans, extra])
    assert shape(without) == shape(with_it)
    assert {node.key for node in with_it.tree.background} == {*(n.key for n in without.tree.background), extra.key}


@given(odd(), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_no_clock_changes_how_long_a_span_lasts(spans: list[Span], processes: list[int]) -> None:
    # A call that two instrumentations report lasts until the later end, so everything here comes from one.
    alone = [replace(span, scope="") for span in spans]
    spread = [replace(span, process=f"p{process}") for span, process in zip(alone, processes, strict=False)]
    ledger = account("c", spread)
    finished = [span for span in spread if span.end_ns > 0]
    assert [ledger.tree.nodes[span.key].ns for span in finished] == [max(0, s.end_ns - s.start_ns) for s in finished]
    assert sum(row.ns for row in ledger.segments) == ledger.end_ns - ledger.start_ns
