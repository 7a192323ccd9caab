"""What Prometheus sees, read from the store at each scrape: restarts and late spans cannot make it drift."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from spanwise_analyzer.books import Books
from spanwise_collector import forwarding
from spanwise_collector.receiver.intake import Outcome

Counts: TypeAlias = Callable[[], Mapping[tuple[str, str], int]]  # by transport and outcome
Forwarded: TypeAlias = Callable[[], Mapping[str, forwarding.Counts]]  # by target

_LABELS = ("transport", "outcome")
_TARGET_LABELS = ("target", "outcome")
_OF_SPANS = frozenset({Outcome.ACCEPTED, Outcome.REJECTED})
_GIGA = 1e9
_SERIES = 1000  # the largest groups; a label must not grow without bound


class Meters(Collector):
    """Stage seconds of all conversations, what the receiver counted and what waits to be written."""

    def __init__(self, books: Books, counts: Counts, forwarded: Forwarded) -> None:
        self._books = books
        self._counts = counts
        self._forwarded = forwarded

    def collect(self) -> Iterator[Metric]:
        """One family after the other."""
        yield self._stages()
        yield from self._received()
        yield from self._queue()
        yield from self._passed_on()

    def describe(self) -> Iterator[Metric]:
        """Nothing: names are fixed, and a scrape at registration would be waste."""
        return iter(())

    def _stages(self) -> Metric:
        family = SummaryMetricFamily(
            "spanwise_stage_seconds", "Active time that conversations spent in a stage.", labels=["stage", "service"]
        )
        for row in self._books.reader().attribution(("stage", "service"))[:_SERIES]:
            labels = [row.group["stage"] or "", row.group["service"] or ""]
            family.add_metric(labels, count_value=row.conversations, sum_value=row.ns / _GIGA)
        return family

    def _received(self) -> Iterator[Metric]:
        spans = CounterMetricFamily("spanwise_receiver_spans", "Spans by what became of them.", labels=_LABELS)
        requests = CounterMetricFamily("spanwise_receiver_requests", "Requests that were not stored.", labels=_LABELS)
        for (transport, outcome), number in sorted(self._counts().items()):
            family = spans if outcome in _OF_SPANS else requests
            family.add_metric([transport, outcome], number)
        yield from (spans, requests)

    def _queue(self) -> Iterator[Metric]:
        load = self._books.store.load()
        yield GaugeMetricFamily("spanwise_queue_requests", "Requests that wait to be written.", load.requests)
        yield GaugeMetricFamily("spanwise_queue_bytes", "Bytes that wait to be written.", load.nbytes)
        yield GaugeMetricFamily("spanwise_queue_spans", "Spans that wait to be written.", load.spans)

    def _passed_on(self) -> Iterator[Metric]:
        spans = CounterMetricFamily("spanwise_forward_spans", "Spans by target and outcome.", labels=_TARGET_LABELS)
        queue = GaugeMetricFamily("spanwise_forward_queue_bytes", "Bytes that wait for a target.", labels=["target"])
        for name, counts in sorted(self._forwarded().items()):
            spans.add_metric([name, "forwarded"], counts.forwarded)
            spans.add_metric([name, "dropped"], counts.dropped)
            queue.add_metric([name], counts.nbytes)
        yield from (spans, queue)


def registry(books: Books, counts: Counts, forwarded: Forwarded) -> CollectorRegistry:
    """A registry of its own, so that nothing of the process's other metrics gets in."""
    found = CollectorRegistry()
    found.register(Meters(books, counts, forwarded))
    return found
