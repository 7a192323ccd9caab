"""What waits is bounded by bytes and spans, waits for room a little, and is dropped when nobody waits for it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from spanwise_collector.otlp.decode import decode
from spanwise_collector.store import Limits, Overloaded
from spanwise_collector.store.queue import Delivery, Portion, Queue

_PATIENCE_S = 10.0


def delivery(otlp: Any, spans: int = 1) -> Delivery:
    return Delivery(decode(otlp.body(*(otlp.span() for _ in range(spans)))))


@pytest.mark.parametrize(
    "limits", [Limits(queue_spans=10, patience_s=0), Limits(queue_bytes=800, patience_s=0)], ids=["spans", "bytes"]
)
def test_it_is_bounded_and_says_why_it_takes_no_more(otlp: Any, limits: Limits) -> None:
    queue = Queue(limits)
    for _ in range(10):
        try:
            queue.offer(delivery(otlp, 3))
        except Overloaded:
            break
    load = queue.load()
    assert load.requests < 10
    assert load.spans <= limits.queue_spans
    assert load.nbytes <= limits.queue_bytes


def test_one_larger_than_the_whole_queue_passes_alone(otlp: Any) -> None:
    queue = Queue(Limits(queue_spans=10, patience_s=0))
    queue.offer(delivery(otlp, 50))
    assert queue.trouble == "the write queue is full"
    with pytest.raises(Overloaded, match="full"):
        queue.offer(delivery(otlp))


def test_a_sender_waits_for_room_before_it_is_refused(otlp: Any) -> None:
    queue = Queue(Limits(queue_spans=1, patience_s=_PATIENCE_S))
    first, second = delivery(otlp), delivery(otlp)
    queue.offer(first)
    waiting = threading.Thread(target=queue.offer, args=(second,))
    waiting.start()
    queue.ready(Portion(queue.unpack(), None))
    portions, _ = queue.take()
    queue.done(portions)
    waiting.join(_PATIENCE_S)
    queue.welcome()
    assert [second] == queue.unpack()


def test_what_nobody_waits_for_any_more_is_dropped_and_the_next_one_taken(otlp: Any) -> None:
    queue = Queue(Limits())
    given_up, wanted, taken = delivery(otlp), delivery(otlp), []
    queue.offer(given_up)
    given_up.future.cancel()
    taking = threading.Thread(target=lambda: taken.extend(queue.unpack()))
    taking.start()
    queue.offer(wanted)
    taking.join(_PATIENCE_S)
    assert (taken, queue.load().requests) == ([wanted], 1)


def test_closed_it_gives_out_what_it_has_and_then_nothing(otlp: Any) -> None:
    queue = Queue(Limits())
    last = delivery(otlp)
    queue.offer(last)
    queue.close()
    assert ([last], []) == (queue.unpack(), queue.unpack())
    with pytest.raises(Overloaded, match="closing"):
        queue.offer(delivery(otlp))
