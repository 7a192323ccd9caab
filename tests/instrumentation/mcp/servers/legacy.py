"""A hand-made MCP server over stdio that knows only ``initialize``, and refuses what it does not know."""

from __future__ import annotations

import json
import sys
from typing import Any

RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "elder", "version": "0.9"},
    },
    "tools/list": {"tools": []},
}


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            sys.stdout.write(json.dumps(_answer(message["id"], message["method"])) + "\n")
            sys.stdout.flush()


def _answer(request: Any, method: str) -> dict[str, Any]:
    frame: dict[str, Any] = {"jsonrpc": "2.0", "id": request}
    if method in RESULTS:
        return {**frame, "result": RESULTS[method]}
    return {**frame, "error": {"code": -32601, "message": "Method not found"}}


if __name__ == "__main__":
    main()
