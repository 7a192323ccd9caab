"""A run of an experiment is known on every span, in every process, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise
from spanwise import context, semconv, trial
from spanwise.safety import _seen

RUN: dict[str, Any] = {
    semconv.EXPERIMENT_ID: "e-1",
    semconv.EXPERIMENT_ARM: "short prompt, ü",
    semconv.EXPERIMENT_FIXTURE: "order=17;x",
    semconv.EXPERIMENT_ROUND: 3,
    semconv.EXPERIMENT_POSITION: 0,
    semconv.EXPERIMENT_SEED: -(2**63),
}


def begun() -> spanwise.experiment:
    names = [key.rpartition(".")[2] for key in trial.KEYS]
    return spanwise.experiment(**dict(zip(names, RUN.values(), strict=True)))


def seen(exporter: InMemorySpanExporter) -> list[dict[str, Any]]:
    spans = [dict(span.attributes or {}) for span in exporter.get_finished_spans()]
    return [{key: value for key, value in span.items() if key in trial.KEYS} for span in spans]


def over_the_wire() -> Context:
    """The current context as another process gets it."""
    carrier: dict[str, str] = {}
    inject(carrier)
    return extract(carrier, Context())


def test_it_travels_to_other_processes_with_its_types(exporter: InMemorySpanExporter) -> None:
    with begun():
        arrived = over_the_wire()
    assert trial.attributes(arrived) == RUN
    assert trial.attributes(context.carried(arrived, Context())) == RUN
    assert trial.attributes() == {}


def test_it_goes_where_the_conversation_goes_and_no_further(exporter: InMemorySpanExporter) -> None:
    with begun(), spanwise.conversation("c-1"):
        assert trial.attributes(context.without_conversation()) == {}


def test_conversations_inside_and_around_it_are_independent_of_it(exporter: InMemorySpanExporter) -> None:
    with begun(), spanwise.conversation("c-1"), spanwise.turn():
        pass
    with spanwise.conversation("c-1"), spanwise.turn(), begun(), spanwise.step("look"):
        pass
    assert seen(exporter) == [RUN, RUN, {}]


def test_an_experiment_inside_another_hides_it_wholly(exporter: InMemorySpanExporter) -> None:
    with begun(), spanwise.experiment("e-2", arm="long"), spanwise.step("inner"):
        pass
    assert seen(exporter) == [{semconv.EXPERIMENT_ID: "e-2", semconv.EXPERIMENT_ARM: "long"}]


@pytest.mark.parametrize("number", [1.5, True, "x", 2**63, -(2**63) - 1, "٣", 10**400])
def test_a_number_that_is_none_is_ignored_with_a_word(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture, number: Any
) -> None:
    _seen.clear()
    with spanwise.experiment("e-1", round=number), spanwise.step("look"):
        pass
    assert seen(exporter) == [{semconv.EXPERIMENT_ID: "e-1"}]
    assert [record.message for record in caplog.records] == [
        "spanwise: spanwise.experiment.round is no whole number of 64 bits, and is ignored"
    ]


@pytest.mark.parametrize("name", ["", "   ", None])
def test_an_experiment_without_an_id_is_none(exporter: InMemorySpanExporter, name: Any) -> None:
    with spanwise.experiment(name, arm="long"), spanwise.step("look"):
        pass
    assert seen(exporter) == [{}]


def test_a_text_that_cannot_be_written_is_replaced_and_a_long_one_is_shortened(exporter: InMemorySpanExporter) -> None:
    with spanwise.experiment("half \ud800", arm="x" * 10_000), spanwise.step("look"):
        arrived = trial.attributes(over_the_wire())
    (found,) = seen(exporter)
    assert found == arrived
    assert found[semconv.EXPERIMENT_ID] == "half \ufffd"
    assert len(found[semconv.EXPERIMENT_ARM]) == 256


@pytest.mark.parametrize("value", ["", "x", "1e3", "9" * 20, "--1", "-"])
def test_a_number_from_outside_that_is_none_is_ignored(exporter: InMemorySpanExporter, value: str) -> None:
    arrived = extract({"baggage": f"spanwise.experiment.id=e-1,spanwise.experiment.round={value}"}, Context())
    assert trial.attributes(arrived) == {semconv.EXPERIMENT_ID: "e-1"}
