from __future__ import annotations

import json
from typing import Any

from spanwise_demo.model.ask import Ask, Call, Message, Part, Reply, Tool
from spanwise_demo.model.policy import output_tokens, reply

_AT_ONCE = "Request all at once: `get_order`, `track`. Answer in at most 20 words."
_SAID = "Order R-123456, parcel TRK12345678."


def _tool(name: str, argument: str, pattern: str) -> Tool:
    schema = {"properties": {argument: {"type": "string", "pattern": pattern}}, "required": [argument]}
    return Tool(name, "", schema)


_TOOLS = (_tool("get_order", "order", r"^R-\d{6}$"), _tool("track", "parcel", r"^TRK\d{8}$"))


def _text(role: str, text: str) -> Message:
    return Message(role, [Part("text", text)])


def _ask(instructions: str, *messages: Message, **fields: Any) -> Ask:
    return Ask("m", [_text("system", instructions), *messages], **fields)


def _names(answer: Reply) -> list[str]:
    return [call.name for call in answer.calls]


def test_all_named_tools_are_called_in_one_response_where_that_is_invited() -> None:
    answer = reply(_ask(_AT_ONCE, _text("user", _SAID), tools=_TOOLS))
    assert answer.finish == "tool_calls"
    assert [json.loads(call.arguments) for call in answer.calls] == [{"order": "R-123456"}, {"parcel": "TRK12345678"}]


def test_one_tool_at_a_time_without_the_invitation_or_without_parallel_calls() -> None:
    uninvited = _ask(_AT_ONCE.replace("at once", ""), _text("user", _SAID), tools=_TOOLS)
    forbidden = _ask(_AT_ONCE, _text("user", _SAID), tools=_TOOLS, parallel=False)
    assert [_names(reply(ask)) for ask in (uninvited, forbidden)] == [["get_order"]] * 2


def test_an_argument_that_only_a_result_holds_costs_another_round() -> None:
    asked = _text("user", "Order R-123456.")
    first = reply(_ask(_AT_ONCE, asked, tools=_TOOLS))
    told = [Message("assistant", calls=first.calls), _text("tool", '{"parcel": "TRK87654321"}')]
    second = reply(_ask(_AT_ONCE, asked, *told, tools=_TOOLS))
    assert (_names(first), _names(second)) == (["get_order"], ["track"])
    assert json.loads(second.calls[0].arguments) == {"parcel": "TRK87654321"}


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    assert _names(reply(_ask(_AT_ONCE, _text("user", _SAID), tools=_TOOLS[:1]))) == ["get_order"]


def test_after_all_calls_comes_the_answer_and_a_new_question_starts_anew() -> None:
    calls = [Call("1", "get_order", "{}"), Call("2", "track", "{}")]
    done = [_text("user", _SAID), Message("assistant", calls=calls), _text("tool", "ok"), _text("tool", "ok")]
    assert reply(_ask(_AT_ONCE, *done, tools=_TOOLS)).finish == "stop"
    assert len(reply(_ask(_AT_ONCE, *done, _text("user", "And now?"), tools=_TOOLS)).calls) == 2


def test_the_length_of_the_answer_follows_the_instructions() -> None:
    lengths = [
        len(reply(_ask(said, _text("user", "Hello"))).text.split())
        for said in ("at most 50 words", "about 50 words", "be kind")
    ]
    assert lengths == [45, 50, 170]


def test_an_answer_in_a_schema_is_filled_from_the_conversation() -> None:
    schema = {
        "properties": {
            "order": {"type": "string", "pattern": r"^R-\d{6}$"},
            "intent": {"enum": ["question", "return"]},
            "kind": {"enum": ["torn", "none"]},
            "severe": {"type": "boolean"},
            "count": {"type": "integer", "minimum": 3},
            "note": {"type": "string"},
        }
    }
    answer = reply(_ask("JSON", _text("user", f"I return this. {_SAID}"), schema=schema))
    assert json.loads(answer.text) == {
        "order": "R-123456",
        "intent": "return",
        "kind": "torn",
        "severe": True,
        "count": 3,
        "note": "as the customer wrote",
    }


def test_an_answer_is_cut_at_its_limit() -> None:
    answer = reply(_ask("about 100 words", _text("user", "Hello"), max_tokens=10))
    assert (answer.finish, output_tokens(answer)) == ("length", 10)


def test_the_same_request_gets_the_same_answer() -> None:
    ask = _ask("about 40 words", _text("user", _SAID))
    assert reply(ask) == reply(ask)
    assert reply(ask) != reply(_ask("about 40 words", _text("user", "Else")))
