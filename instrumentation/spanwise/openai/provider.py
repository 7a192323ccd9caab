"""Whose service a client talks to, in the words of the conventions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.text import encodable

OPENAI: Final = "openai"  # also of hosts that nobody knows: they speak its language
AZURE: Final = "azure.ai.openai"
AZURE_INFERENCE: Final = "azure.ai.inference"
VERTEX: Final = "gcp.vertex_ai"

_AZURE_CLIENTS = frozenset({"AzureOpenAI", "AsyncAzureOpenAI"})
_HOSTS: Final = (
    ("openai.com", OPENAI),
    ("openai.azure.com", AZURE),
    ("openai.azure.us", AZURE),
    ("openai.azure.cn", AZURE),
    ("cognitiveservices.azure.com", AZURE),
    ("models.ai.azure.com", AZURE_INFERENCE),
    ("inference.ai.azure.com", AZURE_INFERENCE),
    ("groq.com", "groq"),
    ("deepseek.com", "deepseek"),
    ("mistral.ai", "mistral_ai"),
    ("x.ai", "x_ai"),
    ("perplexity.ai", "perplexity"),
    ("anthropic.com", "anthropic"),
    ("cohere.com", "cohere"),
    ("cohere.ai", "cohere"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", VERTEX),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
)
_BEDROCK = re.compile(r"bedrock(-[a-z]+)*(\.[a-z0-9-]+)?\.(amazonaws\.com(\.cn)?|api\.aws)")
_REGIONAL = "-aiplatform.googleapis.com"  # the region stands before the name
_FOUNDRY = "services.ai.azure.com"  # one host for both of Azure's APIs, told apart by the path
_HTTP, _HTTP_PORT, _HTTPS_PORT = "http", 80, 443


def target(client: Any) -> Mapping[str, AttributeValue]:
    """Provider, host and port of what ``client`` talks to."""
    # Known by its address and not by itself: a program may compare its clients as it likes, and point them elsewhere.
    kind: Any = type(client)
    return _target(kind, getattr(client, "base_url", None))


def provider_name(client: Any) -> str:
    """The provider behind ``client``: known by its class or its host."""
    return _provider(type(client), getattr(client, "base_url", None))


@lru_cache(maxsize=64)
def _target(kind: Any, url: Any) -> Mapping[str, AttributeValue]:
    found: dict[str, AttributeValue] = {semconv.GEN_AI_PROVIDER_NAME: _provider(kind, url)}
    if host := encodable(getattr(url, "host", "") or ""):
        default = _HTTP_PORT if getattr(url, "scheme", "") == _HTTP else _HTTPS_PORT
        found |= {semconv.SERVER_ADDRESS: host, semconv.SERVER_PORT: getattr(url, "port", None) or default}
    return found


def _provider(kind: Any, url: Any) -> str:
    if any(base.__name__ in _AZURE_CLIENTS for base in kind.__mro__):
        return AZURE
    return _of(str(getattr(url, "host", "") or "").lower(), str(getattr(url, "path", "") or ""))


def _of(host: str, path: str) -> str:
    if _within(host, _FOUNDRY):
        return AZURE if path.startswith("/openai") else AZURE_INFERENCE
    if _BEDROCK.fullmatch(host):
        return "aws.bedrock"
    if host.endswith(_REGIONAL):
        return VERTEX
    return next((name for end, name in _HOSTS if _within(host, end)), OPENAI)


def _within(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)
