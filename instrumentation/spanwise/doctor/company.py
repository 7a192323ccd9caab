"""Other instrumentation that is installed beside ours, and what that means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points

from opentelemetry.instrumentation.environment_variables import OTEL_PYTHON_DISABLED_INSTRUMENTATIONS

from spanwise.content import VARIABLE
from spanwise.doctor.finding import Finding
from spanwise.doctor.versions import installed

GROUP = "opentelemetry_instrumentor"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Somebody who instruments the same SDKs."""

    title: str
    distributions: tuple[str, ...]
    content: str  # whether it records prompts and answers
    stop: str = ""  # how to have it not record them

    def present(self) -> list[str]:
        """Its distributions that are installed, with versions."""
        return [f"{name} {found}" for name in self.distributions if (found := installed(name))]


_BY_DEFAULT = "it records prompts and answers by default"
NEIGHBOURS = (
    Neighbour(
        "the official instrumentation of openai",
        ("opentelemetry-instrumentation-genai-openai",),
        f"it records content only by {VARIABLE}",
    ),
    Neighbour(
        "the official instrumentation of openai, older line",
        ("opentelemetry-instrumentation-openai-v2",),
        f"it records content only by {VARIABLE}, and sees no Responses",
    ),
    Neighbour(
        "OpenLLMetry",
        ("traceloop-sdk", "opentelemetry-instrumentation-openai", "opentelemetry-instrumentation-mcp"),
        _BY_DEFAULT,
        "TRACELOOP_TRACE_CONTENT=false",
    ),
    Neighbour(
        "OpenInference",
        ("openinference-instrumentation-openai", "openinference-instrumentation-mcp"),
        _BY_DEFAULT,
        "OPENINFERENCE_HIDE_INPUTS=true and OPENINFERENCE_HIDE_OUTPUTS=true",
    ),
    Neighbour("Logfire", ("logfire",), _BY_DEFAULT, "leaving its instrument_openai and instrument_mcp out"),
    Neighbour("OpenLIT", ("openlit",), _BY_DEFAULT, "openlit.init(capture_message_content=False)"),
)
_MEANING = "where the program switches it on, both see each call: ours stays as it is, the server counts a call once"


def findings(environ: Mapping[str, str]) -> Iterator[Finding]:
    """One for each neighbour that is installed."""
    found = [(neighbour, present) for neighbour in NEIGHBOURS if (present := neighbour.present())]
    if not found:
        yield Finding(None, "no other instrumentation of openai or mcp is installed")
    for neighbour, present in found:
        text = f"{neighbour.title} is installed ({', '.join(present)}): {_MEANING}; {neighbour.content}"
        yield Finding(None, text, _remedy(neighbour, environ))


def _remedy(neighbour: Neighbour, environ: Mapping[str, str]) -> str:
    found = [f"to have it record no content: {neighbour.stop}"] if neighbour.stop else []
    names = sorted(point.name for point in entry_points(group=GROUP) if _of(point, neighbour))
    off = _names(environ)
    if not off >= set(names):
        listed = ",".join([*sorted(off), *(name for name in names if name not in off)])
        found.append(f"to have it off under opentelemetry-instrument: {OTEL_PYTHON_DISABLED_INSTRUMENTATIONS}={listed}")
    return "; ".join(found)


def _of(point: object, neighbour: Neighbour) -> bool:
    distribution = getattr(point, "dist", None)
    return getattr(distribution, "name", None) in neighbour.distributions


def _names(environ: Mapping[str, str]) -> set[str]:
    return {name.strip() for name in environ.get(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS, "").split(",") if name.strip()}
