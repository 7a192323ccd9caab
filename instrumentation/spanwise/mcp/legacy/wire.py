"""What goes over the wire on 1.x, seen where the SDK turns its models into JSON and back: nothing is dumped twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wrapt

Change = Callable[[dict[str, Any]], dict[str, Any] | None]


class Outgoing(wrapt.ObjectProxy[Any]):
    """A message that is about to be dumped; ``seen`` may answer with another dump to send instead."""

    def __init__(self, model: Any, seen: Change) -> None:
        super().__init__(model)
        self._self_seen = seen

    def model_dump(self, *args: Any, **kwargs: Any) -> Any:
        """As the model's own."""
        data = self.__wrapped__.model_dump(*args, **kwargs)
        return self._self_seen(data) or data


class Incoming(wrapt.ObjectProxy[Any]):
    """The type that an answer is about to become; ``seen`` gets it as it was sent."""

    def __init__(self, kind: Any, seen: Callable[[Any], None]) -> None:
        super().__init__(kind)
        self._self_seen = seen

    def model_validate(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """As the type's own."""
        self._self_seen(obj)
        return self.__wrapped__.model_validate(obj, *args, **kwargs)
