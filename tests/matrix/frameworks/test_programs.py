"""The snippets of the documentation that need nothing but this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.matrix.frameworks.conftest import Play

EXPERIMENT = {
    "spanwise.experiment.id": "e-7",
    "spanwise.experiment.arm": "text",
    "spanwise.experiment.fixture": "invoice-3",
    "spanwise.experiment.round": 1,
    "spanwise.experiment.position": 2,
    "spanwise.experiment.seed": 42,
}
# The caller of a function that is frozen after it has answered.
FROZEN = """
import os
from short import handler
print(handler({"conversation": "c-44", "turn": 5, "order": "A-17"}), flush=True)
os._exit(0)  # nothing runs any more, as in a function that is frozen
"""


def test_every_mark_is_a_span_or_on_every_span(play: Play) -> None:
    played = play("marks.py", "orders.py")
    assert played.printed == "Total Paid 11.2\n"
    by_id = {span.span_id: span for span in played.spans}
    parents = {span.name: by_id[span.parent_id].name if span.parent_id else None for span in played.spans}
    turn = "invoke_agent support-agent"
    assert parents == {
        turn: None,
        "agent.step.read": turn,
        "agent.stage.prepare": "agent.step.read",
        "agent.stage.user.wait": turn,
        "agent.step.summarise": turn,
        "execute_tool exchange_rate": turn,
    }
    seen = [{key: span.attributes.get(key) for key in EXPERIMENT} for span in played.spans]
    assert seen == [EXPERIMENT] * len(parents)
    assert {span.attributes["gen_ai.conversation.id"] for span in played.spans} == {"c-43"}
    (root,) = [span.attributes for span in played.spans if span.name == turn]
    assert (root["spanwise.quality.passed"], root["spanwise.output.consumed_tokens"]) == (True, 2)


def test_a_function_that_is_frozen_after_its_answer_has_sent_its_spans(play: Play) -> None:
    played = play("short.py", "orders.py", program=FROZEN)
    assert played.printed == "refunded A-17\n"
    (turn,) = played.spans
    assert (turn.attributes["gen_ai.conversation.id"], turn.attributes["spanwise.turn"]) == ("c-44", 5)
