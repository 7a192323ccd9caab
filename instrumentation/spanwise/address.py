"""Whether what somebody named as the collector can be an address at all, and what is wrong with it if not."""

from __future__ import annotations

from urllib.parse import urlsplit

from spanwise.endpoint import GRPC, Endpoint

_SCHEMES = frozenset({"http", "https"})


def fault(target: Endpoint) -> str | None:
    """What is wrong with the address of ``target``, in words for whoever wrote it; None if nothing is."""
    try:
        # A port that is no number is only found when it is asked for.
        host, _ = urlsplit(full(target)).hostname, urlsplit(full(target)).port
    except ValueError as error:
        return f"{target.url!r} is no address: {error}"
    if target.protocol != GRPC and _scheme(target.url) not in _SCHEMES:
        return f"{target.url!r} does not begin with http:// or https://"
    return None if host else f"{target.url!r} names no host"


def full(target: Endpoint) -> str:
    """The address with a scheme; gRPC takes "host:port" as well."""
    return target.url if "://" in target.url else f"http://{target.url}"


def _scheme(url: str) -> str:
    return url.split("://", 1)[0].lower() if "://" in url else ""
