"""The steps that make a tree of a set of spans, in the one order that works."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from spanwise_analyzer import conversations
from spanwise_analyzer.ledger import Problem
from spanwise_analyzer.timeline import (
    adopt,
    afterthought,
    background,
    carriers,
    clean,
    clocks,
    echo,
    extent,
    instant,
    join,
    lift,
    parents,
    serving,
    shadow,
    transport,
    unfinished,
)
from spanwise_analyzer.tree import Tree
from spanwise_collector.span import Span


def normalise(conversation_id: str, spans: Iterable[Span]) -> tuple[Tree, list[Problem]]:
    """The tree of one conversation and what was odd about its spans; never raises, whatever the order or the copies."""
    forest = clean.forest(spans)
    steps = (
        parents.link,
        afterthought.place,  # wants parents, and what comes after wants true ends
        unfinished.close,  # open spans end with their children, so links come first
        join.by_session,
        clocks.align,  # needs the pairs of the join, and the ends
        join.by_peer,  # compares times of two processes, so after the clocks
        join.by_place,
        partial(conversations.keep, conversation_id),  # ids are inherited through joined parents
        background.part,
        adopt.adopt,  # by time, and never below a background span
        instant.gather,  # before two reports of a call become one: each goes to its own
        echo.merge,
        carriers.nest,  # what belongs to a call may hang below two reports of it until here
        transport.nest,
        serving.nest,
        shadow.nest,  # wants real siblings, so after all parents are known
        lift.lift,  # last word on parents: any step before may have named one that the span does not touch
    )
    for step in steps:
        step(forest)
    return extent.tree(forest), sorted(forest.problems, key=lambda problem: (problem.span or ("", ""), problem.code))
