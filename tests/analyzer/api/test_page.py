"""The page says what the API says, loads nothing from elsewhere, and shows foreign text as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote


class Loads(HTMLParser):
    """Collects the addresses that a page loads or links to, and its ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """Read the attributes of one element."""
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src", "action"}]
        self.ids += [value or "" for name, value in attrs if name == "id"]


def page(server: Any, path: str) -> str:
    answer = server.get(path)
    assert (answer.status, answer.media_type) == (200, "text/html")
    return str(answer.body.decode())


def test_the_list_shows_each_conversation_with_its_long_pole(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("paged", "9a6e", slow=2))
    text = page(server, "/?tool=lookup&sort=started")
    row = re.search(r"<tr>\s*<th scope=\"row\"><a href=\"/conversations/paged\">.*?</tr>", text, re.DOTALL)
    assert row is not None
    for words in ("shop", "2.00 s", "model.call", "60.0 %"):
        assert words in row[0]


def test_a_conversation_shows_stages_turns_and_spans(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("explained", "e9a1"))
    text = page(server, "/conversations/explained")
    for words in ("model.call", "mcp.opaque", "agent.overhead", "Turn 1", "tools/call lookup", "define-correct-first"):
        assert words in text
    assert "span-0000000000000003" in Loads(text).ids


def test_every_address_is_on_this_server_and_answers(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("linked/with slash", "11aced"))
    text = page(server, f"/conversations/{quote('linked/with slash', safe='')}")
    addresses = [found for found in Loads(text).addresses if not found.startswith(("#", "data:"))]
    assert all(found.startswith("/") for found in addresses)
    assert {200} == {server.get(unescape(found)).status for found in addresses}


def test_foreign_text_is_shown_and_not_run(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("<script>alert(1)</script>", "bad", service="<img src=x onerror=alert(1)>"))
    path = f"/conversations/{quote('<script>alert(1)</script>', safe='')}"
    for text in (page(server, "/"), page(server, path)):
        assert "<script>alert" not in text
        assert "<img" not in text


def test_an_empty_filter_means_any_and_a_wrong_one_is_named(server: Any) -> None:
    assert server.get("/?since=&service=&stage=&sort=started").status == 200
    assert server.get("/?since=yesterday").status == 422
    assert server.get("/conversations/nobody").status == 404
    assert server.get("/static/..%2Froutes.py").status == 404
