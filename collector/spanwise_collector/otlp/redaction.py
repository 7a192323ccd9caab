"""Takes out of a request what must not be stored or passed on, by the names of attributes and by what values look like.

It works on serialized requests, before they are decoded: what is stored and what is forwarded have gone through the
same hands. Without rules there is no ``Redaction``, and nothing is parsed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Any, Final, Self, TypeAlias

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from spanwise_collector.otlp import cards
from spanwise_collector.otlp.decode import Malformed

_DIGITS: Final = 16  # hex digits of a hash
Mask: TypeAlias = Callable[[str], tuple[str, int]]  # the text without what was looked for, and how often it was there

# No pattern may take more than linear time: senders choose the texts.
_PATTERNS: Final[Mapping[str, str]] = {
    "email": r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}",
    "bearer": r"(?i:bearer)\s{1,4}[A-Za-z0-9._~+/=-]{8,}",
    "ipv4": r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])",
}
_NEEDLES: Final[Mapping[str, str]] = {"email": "@", "ipv4": "."}  # without these there is nothing to look for
PRESETS: Final = frozenset(_PATTERNS) | {"card"}


class BadRule(ValueError):
    """A rule cannot be understood; the message shows which."""


class Redaction:
    """Rules for attributes (``drop:GLOB``, ``hash:GLOB``) and for texts (``value:PRESET``, ``value:/REGEX/``)."""

    def __init__(self, rules: Iterable[str], key: str = "") -> None:
        """``key`` makes hashes comparable beyond this process; raises BadRule."""
        self._key = key.encode() or secrets.token_bytes(32)
        self._drop, self._hash, self._values = _sorted(rules)
        self._action = lru_cache(maxsize=4096)(self._matched)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, text: str, key: str = "") -> Self | None:
        """Rules separated by white space, as in ``SPANWISE_REDACT``; None if there are none."""
        rules = text.split()
        return cls(rules, key) if rules else None

    def redacted(self, request: bytes) -> bytes:
        """The same ExportTraceServiceRequest without what the rules name; raises Malformed if it is none.

        Fields that this version does not know are left out: nobody can tell what they hold.
        """
        try:
            message = ExportTraceServiceRequest.FromString(request)
        except DecodeError as error:
            raise Malformed(f"the body cannot be redacted, so it is not taken in: {error}") from error
        message.DiscardUnknownFields()
        found: Counter[str] = Counter()
        for spans in message.resource_spans:
            _drop_into(spans.resource, self._attributes(spans.resource.attributes, found))
            for scope_spans in spans.scope_spans:
                _drop_into(scope_spans.scope, self._attributes(scope_spans.scope.attributes, found))
                for span in scope_spans.spans:
                    self._span(span, found)
        self._count(found)
        return bytes(message.SerializeToString())

    def counts(self) -> Mapping[str, int]:
        """How many attributes were dropped and hashed, and how many matches in texts were masked, by rule's kind."""
        with self._lock:
            return dict(self._counts)

    def _span(self, span: Any, found: Counter[str]) -> None:
        _drop_into(span, self._attributes(span.attributes, found))
        self._text(span, "name", found)
        if span.status.message:
            self._text(span.status, "message", found)
        for event in span.events:
            self._text(event, "name", found)
            _drop_into(event, self._attributes(event.attributes, found))
        for link in span.links:
            _drop_into(link, self._attributes(link.attributes, found))

    def _attributes(self, pairs: Any, found: Counter[str], path: str = "") -> int:
        """Apply the rules to a list of attributes, in place; returns how many were dropped."""
        doomed = []
        for index, pair in enumerate(pairs):
            name = path + pair.key
            action = self._action(name)
            if action == "drop":
                doomed.append(index)
            elif action == "hash":
                pair.value.CopyFrom(AnyValue(string_value=self._hashed(pair.value)))
                found["hash"] += 1
            elif pair.HasField("value"):
                self._value(pair.value, found, f"{name}.")
        for index in reversed(doomed):
            del pairs[index]
        found["drop"] += len(doomed)
        return len(doomed)

    def _value(self, value: Any, found: Counter[str], path: str) -> None:
        member = value.WhichOneof("value")
        if member == "string_value":
            self._text(value, "string_value", found)
        elif member == "array_value":
            for item in value.array_value.values:
                self._value(item, found, path)
        elif member == "kvlist_value":
            self._attributes(value.kvlist_value.values, found, path)

    def _text(self, message: Any, field: str, found: Counter[str]) -> None:
        text = getattr(message, field)
        for name, mask in self._values:
            text, times = mask(text)
            if times:
                found[name] += times
                setattr(message, field, text)

    def _matched(self, name: str) -> str | None:
        """What the rules say about an attribute; dropping it comes first."""
        if any(rule.match(name) for rule in self._drop):
            return "drop"
        return "hash" if any(rule.match(name) for rule in self._hash) else None

    def _hashed(self, value: Any) -> str:
        """Equal values of one type have equal hashes under one key."""
        body = value.SerializeToString(deterministic=True)
        return f"hash:{hmac.new(self._key, body, hashlib.sha256).hexdigest()[:_DIGITS]}"

    def _count(self, found: Counter[str]) -> None:
        with self._lock:
            self._counts.update({name: times for name, times in found.items() if times})


def _sorted(
    rules: Iterable[str],
) -> tuple[list[re.Pattern[str]], list[re.Pattern[str]], list[tuple[str, Mask]]]:
    names: dict[str, list[re.Pattern[str]]] = {"drop": [], "hash": []}
    values = []
    for rule in rules:
        kind, _, rest = rule.partition(":")
        if kind in names and rest:
            names[kind].append(re.compile(translate(rest)))
        elif kind == "value" and rest:
            values.append(_value_rule(rest))
        else:
            raise BadRule(
                f"{rule!r} is no rule: drop:GLOB, hash:GLOB, value:/REGEX/ or value: with one of {_presets()}"
            )
    return names["drop"], names["hash"], values


def _value_rule(what: str) -> tuple[str, Mask]:
    if len(what) > 2 and what.startswith("/") and what.endswith("/"):  # noqa: PLR2004  # two slashes
        return "value", _mask(_compiled(what[1:-1]), "[redacted]")
    if what not in PRESETS:
        raise BadRule(f"value:{what} is no rule: {_presets()} and value:/REGEX/ are")
    mark = f"[redacted {what}]"
    if what == "card":
        return what, lambda text: cards.masked(text, mark)
    return what, _mask(re.compile(_PATTERNS[what]), mark, _NEEDLES.get(what, ""))


def _mask(pattern: re.Pattern[str], mark: str, needle: str = "") -> Mask:
    return lambda text: pattern.subn(mark, text) if needle in text else (text, 0)


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise BadRule(f"value:/{text}/ is no regular expression: {error}") from error


def _presets() -> str:
    return ", ".join(sorted(PRESETS))


def _drop_into(message: Any, dropped: int) -> None:
    if dropped:
        message.dropped_attributes_count += dropped
