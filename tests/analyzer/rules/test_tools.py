"""Tool calls: their order, rounds, repeats, results, time and definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.analyzer.core.scene import chat
from tests.analyzer.rules.cases import (
    KEY,
    altered,
    asking,
    bounds_ms,
    expected_ms,
    found,
    function,
    keys,
    model,
    remote,
    rules,
    shown,
    turn,
)

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.rules.facts.norms import Norms
from spanwise_analyzer.rules.finding import SavingKind
from spanwise_analyzer.rules.slope import Price, Slope
from spanwise_collector.span import Span, Status, Value


def serial(extra: Mapping[str, Value] | None = None) -> list[Span]:
    """One response asks for three functions of 300, 200 and 100 ms, which run in turn."""
    run = [function("a", 500, 800, extra), function("b", 800, 1000, extra), function("c", 1000, 1100, extra)]
    return [turn(2000), model("m1", 0, 500, asking(3, "a", "b", "c")), *run, model("m2", 1100, 2000)]


def test_calls_of_one_response_could_have_run_together() -> None:
    finding = found("overlap-tool-calls", serial())
    assert expected_ms(finding) == 300
    assert finding is not None
    assert (finding.kind, finding.stage, finding.caveats) == (SavingKind.EXACT, Stage.TOOL_LOCAL, ())
    assert shown(finding) == keys("a", "b", "c")


def test_calls_that_run_together_already_have_nothing_to_gain() -> None:
    run = [function("a", 500, 800), function("b", 500, 700), function("c", 501, 600)]
    assert rules([turn(2000), model("m1", 0, 500, asking(3)), *run, model("m2", 800, 2000)]) == []


def test_calls_of_unknown_effect_need_their_owners_word() -> None:
    finding = found("overlap-tool-calls", serial({semconv.TOOL_READ_ONLY: None, semconv.TOOL_IDEMPOTENT: None}))
    assert finding is not None
    assert len(finding.caveats) == 3


def test_destructive_calls_keep_their_order() -> None:
    writes = {semconv.TOOL_READ_ONLY: False, semconv.TOOL_IDEMPOTENT: False, semconv.TOOL_DESTRUCTIVE: True}
    assert found("overlap-tool-calls", serial(writes)) is None


def test_calls_of_an_unknown_number_are_not_taken_for_one_response() -> None:
    spans = [altered(each, {semconv.TOOL_CALLS_IN_RESPONSE: None, semconv.TOOL_CALL_NAMES: None}) for each in serial()]
    assert found("overlap-tool-calls", spans) is None


def rounds(
    *, arguments: list[str], told: list[str], tokens: int = 20, extra: dict[str, Value] | None = None
) -> list[Span]:
    """A function, another round that only asks for a second one, and the answer."""
    first = {semconv.TOOL_ARGS_HASH: "h1", semconv.TOOL_ARGS_LEAVES: ["u-order"], semconv.TOOL_RESULT_LEAVES: told}
    second = {semconv.TOOL_ARGS_HASH: "h2", semconv.TOOL_ARGS_LEAVES: arguments, semconv.TOOL_RESULT_LEAVES: ["z"]}
    return [
        turn(2600),
        model("m1", 0, 500, asking(1, "a")),
        function("a", 500, 600, first),
        model("m2", 600, 1100, asking(1, "b"), tokens=(600, tokens), first=400),
        function("b", 1100, 1300, {**second, **(extra or {})}),
        model("m3", 1300, 2600),
    ]


def test_a_round_that_only_asks_for_a_known_call_falls_away() -> None:
    finding = found("merge-model-rounds", rounds(arguments=["u-customer"], told=["r1"]))
    # The call of 500 ms and the overlap of 100 ms go; 100 ms of writing the request stay.
    assert (expected_ms(finding), *bounds_ms(finding)) == (500, 400, 600)
    assert shown(finding) == keys("m2")


def test_arguments_from_the_earlier_result_need_their_round() -> None:
    assert found("merge-model-rounds", rounds(arguments=["r1"], told=["r1"])) is None


def test_what_the_user_said_is_known_even_if_a_result_repeats_it() -> None:
    assert found("merge-model-rounds", rounds(arguments=["u-order"], told=["u-order", "r1"])) is not None


@pytest.mark.parametrize(
    "extra",
    [
        {semconv.TOOL_READ_ONLY: False},
        {semconv.TOOL_READ_ONLY: None},
        {semconv.TOOL_ARGS_LEAVES: None},
        {semconv.HASH_KEY_ID: "k2"},
        {semconv.TOOL_ARGS_HASH: "h1", semconv.GEN_AI_TOOL_NAME: "a"},
    ],
    ids=["a write", "effect unknown", "arguments unknown", "another key", "the same call again"],
)
def test_a_round_stays_without_proof_that_it_can_go(extra: dict[str, Value]) -> None:
    spans = rounds(arguments=["u-customer"], told=["r1"])
    spans[4] = altered(spans[4], extra)
    assert found("merge-model-rounds", spans) is None


def test_a_round_that_says_something_is_not_empty() -> None:
    assert found("merge-model-rounds", rounds(arguments=["u-customer"], told=["r1"], tokens=80)) is None


def repeated(results: list[str], extra: dict[str, Value] | None = None) -> list[Span]:
    """The same question to a tool of 200 ms, again and again between model calls."""
    spans = [turn(700 * len(results))]
    for number, result in enumerate(results):
        said = {semconv.TOOL_ARGS_HASH: "h", semconv.TOOL_RESULT_HASH: result, **(extra or {})}
        spans += [model(f"m{number}", 700 * number, 700 * number + 500)]
        spans += remote(
            f"q{number}", 700 * number + 500, 700 * number + 700, {semconv.GEN_AI_TOOL_NAME: "query", **said}, own=180
        )
    return spans


def test_repeats_of_a_reading_call_are_saved() -> None:
    finding = found("cache-tool-results", repeated(["r", "r", "r"]))
    assert expected_ms(finding) == 400
    assert shown(finding) == keys("q1", "q2")


def test_results_that_differ_or_effects_that_are_unknown_are_not_cached() -> None:
    assert found("cache-tool-results", repeated(["r", "s", "r"])) is None
    assert found("cache-tool-results", repeated(["r", "r"], {semconv.TOOL_READ_ONLY: False})) is None
    assert found("cache-tool-results", repeated(["r", "r"], {semconv.TOOL_READ_ONLY: None})) is None
    assert found("cache-tool-results", repeated(["r", "r"], {semconv.TOOL_RESULT_HASH: None})) is None


def test_one_slow_tool_is_named_with_a_bound_and_no_promise() -> None:
    spans = [turn(3000), model("m1", 0, 500, asking(1)), *remote("slow", 500, 2500, own=1900), model("m2", 2500, 3000)]
    finding = found("slow-tool-work", spans)
    assert (expected_ms(finding), *bounds_ms(finding)) == (950, 0, 1900)
    assert finding is not None
    assert (finding.stage, shown(finding)) == (Stage.MCP_SERVER, keys("slow"))


def test_an_opaque_server_is_not_blamed_for_slow_work() -> None:
    spans = [turn(3000), model("m1", 0, 500, asking(1)), *remote("slow", 500, 2500), model("m2", 2500, 3000)]
    assert found("slow-tool-work", spans) is None


def test_serial_dispatch_of_equal_calls_is_named_before_their_work() -> None:
    run = [function(f"f{number}", 500 + 800 * number, 1300 + 800 * number, tool_name="f") for number in range(2)]
    spans = [turn(2600), model("m1", 0, 500, asking(2)), *run, model("m2", 2100, 2600)]
    assert rules(spans) == ["overlap-tool-calls", "slow-tool-work"]
    # Side by side they would take 800 ms: only that is the work's.
    assert bounds_ms(found("slow-tool-work", spans)) == (0, 800)


def test_repeats_are_named_before_the_work_that_they_repeat() -> None:
    spans = [turn(3300)]
    for number in range(3):
        said = {semconv.TOOL_ARGS_HASH: "h", semconv.TOOL_RESULT_HASH: "r"}
        spans += [model(f"m{number}", 1100 * number, 1100 * number + 200)]
        spans += remote(
            f"q{number}",
            1100 * number + 200,
            1100 * number + 1100,
            {semconv.GEN_AI_TOOL_NAME: "query", **said},
            own=880,
        )
    assert rules(spans)[0] == "cache-tool-results"
    assert found("slow-tool-work", spans) is None


def test_what_others_mend_is_not_taken_from_a_slow_tool() -> None:
    said = {semconv.TOOL_ARGS_HASH: "h", semconv.TOOL_RESULT_HASH: "r", semconv.GEN_AI_TOOL_NAME: "query"}
    asked = [remote(f"q{number}", 300 * number, 300 * number + 300, said, own=280) for number in range(3)]
    slow = remote("slow", 2000, 4000, own=2000)
    pair = [function(f"f{number}", 900 + 300 * number, 1200 + 300 * number, tool_name="f") for number in range(2)]
    run = [*(each for call in asked for each in call), model("m1", 800, 900, asking(2)), *pair, *slow]
    spans = [turn(4500), *run, model("m2", 4000, 4500)]
    assert bounds_ms(found("slow-tool-work", spans)) == (0, 2000)


def read(size: int, grown: int, *, types: list[str] | None = None) -> list[Span]:
    """A tool result of ``size`` bytes, after which the prompt is ``grown`` tokens longer: 100 ms per 1,000 tokens."""
    said: dict[str, Value] = {semconv.TOOL_RESULT_BYTES: size, semconv.TOOL_RESULT_TYPES: types or ["text"]}
    cached = {semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 0}
    first = 100 + 0.1 * 500
    second = 100 + 0.1 * (540 + grown)
    spans = [turn(900 + second), model("m1", 0, 500, {**asking(1), **cached}, first=first)]
    spans += remote("t", 500, 600, said, own=90)
    return [*spans, model("m2", 600, 900 + second, cached, tokens=(540 + grown, 40), first=second)]


def test_a_large_result_costs_its_tokens_in_the_next_call() -> None:
    finding = found("slim-results", read(40_000, 10_000))
    assert finding is not None
    assert (finding.kind, finding.stage) == (SavingKind.MODELLED, Stage.MODEL_FIRST_TOKEN)
    assert expected_ms(finding) == pytest.approx(1000)
    assert shown(finding) == keys("t")


def test_an_image_in_a_result_is_large_whatever_its_size() -> None:
    assert found("slim-results", read(5_000, 1_500, types=["image"])) is not None


def test_a_small_result_is_not_blamed_for_a_prompt_that_grew() -> None:
    assert found("slim-results", read(400, 10_000)) is None


def test_a_small_result_is_silent() -> None:
    assert rules(read(2_000, 400)) == []


def test_without_another_call_to_compare_there_is_no_price() -> None:
    spans = read(40_000, 10_000)
    finding = found("slim-results", [altered(each, {semconv.GEN_AI_USAGE_INPUT_TOKENS: None}) for each in spans])
    assert finding is not None
    assert (finding.kind, finding.saving) == (SavingKind.NONE, None)


def test_a_structured_copy_is_reported_without_a_claim() -> None:
    def spans(size: int) -> list[Span]:
        return [turn(1000), *remote("t", 0, 100, {semconv.TOOL_DUPLICATE_BYTES: size}, own=90), model("m", 100, 1000)]

    finding = found("drop-duplicate-structured-result", spans(5000))
    assert finding is not None
    assert (finding.kind, finding.saving) == (SavingKind.NONE, None)
    assert found("drop-duplicate-structured-result", spans(500)) is None


def catalogue(count: int, tokens: int, *, used: int = 1) -> list[Span]:
    """A request with ``count`` tools of ``tokens`` tokens in all, ``used`` of them called."""
    names = [f"t{number}" for number in range(count)]
    said: dict[str, Value] = {semconv.TOOLS_COUNT: count, semconv.TOOLS_TOKENS: tokens, semconv.TOOLS_NAMES: names}
    called = [function(f"c{number}", 1000 + number, 1001 + number, tool_name=f"t{number}") for number in range(used)]
    return [turn(2000), model("m1", 0, 1000, {**said, **asking(used)}, tokens=(6000, 40)), *called]


def test_a_catalogue_of_unused_tools_is_narrowed() -> None:
    finding = found("narrow-tool-catalogue", catalogue(20, 2400))
    assert finding is not None
    assert finding.kind is SavingKind.EXTERNAL
    assert (expected_ms(finding), *bounds_ms(finding)) == pytest.approx((168, 0, 343))


def test_few_used_or_unnamed_tools_are_left_alone() -> None:
    assert found("narrow-tool-catalogue", catalogue(9, 2400)) is None
    assert found("narrow-tool-catalogue", catalogue(20, 2400, used=11)) is None
    assert found("narrow-tool-catalogue", catalogue(20, 800)) is None
    unnamed = [altered(each, {semconv.TOOLS_NAMES: None}) for each in catalogue(20, 2400)]
    assert found("narrow-tool-catalogue", unnamed) is None


def test_wordy_definitions_are_shortened() -> None:
    assert rules(catalogue(5, 2000)) == ["slim-tool-definitions"]
    assert rules(catalogue(5, 600)) == []


def test_a_large_and_wordy_catalogue_is_narrowed_first() -> None:
    assert rules(catalogue(20, 6000)) == ["narrow-tool-catalogue", "slim-tool-definitions"]


def test_a_price_of_the_fleet_makes_the_saving_a_modelled_one() -> None:
    spans = [altered(each, {semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 0}) for each in catalogue(20, 2400)]
    price = Slope(uncached=Price(20_000, 50_000, 80_000), cached=Price(0, 0, 0), rows=100)
    norms = Norms(slopes={("openai", "m", "h", None, False): price})
    finding = found("narrow-tool-catalogue", spans, norms)
    assert finding is not None
    assert finding.kind is SavingKind.MODELLED
    # 19 of 20 tools are 2,280 tokens.
    assert (expected_ms(finding), *bounds_ms(finding)) == pytest.approx((114, 45.6, 182.4))


def test_tool_search_is_weighed_only_where_the_catalogue_changes_or_fails() -> None:
    spans = catalogue(40, 4000)
    assert found("tool-search", spans) is None
    wrong = [altered(each, {semconv.TOOL_CALL_NAMES: ["t99"]}) if "m1" in each.name else each for each in spans]
    finding = found("tool-search", wrong)
    assert finding is not None
    assert (finding.kind, finding.saving) == (SavingKind.NONE, None)


def test_a_write_that_is_sent_again_after_a_failure_is_named() -> None:
    writes: dict[str, Value] = {
        semconv.TOOL_ARGS_HASH: "h",
        semconv.TOOL_READ_ONLY: False,
        semconv.TOOL_IDEMPOTENT: None,
    }

    def spans(extra: dict[str, Value]) -> list[Span]:
        said = {**writes, **extra}
        first = replace(function("w1", 0, 100, said, tool_name="pay"), status=Status.ERROR)
        return [turn(1000), first, function("w2", 150, 250, said, tool_name="pay"), model("m", 300, 1000)]

    finding = found("timeouts-and-retries", spans({}))
    assert shown(finding) == keys("w2")
    assert found("timeouts-and-retries", spans({semconv.TOOL_IDEMPOTENT: True})) is None
    assert found("timeouts-and-retries", spans({semconv.TOOL_READ_ONLY: None})) is None


def test_a_call_far_beyond_the_fleets_slow_ones_lacks_a_deadline() -> None:
    spans = [turn(3000), function("f", 0, 2000, tool_name="f"), model("m", 2000, 3000)]
    finding = found("timeouts-and-retries", spans, Norms(tool_p99_ns={(None, "f"): 300_000_000}))
    assert expected_ms(finding) == 1100
    assert found("timeouts-and-retries", spans) is None


def test_an_agent_inside_a_tool_is_judged_on_its_own() -> None:
    inner = chat("inner", 600, 900, "sub", attributes={**KEY})
    spans = [
        turn(2000),
        model("m1", 0, 500, asking(1)),
        function("delegate", 500, 1000),
        inner,
        model("m2", 1000, 2000),
    ]
    assert rules(spans) == []
