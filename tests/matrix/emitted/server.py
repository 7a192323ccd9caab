"""One of the demo's MCP servers with declared times and a logbook, instrumented as the agent is or not at all."""

from __future__ import annotations

import sys
from typing import Any

from tests.matrix.emitted import tracers
from tests.matrix.emitted.logbook import noted

HANDLER_MS = 80
LIST_MS = 20


async def _log(ctx: Any, call_next: Any) -> Any:
    with noted(ctx.method):
        return await call_next(ctx)


def main(name: str, names: str) -> None:
    """Serve ``orders`` over stdio or ``stock`` over streamable HTTP until the input ends."""
    tracers.set_up(names.split("+") if names else [], service=name)
    from spanwise_demo.listen import listen
    from spanwise_demo.servers import orders, stock
    from spanwise_demo.servers.settings import Settings

    build = {"orders": orders.orders, "stock": stock.stock}[name]
    desk = build(Settings(handler_ms=HANDLER_MS, list_ms=LIST_MS))
    desk.server.middleware.insert(0, _log)
    if name == "orders":
        desk.server.run("stdio")
    else:
        listen(desk.server.streamable_http_app(), "/mcp")


if __name__ == "__main__":
    main(*sys.argv[1:])
