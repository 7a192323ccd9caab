"""The standard variables mean for us what they mean for every other part of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from tests.instrumentation.receiving import Arrived, Receiving, run

from spanwise import semconv

PROGRAM = """
    import spanwise
    spanwise.instrument()
    with spanwise.conversation("c-1"), spanwise.turn(2, agent="shop") as turn, spanwise.step("s", a=1, b=2):
        from opentelemetry import propagate
        carrier = {}
        propagate.inject(carrier)
        print("carries", sorted(carrier), carrier.get("baggage"))
"""
CARRIES = "carries ['baggage', 'traceparent'] gen_ai.conversation.id=c-1,spanwise.turn=2"
NAMES = ["agent.step.s", "invoke_agent shop"]
URL = "{url}"
BASE = {"OTEL_EXPORTER_OTLP_ENDPOINT": URL}


def always(_found: Receiving) -> bool:
    return True


def attribute(name: str, value: object) -> Callable[[Receiving], bool]:
    return lambda found: all(value == span.resource[name] for span in found.spans)


def header(name: str, value: str) -> Callable[[Receiving], bool]:
    return lambda found: [value] == [headers.get(name) for headers in found.headers]


def path(expected: str) -> Callable[[Receiving], bool]:
    return lambda found: [expected] == found.paths


def of_each(holds: Callable[[Arrived], bool]) -> Callable[[Receiving], bool]:
    return lambda found: all(holds(span) for span in found.spans)


@dataclass(frozen=True, slots=True)
class Case:
    """Variables, and what a program does under them."""

    variables: dict[str, str]
    names: list[str] = field(default_factory=lambda: NAMES)
    holds: Callable[[Receiving], bool] = always
    said: str = CARRIES
    warned: str = ""  # one line
    base: bool = True  # with an endpoint


CASES = {
    "disabled": Case({"OTEL_SDK_DISABLED": "true"}, [], said="carries ['baggage'] gen_ai.conversation.id=c-1"),
    "not disabled": Case({"OTEL_SDK_DISABLED": "false"}),
    "sampled never": Case({"OTEL_TRACES_SAMPLER": "always_off"}, []),
    "sampled by ratio": Case({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}, []),
    "exporter none": Case({"OTEL_TRACES_EXPORTER": "none"}, []),
    "exporter console": Case({"OTEL_TRACES_EXPORTER": "console"}, [], said='"name": "invoke_agent shop"'),
    "exporter otlp": Case({"OTEL_TRACES_EXPORTER": "otlp"}),
    "exporter otlp and console": Case({"OTEL_TRACES_EXPORTER": "otlp, console"}, said='"name": "invoke_agent shop"'),
    "exporter unknown": Case({"OTEL_TRACES_EXPORTER": "zork"}, [], warned="names 'zork', which is not installed"),
    "endpoint": Case({}, holds=path("/v1/traces")),
    "endpoint with a path": Case({"OTEL_EXPORTER_OTLP_ENDPOINT": URL + "/in/"}, holds=path("/in/v1/traces")),
    "endpoint for traces": Case({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL + "/as/is"}, holds=path("/as/is")),
    "endpoint for traces alone": Case(
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL + "/as/is"}, holds=path("/as/is"), base=False
    ),
    "protocol http": Case({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, holds=path("/v1/traces")),
    # What listens there does not speak it.
    "protocol grpc": Case({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, [], warned="spans were lost"),
    "protocol unknown": Case({"OTEL_EXPORTER_OTLP_PROTOCOL": "smoke"}, warned="OTLP protocol 'smoke' is not supported"),
    "headers": Case(
        {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20t"}, holds=header("authorization", "Bearer t")
    ),
    "queue not a number": Case({"OTEL_BSP_MAX_QUEUE_SIZE": "many"}, warned="is no positive number"),
    "attribute count": Case(
        {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "3"},
        holds=of_each(lambda span: len(span.attributes) <= 3),
        warned="Attributes dict is full",
    ),
    "attribute length": Case(
        {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "2"},
        holds=of_each(lambda span: span.attributes[semconv.GEN_AI_CONVERSATION_ID] == "c-"),
        warned="exceeds max length of 2",
    ),
    "propagators": Case({"OTEL_PROPAGATORS": "tracecontext"}, said="carries ['traceparent'] None"),
    "resource": Case(
        {"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=lab"},
        holds=attribute("deployment.environment.name", "lab"),
    ),
    "resource over our own": Case(
        {"OTEL_RESOURCE_ATTRIBUTES": "host.name=h,service.name=r"}, holds=attribute("host.name", "h")
    ),
    "service": Case({"OTEL_SERVICE_NAME": "named"}, holds=attribute("service.name", "named")),
}


@pytest.fixture
def receiving() -> Iterator[Receiving]:
    with Receiving().serving() as made:
        yield made


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_variable_means_what_the_standard_says(receiving: Receiving, case: Case) -> None:
    variables = (BASE if case.base else {}) | case.variables
    given = {name: value.replace(URL, receiving.url) for name, value in variables.items()}
    done = run(PROGRAM, endpoint=None, **given)
    assert case.said in done.stdout
    assert case.warned in done.stderr
    assert bool(case.warned) == bool(done.stderr), done.stderr
    assert case.names == receiving.names()
    assert case.holds(receiving)


def test_a_propagator_that_is_not_there_is_told_and_costs_only_itself(receiving: Receiving) -> None:
    program = """
        import os
        import spanwise
        spanwise.instrument()
        with spanwise.conversation("c-1"), spanwise.turn(2, agent="shop"):
            print("carries", sorted(spanwise.environment()))
    """
    done = run(program, endpoint=receiving.url, OTEL_PROPAGATORS="b33,tracecontext")
    assert "OTEL_PROPAGATORS='b33,tracecontext' cannot be used" in done.stderr
    assert 1 == len(done.stderr.splitlines())
    assert "TRACEPARENT" in done.stdout
    assert ["invoke_agent shop"] == receiving.names()
