"""A replay changes nothing by itself and never promises more than a span owns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analyzer.core.forests import odd
from tests.analyzer.core.scene import MS, agent, chat, key, tool

from spanwise import semconv
from spanwise_analyzer.account import account
from spanwise_analyzer.replay import Change, drag_ns, saving_ns
from spanwise_analyzer.tree import Tree
from spanwise_collector.span import Link, Span, SpanKey

FACTORS = st.fractions(0, 1)


def some(spans: list[Span]) -> st.SearchStrategy[frozenset[SpanKey]]:
    """Some keys of the spans, possibly none."""
    return st.frozensets(st.sampled_from([found.key for found in spans]), max_size=5) if spans else st.just(frozenset())


@given(odd())
def test_nothing_changed_saves_nothing(spans: list[Span]) -> None:
    tree = account("c", spans).tree
    same = Change(scale={found.key: 1 for found in spans})
    assert saving_ns(tree, same) == 0
    assert saving_ns(tree, Change()) == 0


@given(odd(), st.data())
def test_the_drag_of_spans_is_at_most_what_they_own(spans: list[Span], data: st.DataObject) -> None:
    ledger = account("c", spans)
    keys = data.draw(some(spans))
    assert 0 <= drag_ns(ledger.tree, keys) <= ledger.owned_by(keys)


@given(odd(), st.data())
def test_more_spans_have_no_less_drag(spans: list[Span], data: st.DataObject) -> None:
    tree = account("c", spans).tree
    few, more = data.draw(some(spans)), data.draw(some(spans))
    assert drag_ns(tree, few) <= drag_ns(tree, few | more)


@given(odd(), st.data(), FACTORS, FACTORS)
def test_a_smaller_factor_saves_no_less(spans: list[Span], data: st.DataObject, one: Fraction, two: Fraction) -> None:
    tree = account("c", spans).tree
    keys = data.draw(some(spans))
    less, more = (saving_ns(tree, Change(scale=dict.fromkeys(keys, factor))) for factor in sorted((one, two)))
    assert less >= more >= 0


@given(odd(), st.data())
def test_removing_a_span_saves_at_least_its_drag(spans: list[Span], data: st.DataObject) -> None:
    tree = account("c", spans).tree
    keys = data.draw(some(spans))
    assert drag_ns(tree, keys) <= saving_ns(tree, Change(remove=keys))


def waits(name: str, start: float, end: float, *names: str) -> Span:
    """A model call below the agent that names what it waits for."""
    links = [Link(*key(other), {semconv.LINK: semconv.LINK_WAITS_FOR}) for other in names]
    return replace(chat(name, start, end, "agent"), links=links)


def round_trip() -> Tree:
    """Ask, two tools one after the other with a call between them, answer; 10 ms of the agent's own before each."""
    spans = [
        agent("agent", 0, 600),
        chat("ask", 10, 110, "agent"),
        tool("one", 120, 220, "agent"),
        chat("more", 230, 330, "agent"),
        tool("two", 340, 490, "agent"),
        chat("answer", 500, 590, "agent"),
    ]
    return account("c", spans).tree


@pytest.mark.parametrize(
    ("change", "saved"),
    [
        (Change(remove=frozenset({key("one")})), 100),
        (Change(remove=frozenset({key("agent")})), 600),
        (Change(scale={key("two"): 0.5}), 75),
        (Change(scale={key("agent"): 0}), 60),
        (Change(scale={key("ask"): Fraction(3, 2)}), -50),
        (Change(together=[frozenset({key("one"), key("two")})]), 160),
        (Change(together=[frozenset({key("one"), key("two")})], cap=1), 120),
        (Change(remove=frozenset({key("more")}), together=[frozenset({key("one"), key("two")})]), 220),
        (Change(remove=frozenset({key("unknown")}), scale={key("nothing"): 0}), 0),
    ],
)
def test_a_change_saves_what_the_new_schedule_is_shorter(change: Change, saved: int) -> None:
    assert saving_ns(round_trip(), change) == saved * MS


def test_a_slot_that_frees_first_is_taken_first() -> None:
    spans = [
        agent("agent", 0, 600),
        *(tool(f"t{n}", 100 * n, 100 * n + length, "agent") for n, length in enumerate((90, 30, 60, 50))),
    ]
    tree = account("c", spans).tree
    group = [frozenset(key(f"t{n}") for n in range(4))]
    ends = {cap: 600 - saving_ns(tree, Change(together=group, cap=cap)) // MS for cap in (None, 2, 1)}
    # The agent's own 250 ms after the last tool stay; at two at a time the tools take 90 + 50 or 30 + 60 ms.
    assert ends == {None: 90 + 250, 2: 140 + 250, 1: 230 + 250}


def test_a_saving_in_a_parallel_branch_is_no_more_than_the_slack() -> None:
    spans = [agent("agent", 0, 100), tool("slow", 0, 100, "agent"), tool("fast", 0, 80, "agent")]
    ledger = account("c", spans)
    assert drag_ns(ledger.tree, [key("fast")]) == 0
    assert drag_ns(ledger.tree, [key("slow")]) == 20 * MS
    assert drag_ns(ledger.tree, [key("slow"), key("fast")]) == 100 * MS


def test_a_span_that_names_what_it_waits_for_waits_for_nothing_else() -> None:
    """The audit ended before the answer by chance."""
    spans = [agent("agent", 0, 100), tool("audit", 0, 50, "agent"), tool("work", 0, 40, "agent")]
    tree = {names: account("c", [*spans, waits("answer", 50, 100, *names)]).tree for names in ((), ("work",))}
    change = Change(remove=frozenset({key("audit")}))
    assert [saving_ns(tree[()], change), saving_ns(tree["work",], change)] == [10 * MS, 0]


def test_what_began_after_the_named_ones_had_ended_is_waited_for_as_well() -> None:
    """The results were prepared before they went to the model."""
    spans = [agent("agent", 0, 100), tool("work", 0, 40, "agent"), tool("prepare", 40, 50, "agent")]
    tree = account("c", [*spans, waits("answer", 50, 100, "work")]).tree
    changes = [Change(remove=frozenset({key(name)})) for name in ("prepare", "work")]
    assert [saving_ns(tree, change) for change in changes] == [10 * MS, 40 * MS]


def test_of_two_spans_that_end_at_once_the_one_that_is_waited_for_owns() -> None:
    spans = [agent("agent", 0, 100), tool("first", 0, 50, "agent"), tool("other", 10, 50, "agent")]
    owned = account("c", [*spans, waits("answer", 50, 100, "other")]).owned
    assert (owned[key("other")], owned[key("first")]) == (40 * MS, 10 * MS)
