"""Model calls: what they write, read, and are served with."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.analyzer.core.scene import span
from tests.analyzer.rules.cases import (
    altered,
    asking,
    bounds_ms,
    expected_ms,
    found,
    function,
    keys,
    model,
    rules,
    shown,
    turn,
)

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.rules.facts.norms import Norms
from spanwise_analyzer.rules.finding import SavingKind
from spanwise_analyzer.rules.slope import Price, Slope
from spanwise_collector.span import Span, Value


def written(consumed: int | None, extra: Mapping[str, Value] | None = None, *, output: int = 401) -> list[Span]:
    """An answer written at 5 ms a token after 500 ms, of which ``consumed`` tokens were used."""
    marks: dict[str, Value] = {} if consumed is None else {semconv.OUTPUT_CONSUMED_TOKENS: consumed}
    end = 500 + 5 * (output - 1)
    return [turn(end, **marks), model("m", 0, end, extra, tokens=(500, output), first=500)]


def test_unused_tokens_cost_their_writing() -> None:
    finding = found("trim-output", written(101))
    assert finding is not None
    assert (finding.kind, finding.stage) == (SavingKind.MODELLED, Stage.MODEL_GENERATE)
    assert expected_ms(finding) == pytest.approx(1500)
    assert shown(finding) == keys("m")


def test_an_answer_that_is_used_or_unjudged_is_not_too_long() -> None:
    assert rules(written(400)) == []
    assert rules(written(None)) == []


def test_writing_that_is_a_small_part_is_left_alone() -> None:
    assert found("trim-output", written(10, output=40)) is None


def test_reasoning_is_no_text_to_trim() -> None:
    assert found("trim-output", written(50, {semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: 300})) is None


def test_a_cut_answer_has_only_the_articles_effect() -> None:
    finding = found("trim-output", written(None, {semconv.GEN_AI_RESPONSE_FINISH_REASONS: ["length"]}))
    assert finding is not None
    assert finding.kind is SavingKind.EXTERNAL
    assert (expected_ms(finding), *bounds_ms(finding)) == pytest.approx((650, 0, 902.5))


def test_calls_that_were_not_streamed_are_compared_as_a_whole() -> None:
    short = model("m1", 0, 700, tokens=(500, 40))
    long = model("m2", 700, 3200, tokens=(500, 400))
    finding = found("trim-output", [turn(3200, **{semconv.OUTPUT_CONSUMED_TOKENS: 40}), short, long])
    assert finding is not None
    assert (finding.kind, finding.stage, expected_ms(finding)) == (SavingKind.MODELLED, Stage.MODEL_CALL, 1800)


def prompts(blocks: list[str], *, cached: int | None = 0, gap: float = 0, tools: int = 0) -> list[Span]:
    """Two calls of 2,000 input tokens; the first with its own blocks, the second with ``blocks``."""
    first: dict[str, Value] = {semconv.PROMPT_BLOCKS: ["instructions:a:1500", "user:b:500"]}
    second: dict[str, Value] = {semconv.PROMPT_BLOCKS: blocks, semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: cached}
    if tools:
        second[semconv.TOOLS_COUNT] = tools
    late = model("m2", 1000 + gap, 2000 + gap, tokens=(2000, 40))
    return [turn(2000 + gap), model("m1", 0, 1000, first, tokens=(2000, 40)), altered(late, second)]


def test_a_repeated_prefix_without_cached_tokens_is_named() -> None:
    finding = found("stabilise-prompt-prefix", prompts(["instructions:a:1500", "user:c:500"]))
    assert finding is not None
    assert finding.kind is SavingKind.EXTERNAL
    assert (expected_ms(finding), *bounds_ms(finding)) == pytest.approx((149, 0, 252))
    assert shown(finding) == keys("m2")


def test_instructions_with_something_changed_in_them_break_the_prefix() -> None:
    finding = found("stabilise-prompt-prefix", prompts(["instructions:x:1503", "user:c:500"]))
    assert finding is not None
    assert "instructions block changed" in finding.evidence[0].what


def test_a_marker_before_the_instructions_breaks_the_prefix() -> None:
    first = {semconv.PROMPT_BLOCKS: ["instructions:t1:10", "instructions:a:1500", "user:b:490"]}
    second: dict[str, Value] = {
        semconv.PROMPT_BLOCKS: ["instructions:t2:10", "instructions:a:1500", "user:c:490"],
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 0,
    }
    calls = [model("m1", 0, 1000, first, tokens=(2000, 40)), model("m2", 1000, 2000, second, tokens=(2000, 40))]
    assert rules([turn(2000), *calls]) == ["stabilise-prompt-prefix"]


def test_another_prompt_is_not_an_edited_one() -> None:
    assert found("stabilise-prompt-prefix", prompts(["instructions:x:900", "user:c:1100"])) is None


def test_cached_tokens_or_no_report_of_them_are_no_miss() -> None:
    same = ["instructions:a:1500", "user:c:500"]
    assert found("stabilise-prompt-prefix", prompts(same, cached=1408)) is None
    assert found("stabilise-prompt-prefix", prompts(same, cached=None)) is None


def test_a_cache_that_has_expired_could_not_be_hit() -> None:
    assert found("stabilise-prompt-prefix", prompts(["instructions:a:1500", "user:c:500"], gap=301_000)) is None


def test_for_tool_workloads_the_doubt_is_said() -> None:
    finding = found("stabilise-prompt-prefix", prompts(["instructions:a:1500", "user:c:500"], tools=3))
    assert finding is not None
    assert finding.caveats
    assert bounds_ms(finding) == (0, 120)


def test_prices_of_the_fleet_model_the_prefix() -> None:
    price = Slope(uncached=Price(90_000, 100_000, 110_000), cached=Price(0, 10_000, 20_000), rows=100)
    norms = Norms(slopes={("openai", "m", "h", None, False): price})
    finding = found("stabilise-prompt-prefix", prompts(["instructions:a:1500", "user:c:500"]), norms)
    assert finding is not None
    assert (finding.kind, expected_ms(finding)) == (SavingKind.MODELLED, 135)


def test_shuffled_tools_are_named_instead_of_the_prefix() -> None:
    def spans(order: str, names: str = "n") -> list[Span]:
        def said(which: str, digest: str) -> dict[str, Value]:
            return {semconv.TOOLS_NAMES_HASH: which, semconv.TOOLS_ORDER_HASH: digest}

        found = prompts(["instructions:a:1500", "user:c:500"])
        return [found[0], altered(found[1], said("n", "o1")), altered(found[2], said(names, order))]

    assert rules(spans("o2")) == ["fix-tool-order"]
    assert "fix-tool-order" not in rules(spans("o1"))
    assert "fix-tool-order" not in rules(spans("o2", names="other"))


def pictured(detail: str | None, *, from_tool: bool = False) -> list[Span]:
    """A call with an image that takes all of the time."""
    types = {semconv.TOOL_RESULT_TYPES: ["image"] if from_tool else ["text"]}
    call = altered(model("m", 100, 1100), {semconv.IMAGE_COUNT: 1, semconv.IMAGE_DETAIL: detail})
    return [turn(1100), function("t", 0, 100, types), call]


def test_high_detail_is_tried_lower() -> None:
    finding = found("lower-image-detail", pictured("high"))
    assert (expected_ms(finding), *bounds_ms(finding)) == pytest.approx((178, 0, 246))


def test_low_or_unknown_detail_is_left_alone() -> None:
    assert rules(pictured("low")) == []
    assert rules(pictured(None)) == []


def test_an_image_that_a_tool_returned_is_the_tools_matter() -> None:
    assert found("lower-image-detail", pictured("auto", from_tool=True)) is None


def documented(mime: str, *, text_only: bool | None = None, prepared: bool = False) -> list[Span]:
    """A call with a file below a step."""
    marks: dict[str, Value] = {} if text_only is None else {semconv.STEP_TEXT_ONLY: text_only}
    step = span("agent.step.read", 100, 1100, "turn", {semconv.STEP_NAME: "read", **marks})
    stage = [span("extract", 0, 100, "turn", {semconv.STAGE: "prepare"})] if prepared else []
    call = model("m", 100, 1100, {semconv.FILE_MIME: [mime], semconv.FILE_COUNT: 1}, under="agent.step.read")
    return [turn(1100), *stage, step, call]


def test_a_pdf_of_which_only_text_matters_is_sent_as_text() -> None:
    finding = found("send-extracted-text", documented("application/pdf", text_only=True))
    assert (expected_ms(finding), *bounds_ms(finding)) == pytest.approx((172, 0, 221))
    assert finding is not None
    assert finding.caveats


def test_a_pdf_beside_an_extraction_is_sent_as_text() -> None:
    finding = found("send-extracted-text", documented("application/pdf", prepared=True))
    assert finding is not None
    assert not finding.caveats


def test_a_pdf_whose_looks_may_matter_stays() -> None:
    assert rules(documented("application/pdf")) == []
    assert rules(documented("application/pdf", text_only=False, prepared=True)) == []
    assert rules(documented("text/csv", text_only=True)) == []


def pages(*, uses: bool = False, extra: Mapping[str, Value] | None = None) -> list[Span]:
    """Three requests of 400, 300 and 300 ms in turn under one step, or the second of them with the first's answer."""
    spans = [turn(1000)]
    for number, (start, end) in enumerate([(0, 400), (400, 700), (700, 1000)]):
        before = "answer0" if uses and number else f"page{number}"
        blocks = ["instructions:i:200", f"user:{before}:300"]
        said: dict[str, Value] = {semconv.PROMPT_BLOCKS: blocks, semconv.RESPONSE_BLOCK_HASH: f"answer{number}"}
        spans.append(altered(model(f"p{number}", start, end, said), extra or {}))
    return spans


