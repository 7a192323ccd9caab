"""Which conversation and turn the running code belongs to, and which hosts may learn it."""

from __future__ import annotations

import ipaddress

from opentelemetry import baggage
from opentelemetry.context import Context, create_key, get_current, get_value, set_value
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from spanwise import semconv, text, trial
from spanwise.hashing import hashed, key_id

_BAGGAGE = (semconv.BAGGAGE_CONVERSATION_ID, semconv.BAGGAGE_TURN, *trial.KEYS)
_ANYWHERE = "*"
_MAX_TURN = 2**31 - 1
_MAX_TURN_DIGITS = 10
_USER = create_key("spanwise-user")
_TURN_SPAN = create_key("spanwise-turn-span")

_hosts: set[str] = set()


def conversation_id(ctx: Context | None = None) -> str | None:
    """The conversation that ``ctx`` (default: the current context) belongs to."""
    value = baggage.get_baggage(semconv.BAGGAGE_CONVERSATION_ID, ctx)
    # What came from outside was bounded by nobody.
    return None if value is None else text.identifier(value) or None


def turn_number(ctx: Context | None = None) -> int | None:
    """The turn that ``ctx`` belongs to, counted from 1; None where what came from outside is no such number."""
    value = str(baggage.get_baggage(semconv.BAGGAGE_TURN, ctx) or "")
    plain = value.isascii() and value.isdecimal() and len(value) <= _MAX_TURN_DIGITS
    return int(value) if plain and is_turn(int(value)) else None


def is_turn(number: object) -> bool:
    """Whether ``number`` can be the number of a turn: 1 to 2^31 - 1."""
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= _MAX_TURN


def turn_span(ctx: Context | None = None) -> Span | None:
    """The ``invoke_agent`` span of the turn that runs in this process."""
    value = get_value(_TURN_SPAN, ctx)
    return value if isinstance(value, Span) else None


def with_conversation(conversation: str, user: str | None = None, ctx: Context | None = None) -> Context:
    """``ctx`` inside a conversation; the user stays in this process and is only ever written as a keyed hash."""
    fresh = baggage.remove_baggage(semconv.BAGGAGE_TURN, ctx)
    inside = baggage.set_baggage(semconv.BAGGAGE_CONVERSATION_ID, text.identifier(conversation), fresh)
    return inside if user is None else set_value(_USER, text.encodable(user), inside)


def with_turn(number: int | None, ctx: Context | None = None) -> Context:
    """``ctx`` inside the turn of this number; None leaves the number open."""
    if number is None:
        return baggage.remove_baggage(semconv.BAGGAGE_TURN, ctx)
    return baggage.set_baggage(semconv.BAGGAGE_TURN, str(number), ctx)


def with_turn_span(span: Span, ctx: Context | None = None) -> Context:
    """``ctx`` in which ``outcome`` finds the span of its turn."""
    return set_value(_TURN_SPAN, span, ctx)


def conversation_attributes(ctx: Context | None = None) -> dict[str, AttributeValue]:
    """What every span below ``ctx`` carries: conversation id, turn, hash of the user, the experiment.

    What is unknown is left out.
    """
    found: dict[str, AttributeValue] = {}
    if not baggage.get_all(ctx) and get_value(_USER, ctx) is None:  # asked for every span
        return found
    if (conversation := conversation_id(ctx)) is not None:
        found[semconv.GEN_AI_CONVERSATION_ID] = conversation
    if (turn := turn_number(ctx)) is not None:
        found[semconv.TURN] = turn
    if (user := get_value(_USER, ctx)) is not None:
        found[semconv.USER_HASH] = hashed(str(user))
        found[semconv.HASH_KEY_ID] = key_id()
    return found | trial.attributes(ctx)


def carried(source: Context, target: Context | None = None) -> Context:
    """``target`` with conversation and turn of ``source``: how a server's handler rejoins its caller's turn."""
    ctx = get_current() if target is None else target
    for name in _BAGGAGE:
        value = baggage.get_baggage(name, source)
        if value is not None:
            ctx = baggage.set_baggage(name, value, ctx)
    return ctx


def without_conversation(ctx: Context | None = None) -> Context:
    """``ctx`` without our baggage; the program's own baggage is none of our business and stays."""
    for name in _BAGGAGE:
        ctx = baggage.remove_baggage(name, ctx)
    return get_current() if ctx is None else ctx


def writable(ctx: Context | None = None) -> Context | None:
    """``ctx`` with baggage that a header can hold; None where it is so already.

    The program's own baggage is none of our business, but without us nobody would have tried to send it.
    """
    found = ctx
    for name, value in baggage.get_all(ctx).items():
        clean = text.encodable(name), text.encodable(value)
        if clean != (name, str(value)):
            found = baggage.set_baggage(*clean, baggage.remove_baggage(name, found))
    return None if found is ctx else found


def allow_host(host: str) -> None:
    """Let requests to ``host`` carry the conversation id; "*" allows every host."""
    _hosts.add(_bare(host))


def forget_hosts() -> None:
    """Only loopback may learn the conversation id again."""
    _hosts.clear()


def propagates_to(host: str) -> bool:
    """Whether requests to ``host`` may carry the conversation id."""
    bare = _bare(host)
    return bare in _hosts or _ANYWHERE in _hosts or _loopback(bare)


def _bare(host: str) -> str:
    return host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
