"""Who is sending: service, host and process, right also after a fork."""

from __future__ import annotations

import os
import socket
import uuid

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan

from spanwise import semconv
from spanwise.spancopy import changed

_instances: dict[int, str] = {}
_renamed: list[Resource] = []  # the parent's resource and ours


def resource(service_name: str | None = None) -> Resource:
    """The resource of this process; ``OTEL_RESOURCE_ATTRIBUTES`` wins over what we find out ourselves."""
    named = Resource.create({} if service_name is None else {semconv.SERVICE_NAME: service_name})
    found = Resource({semconv.HOST_NAME: socket.gethostname(), **_identity()})
    return found.merge(named)


def own_resource(span: ReadableSpan) -> ReadableSpan:
    """``span`` with the process id of this process, where it names the parent's from before a fork."""
    pid = span.resource.attributes.get(semconv.PROCESS_PID)
    if pid is None or pid == os.getpid():
        return span
    if not _renamed or _renamed[0] is not span.resource:
        _renamed[:] = span.resource, _own(span.resource)
    return changed(span, resource=_renamed[1])


def _own(inherited: Resource) -> Resource:
    own = _identity()
    if inherited.attributes.get(semconv.SERVICE_INSTANCE_ID) not in _instances.values():
        del own[semconv.SERVICE_INSTANCE_ID]  # somebody chose it, and it stays
    return inherited.merge(Resource(own))


def _identity() -> dict[str, str | int]:
    pid = os.getpid()
    instance = _instances.setdefault(pid, str(uuid.uuid4()))
    return {semconv.PROCESS_PID: pid, semconv.SERVICE_INSTANCE_ID: instance}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renamed.clear)  # a child of a child is not the child