def test_independent_requests_are_sent_together() -> None:
    finding = found("parallelise-page-requests", pages())
    assert finding is not None
    assert finding.kind is SavingKind.EXACT
    assert expected_ms(finding) == 600
    assert shown(finding) == keys("p0", "p1", "p2")


def test_pages_in_steps_of_their_own_are_found_too() -> None:
    spans = [turn(1000)]
    for each in pages()[1:]:
        step = f"step-{each.name}"
        start, end = each.start_ns / 1e6, each.end_ns / 1e6
        spans.append(span(step, start, end, "turn", {semconv.STEP_NAME: "page"}))
        spans.append(model(each.name, start, end, {**each.attributes}, under=step))
    assert expected_ms(found("parallelise-page-requests", spans)) == 600


def test_more_requests_than_the_cap_wait_for_a_slot() -> None:
    spans = [turn(800)]
    for number in range(8):
        said = {
            semconv.PROMPT_BLOCKS: ["instructions:i:9", f"user:{number}:9"],
            semconv.RESPONSE_BLOCK_HASH: f"a{number}",
        }
        spans.append(model(f"p{number}", 100 * number, 100 * number + 100, said))
    assert expected_ms(found("parallelise-page-requests", spans)) == 600


def test_requests_that_use_an_earlier_answer_are_not_independent() -> None:
    finding = found("parallelise-page-requests", pages(uses=True))
    assert finding is None or shown(finding) == keys("p1", "p2")


