"""The page says what the API says, loads nothing from elsewhere, and shows foreign text as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
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
    row = re.search(r"<tr>\s*<th scope=\"row\"><a href=\"/conversations/paged\".*?</tr>", text, re.DOTALL)
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


def test_an_unknown_conversation_is_a_page_with_the_way_back(server: Any) -> None:
    answer = server.get("/conversations/%3Cnope%3E")
    text = answer.body.decode()
    assert (answer.status, answer.media_type) == (404, "text/html")
    assert "/" in Loads(text).addresses
    assert "&lt;nope&gt;" in text


def test_the_list_shows_the_longest_first_and_newest_first_on_request(
    start: Callable[..., Any], conversation: Callable[..., Any], tmp_path: Path
) -> None:
    running = start(tmp_path / "spans.duckdb")
    for number, slow in enumerate((1.0, 3.0, 2.0), start=1):
        running.send(conversation(f"n-{number}", f"{number}", at_ms=60_000.0 * number, slow=slow))

    def order(path: str) -> list[str]:
        links = (found.rpartition("/conversations/") for found in Loads(page(running, path)).addresses)
        return [name for before, link, name in links if link and not before]

    assert order("/") == ["n-2", "n-3", "n-1"]
    assert order("/?sort=started") == ["n-3", "n-2", "n-1"]


def test_a_service_that_is_named_like_its_agent_is_named_once(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("twice", "2a", service="support"), conversation("other", "2b", service="shop"))
    assert '<dd>support <span class="muted">support</span></dd>' not in page(server, "/conversations/twice")
    assert "<dd>support</dd>" in page(server, "/conversations/twice")
    assert '<dd>shop <span class="muted">support</span></dd>' in page(server, "/conversations/other")
