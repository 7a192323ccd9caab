"""How many spans of which name one cell gives, by the rules of the protocol and not by looking."""

from __future__ import annotations

from collections import Counter

from tests.matrix.mcp.cells import PINNED, Cell
from tests.matrix.mcp.shop.sdk import MODERN, VERSION

_CALLS = Counter({"ok": 1, "bad": 1, "nowhere": 1, "slow": 2, "rest": 1, "work": 1, "announce": 1})
_HANDSHAKES = {"legacy": "initialize", "auto": "server/discover"}
_LOOKS_UP_SCHEMAS = (2, 3)  # from here on the high layer knows the schemas of its own tools


def client_spans(cell: Cell) -> Counter[str]:
    """All but those of HTTP."""
    if not cell.client:
        return Counter()
    return _requests(cell) + Counter(_ends(cell)) + (_notices(cell) if _http(cell) else Counter())


def server_spans(cell: Cell) -> Counter[str]:
    """The SDK's own on 2.x, notifications included; ours on 1.x."""
    if not cell.server:
        return Counter()
    found = _requests(cell) + (_notices(cell) if MODERN else Counter())
    if _asks_itself(cell):
        found["tools/list"] += 1
    return found


def http_spans(cell: Cell) -> Counter[str]:
    """One POST for each message; a session has a stream to listen to and is deleted."""
    if not cell.client or not _http(cell):
        return Counter()
    found = Counter({"POST": _requests(cell).total() + _notices(cell).total()})
    if cell.mode == "legacy" and cell.transport != "http-stateless":
        found += Counter({"GET": 1, "DELETE": 1})
    return found


def _requests(cell: Cell) -> Counter[str]:
    found = Counter({f"tools/call {name}": count for name, count in _CALLS.items()})
    found["tools/list"] = 3 if cell.layer == "low" else 1
    found += Counter(["resources/read", "prompts/get greet"])
    if cell.mode in _HANDSHAKES:
        found[_HANDSHAKES[cell.mode]] += 1
    return found


def _notices(cell: Cell) -> Counter[str]:
    found: Counter[str] = Counter()
    if cell.mode == "legacy":
        found["notifications/initialized"] += 1
    # 1.x tells nobody that it does not wait any longer; over its newest HTTP 2.x just hangs up; in a process with the
    # server it need not say it.
    if MODERN and (cell.mode == "legacy" or cell.transport == "stdio"):
        found["notifications/cancelled"] += 2
    return found


def _ends(cell: Cell) -> list[str]:
    name = "shop"
    if cell.mode == PINNED and cell.transport != "in-process":  # nobody said how the server is called
        name = "serve.py" if cell.transport == "stdio" else "127.0.0.1"
    return [f"mcp.connect {name}", f"mcp.close {name}"]


def _asks_itself(cell: Cell) -> bool:
    """Whether the server lists its own tools to check the headers of a call with arguments."""
    by_itself = cell.layer == "low" or VERSION < _LOOKS_UP_SCHEMAS
    return MODERN and _http(cell) and cell.mode != "legacy" and by_itself


def _http(cell: Cell) -> bool:
    return cell.transport.startswith("http")