@pytest.mark.parametrize(
    "extra",
    [
        {semconv.PROMPT_BLOCKS: None},
        {semconv.RESPONSE_BLOCK_HASH: None},
        {semconv.HASH_KEY_ID: None},
        {semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: "r"},
        asking(1, "t"),
    ],
    ids=["prompt unknown", "answer unknown", "key unknown", "goes on from another", "asks for a tool"],
)
def test_requests_are_not_independent_without_proof(extra: Mapping[str, Value]) -> None:
    assert found("parallelise-page-requests", pages(extra=extra)) is None


def test_concurrent_requests_have_nothing_to_gain() -> None:
    spans = [turn(400)]
    for number in range(3):
        said = {
            semconv.PROMPT_BLOCKS: ["instructions:i:9", f"user:{number}:9"],
            semconv.RESPONSE_BLOCK_HASH: f"a{number}",
        }
        spans.append(model(f"p{number}", 0, 400, said))
    assert rules(spans) == []


def served(asked: str | None, given: str | None) -> list[Span]:
    said = {semconv.OPENAI_REQUEST_SERVICE_TIER: asked, semconv.OPENAI_RESPONSE_SERVICE_TIER: given}
    return [turn(1000), altered(model("m", 0, 1000), said)]


def test_a_tier_that_was_not_given_is_named() -> None:
    finding = found("service-tier", served("priority", "default"))
    assert (expected_ms(finding), *bounds_ms(finding)) == pytest.approx((425, 0, 467))


def test_a_tier_left_to_the_service_or_given_or_unreported_is_no_mismatch() -> None:
    assert rules(served("auto", "default")) == []
    assert rules(served("priority", "priority")) == []
    assert rules(served("priority", None)) == []
    assert rules(served(None, "default")) == []
