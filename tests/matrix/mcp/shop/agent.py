"""An agent that is stopped while it waits for a server that died in a call: ``agent.py URL SECONDS``."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

import spanwise

spanwise.instrument("agent")

from tests.matrix.mcp.caller import opened  # noqa: E402 - instrumented first, as a user would
from tests.matrix.mcp.shop.sdk import nothing_heard  # noqa: E402


async def ask(url: str) -> None:
    """Call a tool in which the server ends."""
    async with opened(url, "legacy", nothing_heard) as caller:
        await caller.call("die")


def quietly(url: str) -> None:
    """What comes of it is told by the spans."""
    try:
        asyncio.run(ask(url))
    except BaseException:  # noqa: BLE001 - some versions notice, others wait for ever
        return


if __name__ == "__main__":
    threading.Thread(target=quietly, args=(sys.argv[1],), daemon=True).start()
    time.sleep(float(sys.argv[2]))
