"""Real programs read what the server says: a browser the page, Prometheus's own checker the metrics."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def test_a_browser_shows_the_long_pole_and_what_to_settle_first(
    program: Callable[[str], str], server: Any, conversation: Callable[..., Any], tmp_path: Path
) -> None:
    browser = program("chromium")
    server.send(conversation("browsed", "b0b0"))
    address = f"{server.addresses['api']}/conversations/browsed"
    command = [browser, *QUIET, f"--user-data-dir={tmp_path}", "--dump-dom", address]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    for words in ("browsed", "model.call", "define-correct-first"):
        assert words in shown


def test_prometheus_finds_nothing_wrong_with_the_metrics(
    program: Callable[[str], str], server: Any, conversation: Callable[..., Any]
) -> None:
    checker = program("promtool")
    server.send(conversation("measured", "3e7"))
    text = server.get("/metrics").body
    checked = subprocess.run([checker, "check", "metrics"], input=text, capture_output=True, timeout=60, check=False)
    assert (0, b"", b"") == (checked.returncode, checked.stdout, checked.stderr)
