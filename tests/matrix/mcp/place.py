"""Where the shop is served: in this process, in one that the client starts, in one that listens on a port."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from tests.matrix.mcp.shop.sdk import build

_PROGRAM = Path(__file__).parent / "shop" / "serve.py"


@contextmanager
def served(transport: str, layer: str, environment: Mapping[str, str] | None) -> Iterator[Any]:
    """The place to connect to; ``environment`` of a traced server, None for one that is not.

    When the block is left, the server's process is over, and what it had to send is sent.
    """
    arguments = [str(_PROGRAM), layer, transport, *([] if environment is None else ["traced"])]
    if transport == "in-process":
        yield build(layer)
    elif transport == "stdio":
        yield StdioServerParameters(command=sys.executable, args=arguments, env=dict(environment or {}))
    else:
        with _listening(arguments, environment or {}) as url:
            yield url


@contextmanager
def _listening(arguments: list[str], environment: Mapping[str, str]) -> Iterator[str]:
    command = [sys.executable, *arguments]
    # What 1.x says of clients that do not wait any longer is no matter of the test.
    with subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.terminate()
            process.wait()
