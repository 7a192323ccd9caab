"""Lets only gRPC calls pass that show a token; the health service needs none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import grpc

from spanwise_collector.receiver.access import Access, Right

_HEALTH: Final = "/grpc.health.v1.Health/"
_WANTED: Final = "a valid ingest token is needed in the metadata: authorization: Bearer TOKEN"


class Gate(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc carries no types
    """Refuses before the request is read."""

    def __init__(self, access: Access, refused: Callable[[], None]) -> None:
        self._access = access
        self._refused = refused

    def intercept_service(self, proceed: Callable[[Any], Any], details: Any) -> Any:
        """The method's own handler, or one that refuses."""
        shown = [value for name, value in details.invocation_metadata if name == "authorization"]
        authorization = str(shown[0]) if len(shown) == 1 else None
        if details.method.startswith(_HEALTH) or self._access.allows(Right.INGEST, authorization):
            return proceed(details)
        self._refused()
        self._access.refuse(Right.INGEST, "gRPC")
        # Streaming, so that no message is taken in first.
        return grpc.stream_unary_rpc_method_handler(_refuse)


def _refuse(_request: Any, context: Any) -> None:
    context.abort(grpc.StatusCode.UNAUTHENTICATED, _WANTED)
