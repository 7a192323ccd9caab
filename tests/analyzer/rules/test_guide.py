"""The guide as a whole: retries and gaps, gates, ranking, completeness of its data, and its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.analyzer.core.scene import agent, chat, span
from tests.analyzer.rules.cases import expected_ms, found, function, keys, ledger, model, remote, rules, shown, turn

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.rules import book, guide, page
from spanwise_analyzer.rules.finding import Finding, Saving, SavingKind
from spanwise_analyzer.rules.guide import rank, recommend
from spanwise_collector.span import Span, Status, Value

ROOT = Path(__file__).parents[3]


def limited(pause: float) -> list[Span]:
    """A model call whose first attempt is refused after 50 ms, and that waits before the next one."""
    end = 50 + pause + 500
    refused = span("a1", 0, 50, "m", {semconv.RETRY_ATTEMPT: 1}, status=Status.ERROR)
    return [turn(end), model("m", 0, end), refused, span("a2", 50 + pause, end, "m", {semconv.RETRY_ATTEMPT: 2})]


def test_failed_attempts_and_pauses_are_counted_exactly() -> None:
    finding = found("reduce-retries", limited(700))
    assert expected_ms(finding) == 750
    assert finding is not None
    assert (finding.stage, sorted(shown(finding))) == (Stage.RETRY_BACKOFF, sorted(keys("a1", "m")))
    assert rules(limited(700)) == ["reduce-retries"]


def test_a_tool_that_fails_and_is_called_again_is_a_retry() -> None:
    said: dict[str, Value] = {semconv.TOOL_ARGS_HASH: "h"}
    first = replace(function("f1", 500, 900, said, tool_name="f"), status=Status.ERROR)
    spans = [
        turn(2000),
        model("m1", 0, 500),
        first,
        function("f2", 1000, 1400, said, tool_name="f"),
        model("m2", 1400, 2000),
    ]
    assert rules(spans) == ["reduce-retries"]
    assert expected_ms(found("reduce-retries", spans)) == 500


def test_noise_is_not_worth_a_recommendation() -> None:
    spans = [turn(10_000), replace(function("f", 0, 15, {semconv.TOOL_ARGS_HASH: "h"}), status=Status.ERROR)]
    assert (
        rules(
            [*spans, function("f-again", 15, 30, {semconv.TOOL_ARGS_HASH: "h"}, tool_name="f"), model("m", 30, 10_000)]
        )
        == []
    )


def silent(hole: float) -> list[Span]:
    """A turn with two model calls and a hole between them."""
    return [turn(1000 + hole), model("m1", 0, 500), model("m2", 500 + hole, 1000 + hole)]


def test_a_gap_that_is_the_long_pole_is_named_first_without_a_claim() -> None:
    finding = found("instrument-the-gap", silent(2000))
    assert finding is not None
    assert (finding.kind, finding.saving, finding.stage) == (SavingKind.NONE, None, Stage.AGENT_OVERHEAD)
    assert [(each.span, each.ns) for each in finding.evidence] == [(*keys("turn"), 2_000_000_000)]
    assert "nothing instrumented ran" in finding.evidence[0].what
    assert "model's client" not in finding.evidence[0].what


def test_where_no_model_call_is_traced_the_models_client_is_what_to_instrument() -> None:
    finding = found("instrument-the-gap", [turn(3000), function("t", 0, 500)])
    assert finding is not None
    assert "inside 'turn' of" in finding.evidence[0].what
    assert "instrument the model's client first" in finding.evidence[0].what


def test_a_gap_that_is_not_the_long_pole_is_left_to_the_shares() -> None:
    assert rules(silent(800)) == []


def test_many_small_gaps_are_no_gap() -> None:
    calls = [model(f"m{number}", 500 * number, 500 * number + 100) for number in range(10)]
    assert found("instrument-the-gap", [turn(5000), *calls]) is None


def test_marked_work_is_no_gap() -> None:
    assert rules([*silent(2000), span("screen", 500, 2500, "turn", {semconv.STAGE: "prepare"})]) == []


def test_an_opaque_server_as_long_pole_asks_for_instrumentation() -> None:
    spans = [turn(3000), model("m1", 0, 500), *remote("t", 500, 2500), model("m2", 2500, 3000)]
    finding = found("instrument-the-gap", spans)
    assert finding is not None
    assert finding.stage is Stage.MCP_OPAQUE
    assert finding.evidence[0].what.startswith("the MCP server ")
    assert finding.evidence[0].what.endswith(" is not instrumented")


def codes(spans: list[Span]) -> list[str]:
    return [notice.code for notice in recommend(ledger(spans)).notices]


def test_without_a_judgement_correctness_comes_first() -> None:
    assert codes([agent("a", 0, 100)]) == ["define-correct-first"]
    assert codes([turn(100)]) == []
    assert codes([agent("a", 0, 100, attributes={semconv.QUALITY_PASSED: False})]) == ["correctness-failing"]


def test_incomplete_measurement_is_said() -> None:
    bare = [turn(1000), *remote("t", 0, 500), chat("m", 500, 1000, "turn")]
    assert codes(bare) == ["opaque-servers", "missing-usage"]


def finding(rule: str, kind: SavingKind, expected: int | None) -> Finding:
    saving = None if expected is None else Saving(0, expected, expected)
    return Finding(rule, None, kind, saving, ())


def test_own_spans_rank_before_effects_measured_elsewhere_and_the_platform_last() -> None:
    ranked = [
        finding("instrument-the-gap", SavingKind.NONE, None),
        finding("overlap-tool-calls", SavingKind.EXACT, 300),
        finding("cache-tool-results", SavingKind.EXACT, 200),
        finding("merge-model-rounds", SavingKind.EXACT, 200),
        finding("narrow-tool-catalogue", SavingKind.EXTERNAL, 900),
        finding("slim-tool-definitions", SavingKind.EXTERNAL, 800),
        finding("drop-duplicate-structured-result", SavingKind.NONE, None),
        finding("service-tier", SavingKind.EXTERNAL, 5000),
    ]
    assert sorted([*ranked[4:], *ranked[:4]], key=rank) == ranked


def test_every_rule_has_words_and_a_file_of_its_name() -> None:
    names = {rule.__module__.rpartition(".")[2].replace("_", "-") for rule in guide.RULES}
    assert names == set(book.rules())
    for entry in book.rules().values():
        words = (entry.title, entry.advice, entry.source, entry.must_still_hold, entry.verify, entry.not_when)
        assert all(words)
        assert entry.priority in {f"P{number}" for number in range(1, 7)}


def test_every_effect_lies_in_its_interval() -> None:
    for effect in book.effects().values():
        assert effect.low <= effect.change <= effect.high
        assert effect.qualifier


def test_the_page_of_the_guide_is_up_to_date() -> None:
    assert (ROOT / "docs" / "decision-guide.md").read_text(encoding="utf-8") == page.page()


def test_reading_twice_gives_the_same_advice() -> None:
    spans = [*limited(700), function("f", 0, 1)]
    assert recommend(ledger(spans)) == recommend(ledger(list(reversed(spans))))
