"""Names and addresses of servers, without their secrets."""

from __future__ import annotations

import pytest

from spanwise.mcp import target


@pytest.mark.parametrize(
    ("program", "arguments", "name"),
    [
        ("/usr/bin/python3.11", ["-u", "/srv/orders.py", "--port", "1"], "orders.py"),
        ("python", ["-m", "orders.server"], "orders.server"),
        ("python", ["-c", "import orders; orders.run()"], "python"),
        ("uv", ["run", "orders"], "orders"),
        ("npx", ["-y", "@shop/orders"], "orders"),
        ("C:\\tools\\node.exe", ["orders.js"], "orders.js"),
        ("./orders", ["serve"], "orders"),
    ],
)
def test_name_of_a_command(program: str, arguments: list[str], name: str) -> None:
    assert name == target.command(program, arguments).name


@pytest.mark.parametrize(
    ("url", "shown", "port"),
    [
        ("https://user:pass@shop.example/mcp?key=1#top", "https://shop.example/mcp", 443),
        ("http://shop.example:8000/s/0123456789abcdef0123456789/mcp", "http://shop.example:8000/s/.../mcp", 8000),
        ("http://[::1]:8000/mcp", "http://[::1]:8000/mcp", 8000),
    ],
)
def test_url_without_secrets(url: str, shown: str, port: int) -> None:
    found = target.url(url)
    assert (found.url, found.port) == (shown, port)


def test_unreadable_url_is_no_error() -> None:
    assert target.url("http://shop:port/") == target.Target(target.Transport.HTTP)
