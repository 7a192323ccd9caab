"""What the environment decides: whether anything is traced, how much of it, and what of it is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opentelemetry.environment_variables import OTEL_PROPAGATORS
from opentelemetry.sdk.environment_variables import (
    OTEL_RESOURCE_ATTRIBUTES,
    OTEL_SDK_DISABLED,
    OTEL_SERVICE_NAME,
    OTEL_TRACES_SAMPLER,
    OTEL_TRACES_SAMPLER_ARG,
)

from spanwise import content, hashing
from spanwise.doctor.finding import Finding
from spanwise.installation import disabled
from spanwise.safety import RAISE_VARIABLE
from spanwise.semconv import SERVICE_NAME

_ALL = frozenset({"", "always_on", "parentbased_always_on"})
_NONE = frozenset({"always_off", "parentbased_always_off"})
_SHARE = frozenset({"traceidratio", "parentbased_traceidratio"})
_NEEDED = ("tracecontext", "baggage")


def findings(environ: Mapping[str, str]) -> Iterator[Finding]:
    """One for each decision; those that stop everything come first."""
    if disabled(environ):
        yield Finding(
            ok=False, text=f"{OTEL_SDK_DISABLED}=true: nothing is traced", remedy=f"unset {OTEL_SDK_DISABLED}"
        )
    if environ.get(RAISE_VARIABLE) == "1":
        yield Finding(
            ok=False,
            text=f"{RAISE_VARIABLE}=1: faults of the instrumentation reach the agent",
            remedy=f"unset {RAISE_VARIABLE}; only the tests of spanwise want it",
        )
    yield _name(environ)
    yield _sampling(environ)
    yield from _propagation(environ)
    yield _content(environ)
    yield _hashes(environ)


def _name(environ: Mapping[str, str]) -> Finding:
    # Only what the variables say: the program may name itself in its call of instrument.
    given = environ.get(OTEL_SERVICE_NAME) or _resource(environ).get(SERVICE_NAME)
    if given:
        return Finding(None, f"service name: {given}")
    return Finding(
        None, f"service name: none by {OTEL_SERVICE_NAME}; unknown_service unless instrument(service_name=...)"
    )


def _resource(environ: Mapping[str, str]) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in environ.get(OTEL_RESOURCE_ATTRIBUTES, "").split(","))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _sampling(environ: Mapping[str, str]) -> Finding:
    name = environ.get(OTEL_TRACES_SAMPLER, "").strip().lower()
    if name in _ALL:
        return Finding(None, "sampling: every trace is recorded")
    if name in _NONE:
        return Finding(
            ok=False,
            text=f"{OTEL_TRACES_SAMPLER}={name}: no trace that begins here is recorded",
            remedy=f"unset {OTEL_TRACES_SAMPLER}",
        )
    if name not in _SHARE:
        return Finding(None, f"{OTEL_TRACES_SAMPLER}={name}: not one of the SDK's own samplers; it decides by itself")
    share = environ.get(OTEL_TRACES_SAMPLER_ARG) or "1.0"
    return Finding(
        None,
        f"sampling: {OTEL_TRACES_SAMPLER}={name} records this share of traces: {share}",
        "each turn is a trace of its own, so conversations will miss turns; for whole conversations record everything",
    )


def _propagation(environ: Mapping[str, str]) -> Iterator[Finding]:
    given = environ.get(OTEL_PROPAGATORS)
    missing = [name for name in _NEEDED if given and name not in {part.strip() for part in given.split(",")}]
    if missing:
        yield Finding(
            None,
            f"{OTEL_PROPAGATORS}={given}: MCP servers in other processes will not learn their conversation",
            f"add {' and '.join(missing)} to it",
        )


def _content(environ: Mapping[str, str]) -> Finding:
    given = environ.get(content.VARIABLE, "")
    if content.wanted(environ):
        return Finding(
            None, f"content capture: on by {content.VARIABLE}={given}; prompts, arguments and results are sent"
        )
    why = f"{content.VARIABLE}={given} does not switch it on" if given else f"{content.VARIABLE} is not set"
    return Finding(None, f"content capture: off, {why}; instrument(capture_content=True) would switch it on")


def _hashes(environ: Mapping[str, str]) -> Finding:
    if environ.get(hashing.KEY_VARIABLE):
        return Finding(
            None, f"hashes: key by {hashing.KEY_VARIABLE}, key id {hashing.key_id()}; they compare everywhere"
        )
    return Finding(
        None,
        f"hashes: a random key for each process; they compare between processes once {hashing.KEY_VARIABLE} is set",
    )
