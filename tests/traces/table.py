"""What public trace files hold, by their sources or a script that knows nothing of Spanwise; see SPANWISE_TRACES."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_OTLP: Final = "OTLP JSON"
_WRAPPED: Final = "OTLP JSON as Tempo and Jaeger wrap it"
_JAEGER: Final = "Jaeger JSON"
_ROWS: Final = "rows of ClickHouse's otel_traces"
_SDK: Final = "spans of an SDK"
_LANGFUSE: Final = "Langfuse export"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Of the conversation whose id begins so: times in s, input tokens; None where nobody says."""

    conversation: str = ""
    window_s: float
    model_s: float | None = None
    tool_s: float | None = None
    input_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """How a file is read, or why it is refused; ``why`` explains where the truth is not what one would first say."""

    name: str
    format: str = ""
    spans: int = 0
    traces: int = 0
    refused: str = ""
    ledgers: tuple[Ledger, ...] = ()
    why: str = ""


FILES: Final = (
    File(
        name="ymtdzzz__otel-tui__otel-demo.minus-line3.otlp.jsonl",
        format=_OTLP,
        spans=547,
        traces=141,
        ledgers=(Ledger(conversation="09f5d449", window_s=5.010), Ledger(conversation="42a60545", window_s=5.005)),
        why="the cause of the first trace lies in the second, which names no parent: nothing ties them together",
    ),
    File(
        name="jaegertracing__jaeger__hotrod_n_plus_one_positive.otlp.json",
        format=_OTLP,
        spans=16,
        traces=1,
        ledgers=(Ledger(window_s=1.685),),
    ),
    File(
        name="jaegertracing__jaeger-ui__genai_agent-trace.json",
        format=_OTLP,
        spans=8,
        traces=1,
        ledgers=(Ledger(window_s=12.0, model_s=5.93, tool_s=1.9),),
    ),
    File(
        name="kiali__kiali__bookinfo_responseTrace.tempo.json",
        format=_WRAPPED,
        spans=8,
        traces=1,
        ledgers=(Ledger(window_s=0.011932),),
    ),
    File(
        name="grafana__agent__tns_trace-sample.json",
        format=_WRAPPED,
        spans=17,
        traces=2,
        ledgers=(Ledger(conversation="5250", window_s=2.504), Ledger(conversation="3580", window_s=4.0)),
    ),
    File(
        name="open-telemetry__opentelemetry-proto__examples_trace.otlp.json",
        format=_OTLP,
        spans=1,
        traces=1,
        ledgers=(Ledger(window_s=1.0),),
    ),
    File(
        name="jaegertracing__jaeger-ui__otlp2jaeger-multi-in.jsonl",
        format=_OTLP,
        spans=4,
        traces=1,
        ledgers=(Ledger(window_s=0.176322),),
    ),
    File(name="smithclay__otlp2parquet__traces.otlp.pb", format="OTLP protobuf", spans=19, traces=19),
    File(
        name="smithclay__otlp2parquet__invalid_trace_invalid_base64.otlp.json",
        refused="traceId: expected 32 hex digits, found '!!!INVALID_BASE64!!!'",
    ),
    File(
        name="duo-rs__duo__hotrod_traces.jaeger.json",
        format=_JAEGER,
        spans=51,
        traces=1,
        ledgers=(Ledger(window_s=0.764813),),
    ),
    File(
        name="UWNetworksLab__meshinsight__example2.jaeger.json",
        format=_JAEGER,
        spans=29,
        traces=1,
        ledgers=(Ledger(window_s=0.013622),),
    ),
    File(
        name="uber-research__CRISP__case15.jaeger.json",
        format=_JAEGER,
        spans=7,
        traces=1,
        ledgers=(Ledger(window_s=0.0001),),
    ),
    File(
        name="uber-research__CRISP__case24.jaeger.json",
        format=_JAEGER,
        spans=9,
        traces=1,
        ledgers=(Ledger(window_s=0.0007),),
    ),
    File(
        name="jaegertracing__jaeger-ui__genaiTestTrace.jaeger.json",
        format=_JAEGER,
        spans=57,
        traces=1,
        ledgers=(Ledger(window_s=44.0, model_s=3.545),),
        why="the model calls cover 3.549 s; for 4 ms of them the run waited for something beside them",
    ),
    File(
        name="jaegertracing__jaeger-ui__stats_spanLongerAsParent.jaeger.json",
        format=_JAEGER,
        spans=8,
        traces=1,
    ),
    File(
        name="jaegertracing__jaeger-ui__stats_spanAmongEachOther.jaeger.json",
        format=_JAEGER,
        spans=17,
        traces=1,
        ledgers=(Ledger(window_s=0.00372),),
    ),
    File(
        name="agntcy__telemetry-hub__otel_traces.clickhouse.json",
        format=_ROWS,
        spans=236,
        traces=33,
        ledgers=(
            Ledger(conversation="multi-agent-service_689d", window_s=87.0),
            Ledger(conversation="multi-agent-service_ed1e", window_s=47.2, model_s=11.596, tool_s=4.593),
            Ledger(conversation="multi-agent-service_aea8", window_s=12.5),
        ),
        why="one run is several traces, tied by session.id",
    ),
    File(
        name="agntcy__telemetry-hub__gls_linear.clickhouse.json",
        format=_ROWS,
        spans=126,
        traces=7,
        ledgers=(Ledger(window_s=27.409, model_s=18.514, tool_s=8.374),),
        why="the main trace lasts 27.403 s; the session, 6 ms longer, begins with another one",
    ),
    File(
        name="agntcy__telemetry-hub__single_session.clickhouse.json",
        format=_ROWS,
        spans=9,
        traces=2,
        ledgers=(Ledger(window_s=3.584, model_s=3.534),),
    ),
    File(
        name="strands-agents__evals__adk_live_spans.json",
        format=_SDK,
        spans=7,
        traces=1,
        ledgers=(Ledger(window_s=3.446, model_s=2.108, tool_s=0.0005),),
    ),
    File(
        name="strands-agents__evals__claude_adot_spans.json",
        format=_SDK,
        spans=8,
        traces=1,
        ledgers=(Ledger(window_s=31.618, model_s=0.0, tool_s=11.299),),
        why="no span of a model call is there: 20 s are the agent's, and nothing is guessed",
    ),
    File(
        name="strands-agents__evals__openai_agents_genai_live_spans.json",
        format=_SDK,
        spans=17,
        traces=1,
        ledgers=(Ledger(window_s=18.631, model_s=18.619),),
    ),
    File(
        name="strands-agents__evals__openai_agents_openinference_adot_spans.json",
        format=_SDK,
        spans=16,
        traces=1,
        ledgers=(Ledger(window_s=5.122, model_s=5.1, tool_s=0.0012),),
    ),
    File(
        name="strands-agents__evals__openai_agents_otel_live_spans.json",
        format=_SDK,
        spans=19,
        traces=1,
        ledgers=(Ledger(window_s=6.121, model_s=6.095),),
    ),
    File(
        name="strands-agents__evals__pydantic_ai_live_spans.json",
        format=_SDK,
        spans=4,
        traces=1,
        ledgers=(Ledger(window_s=4.519, model_s=4.513, tool_s=0.0004, input_tokens=1251),),
    ),
    File(
        name="strands-agents__evals__smolagents_live_spans.json",
        format=_SDK,
        spans=7,
        traces=1,
        ledgers=(Ledger(window_s=4.071, model_s=3.27, tool_s=0.791),),
    ),
    File(
        name="strands-agents__evals__otel_genai_convention_spans.json",
        format=_SDK,
        spans=5,
        traces=1,
        ledgers=(Ledger(window_s=6.0, model_s=2.0, tool_s=2.0),),
    ),
    File(
        name="langfuse__langfuse__beeai-2025-08-01.langfuse.json",
        format=_LANGFUSE,
        spans=29,
        traces=1,
        ledgers=(Ledger(window_s=17.173, model_s=8.549, tool_s=1.785),),
        why="each span is an event and stays open to the end of the run: a call lasts to the next event",
    ),
    File(
        name="langfuse__langfuse__claude-agent-2025-12-22.langfuse.json",
        format=_LANGFUSE,
        spans=7,
        traces=1,
        ledgers=(Ledger(window_s=7.36, model_s=7.278, tool_s=0.082),),
        why="the four calls sum to 11.054 s and cover 7.360 s, in 82 ms of which two tools ran",
    ),
    File(
        name="langfuse__langfuse__koog-2025-08-26.langfuse.json",
        format=_LANGFUSE,
        spans=11,
        traces=1,
        ledgers=(Ledger(window_s=5.843, model_s=4.782, tool_s=1.014),),
    ),
    File(
        name="langfuse__langfuse__langgraph-python-2025-08-22.langfuse.json",
        format=_LANGFUSE,
        spans=9,
        traces=1,
        ledgers=(Ledger(window_s=2.61, model_s=2.591),),
    ),
    File(
        name="langfuse__langfuse__openai-agents-2025-09-30.langfuse.json",
        format=_LANGFUSE,
        spans=5,
        traces=1,
        ledgers=(Ledger(window_s=2.19, model_s=2.186, tool_s=0.0),),
    ),
    File(
        name="Arize-ai__openinference__vercel_v6_all-spans.json",
        format=_SDK,
        spans=10,
        traces=10,
        ledgers=(
            Ledger(conversation="edff2fc5", window_s=3.034, model_s=3.034),
            Ledger(conversation="700d5f98", window_s=1.782, model_s=0.0),
        ),
        why="outer and inner span of each call are in traces of their own; only the inner one is a model call",
    ),
    File(name="NVIDIA__NeMo-Agent-Toolkit__hermes_atif-trajectory.json", refused="an ATIF trajectory"),
    File(name="UKGovernmentBEIS__inspect_ai__browser.inspectlog.json", refused="an Inspect evaluation log"),
    File(name="UKGovernmentBEIS__inspect_ai__popularity.inspectlog.json", refused="an Inspect evaluation log"),
    File(name="ljoukov__llm__agentbench_summary.json", refused="a summary of runs"),
)
