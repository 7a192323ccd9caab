"""What Prometheus sees, read from the store at each scrape: restarts and late spans cannot make it drift."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from spanwise_analyzer.books import Books
from spanwise_collector import forwarding
from spanwise_collector.otlp.limits import Cut
from spanwise_collector.receiver.intake import Outcome
from spanwise_collector.store import BOUNDS_S

Counts: TypeAlias = Callable[[], Mapping[tuple[str, str], int]]  # by transport and what was counted
Redactions: TypeAlias = Callable[[], Mapping[str, int]]  # by kind of rule
Forwarded: TypeAlias = Callable[[], Mapping[str, forwarding.Counts]]  # by target

_SPANS = {Outcome.ACCEPTED: "accepted", Outcome.REJECTED: "rejected", Outcome.REFUSED_SPANS: "refused"}
_REQUESTS = {Outcome.REFUSED: "refused", Outcome.FAILED: "failed"}
_ITEMS = {Outcome.DATA_POINTS: "metrics", Outcome.LOG_RECORDS: "logs"}
_CUTS = {cut: cut for cut in Cut}
_TARGET_LABELS = ("target", "outcome")
_GIGA = 1e9
_SERIES = 1000  # the largest groups; a label must not grow without bound


class Meters(Collector):
    """Stage seconds of all conversations, what the receiver counted and what waits to be written."""

    def __init__(self, books: Books, counts: Counts, redactions: Redactions, forwarded: Forwarded) -> None:
        self._books = books
        self._counts = counts
        self._redactions = redactions
        self._forwarded = forwarded

    def collect(self) -> Iterator[Metric]:
        """One family after the other."""
        yield self._stages()
        yield from self._received()
        yield self._redacted()
        yield from self._queue()
        yield from self._database()
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
        counts = self._counts()
        yield _counted("spanwise_receiver_spans", "Spans by what became of them.", "outcome", counts, _SPANS)
        yield _counted("spanwise_receiver_requests", "Requests not stored.", "outcome", counts, _REQUESTS)
        yield _counted("spanwise_receiver_ignored_items", "Read and not stored.", "signal", counts, _ITEMS)
        yield _counted("spanwise_receiver_cuts", "What was cut or mended in spans.", "reason", counts, _CUTS)

    def _redacted(self) -> Metric:
        family = CounterMetricFamily(
            "spanwise_redactions",
            "Attributes and texts of spans that a rule changed before they were stored.",
            labels=["rule"],
        )
        for rule, number in sorted(self._redactions().items()):
            family.add_metric([rule], number)
        return family

    def _queue(self) -> Iterator[Metric]:
        load = self._books.store.load()
        yield GaugeMetricFamily("spanwise_queue_requests", "Requests that wait to be written.", load.requests)
        yield GaugeMetricFamily("spanwise_queue_bytes", "Bytes that wait to be written.", load.nbytes)
        yield GaugeMetricFamily("spanwise_queue_spans", "Spans that wait to be written.", load.spans)
        most = load.limits
        yield GaugeMetricFamily("spanwise_queue_capacity_bytes", "Bytes that may wait.", most.queue_bytes)
        yield GaugeMetricFamily("spanwise_queue_capacity_spans", "Spans that may wait.", most.queue_spans)
        behind = self._books.behind()
        yield GaugeMetricFamily("spanwise_unaccounted_batches", "Commits that wait for accounts.", behind)

    def _database(self) -> Iterator[Metric]:
        commits = self._books.store.commits()
        buckets = [(str(bound), number) for bound, number in zip(BOUNDS_S, commits.at_most, strict=True)]
        yield HistogramMetricFamily(
            "spanwise_commit_seconds",
            "How long a commit of spans took.",
            buckets=[*buckets, ("+Inf", commits.number)],
            sum_value=commits.seconds,
        )
        size = GaugeMetricFamily("spanwise_database_bytes", "Size of the files of the database.", labels=["file"])
        for name, nbytes in self._books.store.sizes().items():
            size.add_metric([name], nbytes)
        yield size

    def _passed_on(self) -> Iterator[Metric]:
        spans = CounterMetricFamily("spanwise_forward_spans", "Spans by target and outcome.", labels=_TARGET_LABELS)
        queue = GaugeMetricFamily("spanwise_forward_queue_bytes", "Bytes that wait for a target.", labels=["target"])
        for name, counts in sorted(self._forwarded().items()):
            spans.add_metric([name, "forwarded"], counts.forwarded)
            spans.add_metric([name, "dropped"], counts.dropped)
            queue.add_metric([name], counts.nbytes)
        yield from (spans, queue)


def _counted(
    name: str, text: str, label: str, counts: Mapping[tuple[str, str], int], words: Mapping[Any, str]
) -> Metric:
    family = CounterMetricFamily(name, text, labels=["transport", label])
    for (transport, counted), number in sorted(counts.items()):
        if counted in words:
            family.add_metric([transport, words[counted]], number)
    return family


def registry(books: Books, counts: Counts, redactions: Redactions, forwarded: Forwarded) -> CollectorRegistry:
    """A registry of its own, so that no metrics of other libraries get in."""
    found = CollectorRegistry()
    found.register(Meters(books, counts, redactions, forwarded))
    ProcessCollector(registry=found)
    return found
