"""Which Host and Origin headers are believed, and which addresses are open to other machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spanwise_collector.receiver import Entrance
from spanwise_collector.receiver.binding import OpenBind, loopback
from spanwise_collector.receiver.hosts import cross_origin
from spanwise_collector.settings import ReceiverSettings


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("localhost", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("", False),
        ("::ffff:0.0.0.0", False),
        ("192.0.2.7", False),
        ("::ffff:192.0.2.7", False),
        ("0", False),
        ("no-such-host.invalid", False),
    ],
)
def test_only_addresses_of_this_machine_alone_are_loopback(host: str, *, expected: bool) -> None:
    assert expected is loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "::ffff:192.0.2.7"])  # noqa: S104
def test_an_open_address_is_warned_of_and_refused_where_a_token_is_required(host: str) -> None:
    assert "whoever reaches this address can read" in (Entrance.of(ReceiverSettings(host=host)).warning or "")
    with pytest.raises(OpenBind, match=r"--token-file FILE, or listen on 127\.0\.0\.1"):
        Entrance.of(ReceiverSettings(host=host, require_token=True))
    guarded = Entrance.of(ReceiverSettings(host=host, require_token=True, tokens="one"))
    assert "without TLS" in (guarded.warning or "")


def test_a_loopback_address_needs_no_token() -> None:
    assert Entrance.of(ReceiverSettings(require_token=True)).warning is None


def known(name: str, **settings: Any) -> bool:
    return Entrance.of(ReceiverSettings(**settings)).hosts.known([name])


@pytest.mark.parametrize(
    ("name", "loopback_bind", "open_bind", "open_bind_with_token"),
    [
        ("127.0.0.1:4318", True, True, True),
        ("localhost", True, True, True),
        ("LOCALHOST.:80", True, True, True),
        ("app.localhost:1", True, True, True),
        ("[::1]:4318", True, True, True),
        ("evil.example", False, False, True),
        ("localhost.evil.example", False, False, True),
        ("127.0.0.1.evil.example", False, False, True),
        ("spanwise:4318", False, True, True),
        ("192.0.2.7:4318", False, True, True),
        ("[2001:db8::1]", False, True, True),
        ("", False, True, True),
        ("[", False, True, True),
    ],
)
def test_names_are_believed_as_far_as_foreign_dns_cannot_answer_for_them(
    name: str, *, loopback_bind: bool, open_bind: bool, open_bind_with_token: bool
) -> None:
    binds: list[dict[str, Any]] = [{}, {"host": "0.0.0.0"}, {"host": "0.0.0.0", "tokens": "t"}]  # noqa: S104
    assert [loopback_bind, open_bind, open_bind_with_token] == [known(name, **bind) for bind in binds]


def test_further_names_and_all_names_can_be_allowed() -> None:
    assert known("Traces.example:443", allowed_hosts="other.example, traces.example")
    assert not known("traces.example.evil", allowed_hosts="traces.example")
    assert known("evil.example", allowed_hosts="*")


def test_all_host_headers_must_be_known() -> None:
    hosts = Entrance.of(ReceiverSettings()).hosts
    assert [True, False] == [hosts.known([]), hosts.known(["localhost", "evil.example"])]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"origin": "http://localhost:4320"}, False),
        ({"origin": "http://localhost:4320", "sec-fetch-site": "same-origin"}, False),
        ({"origin": "http://LOCALHOST:4320"}, False),
        ({"origin": "http://localhost:3000"}, True),
        ({"origin": "https://evil.example"}, True),
        ({"origin": "null"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "same-site"}, True),
        ({"sec-fetch-site": "none"}, False),
        ({"origin": "https://app.example"}, False),
    ],
)
def test_pages_of_other_origins_may_not_post(headers: dict[str, str], *, expected: bool) -> None:
    raw = [(b"host", b"localhost:4320"), *((name.encode(), text.encode()) for name, text in headers.items())]
    assert expected is cross_origin("POST", raw, lambda origin: origin == "https://app.example")
    assert not cross_origin("GET", raw, lambda _: False)


def test_a_rebound_name_and_a_foreign_page_get_nothing_in(
    door: Callable[..., Any], post: Callable[..., Any], otlp: Any
) -> None:
    opened = door()
    body = otlp.body(otlp.span())
    found = [
        post(opened.bound.http, body, Host="evil.example").status,
        post(opened.bound.http, body, Origin="https://evil.example").status,
        post(opened.bound.http, body, Host="localhost").status,
    ]
    assert [403, 403, 200] == found
    assert opened.receiver.counts()["http", "accepted"] == 1
