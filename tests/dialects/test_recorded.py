"""What other instrumentors emitted of one errand: six model calls, four tools, two MCP servers, one embedding."""

from __future__ import annotations

import pytest
from tests.dialects.reading import MODEL, SERVERS, names, seen

from spanwise.stages import Stage

# Longer than what the server noted by what an instrumentor cannot tell from it: its own work, and for Logfire
# the time from the last event to when its log is written.
_MODEL_S = {"logfire": 0.16, "official+logfire": 0.16}
_NO_MODEL = {"native"}
_NO_IDS = {"native", "official", "logfire", "openlit", "official+logfire"}
_NO_TOOLS = {"native", "official", "logfire", "openlit", "official+logfire"}  # their functions do not say "tool"
_NO_SERVERS = {"langfuse"}  # it exports none of the MCP SDK's spans

_ALONE = [name for name in names() if "+" not in name]
_PAIRS = [name for name in names() if name.startswith("ours+")]
_OTHERS = ["official+logfire", "openllmetry+openinference"]


def test_every_instrumentor_and_its_pair_with_ours_is_here() -> None:
    assert {"ours", "native", "official", "openllmetry", "openinference", "logfire", "openlit", "langfuse"} <= set(
        _ALONE
    )
    pairs = {f"ours+{name}" for name in _ALONE if name not in {"ours", "native"}}
    assert pairs | set(_OTHERS) == {name for name in names() if "+" in name}


@pytest.mark.parametrize("name", names())
def test_model_calls_tokens_and_their_time_are_what_happened(name: str) -> None:
    found = seen(name)
    if name in _NO_MODEL:
        assert (0, 0, 0) == (found.calls, found.input_tokens, found.seconds(*MODEL))
        return
    assert (6, found.truth_tokens) == (found.calls, found.input_tokens)
    more = found.seconds(*MODEL) - found.truth_s["completions"]
    assert 0 <= more < _MODEL_S.get(name, 0.07)
    assert 0 <= found.seconds(Stage.MODEL_EMBED) - found.truth_s["embeddings"] < 0.025


@pytest.mark.parametrize("name", names())
def test_tools_and_servers_are_what_happened_where_they_are_traced(name: str) -> None:
    found = seen(name)
    if name not in _NO_TOOLS:
        assert found.truth_s["local"] == pytest.approx(found.seconds(Stage.TOOL_LOCAL), abs=0.01)
    if name not in _NO_SERVERS:
        assert 0 <= found.seconds(*SERVERS) - found.truth_s["tools/call"] < 0.03
        assert 0 <= found.seconds(Stage.MCP_LIST) - found.truth_s["tools/list"] < 0.02


@pytest.mark.parametrize("name", names())
def test_two_turns_are_one_conversation_where_an_id_is_sent(name: str) -> None:
    found = seen(name)
    assert (2 if name in _NO_IDS else 1) == len(found.ledgers)
    assert 2 == sum(len(ledger.turns) for ledger in found.ledgers)


@pytest.mark.parametrize("name", _PAIRS)
def test_two_instrumentors_give_the_ledger_of_one(name: str) -> None:
    """Servers that load two libraries start later, so that is not compared; each call holds the other's own few ms."""
    two, ours = seen(name), seen("ours")
    assert (ours.calls, ours.input_tokens) == (two.calls, two.input_tokens)
    for stages, within in [(MODEL, 0.05), ([Stage.MODEL_FIRST_TOKEN], 0.05), ([Stage.MODEL_EMBED], 0.02)]:
        assert ours.seconds(*stages) == pytest.approx(two.seconds(*stages), abs=within)
    for stages, within in [([Stage.TOOL_LOCAL], 0.01), (SERVERS, 0.02), ([Stage.MCP_LIST], 0.015)]:
        assert ours.seconds(*stages) == pytest.approx(two.seconds(*stages), abs=within)
    assert two.seconds(Stage.UNATTRIBUTED, Stage.OTHER) < 0.01


@pytest.mark.parametrize("name", _OTHERS)
def test_two_others_give_the_ledger_of_each(name: str) -> None:
    """One wraps the other's work in each call, which is why model time may differ by what the coarser cannot tell."""
    two = seen(name)
    for one in map(seen, name.split("+")):
        assert (one.calls, one.input_tokens, len(one.ledgers)) == (two.calls, two.input_tokens, len(two.ledgers))
        assert one.seconds(*MODEL) == pytest.approx(two.seconds(*MODEL), abs=_MODEL_S.get(name, 0.07))
        for stages, within in [([Stage.MODEL_EMBED], 0.02), ([Stage.TOOL_LOCAL], 0.01), (SERVERS, 0.02)]:
            assert one.seconds(*stages) == pytest.approx(two.seconds(*stages), abs=within)
        assert one.seconds(Stage.MCP_LIST) == pytest.approx(two.seconds(Stage.MCP_LIST), abs=0.015)
