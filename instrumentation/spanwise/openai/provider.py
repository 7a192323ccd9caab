"""Whose service a client talks to, in the words of the conventions."""

from __future__ import annotations

import re
from typing import Any, Final
from weakref import WeakKeyDictionary

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
_targets: WeakKeyDictionary[Any, tuple[Any, dict[str, AttributeValue]]] = WeakKeyDictionary()
_HTTP, _HTTP_PORT, _HTTPS_PORT = "http", 80, 443


def target(client: Any) -> dict[str, AttributeValue]:
    """Provider, host and port of what ``client`` talks to."""
    url = getattr(client, "base_url", None)
    known = _targets.get(client)
    if known is None or known[0] is not url:  # a program may point its client elsewhere
        known = _targets[client] = url, _target(client, url)
    return known[1]


def _target(client: Any, url: Any) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {semconv.GEN_AI_PROVIDER_NAME: provider_name(client)}
    if host := encodable(getattr(url, "host", "") or ""):
        default = _HTTP_PORT if getattr(url, "scheme", "") == _HTTP else _HTTPS_PORT
        found |= {semconv.SERVER_ADDRESS: host, semconv.SERVER_PORT: getattr(url, "port", None) or default}
    return found


def provider_name(client: Any) -> str:
    """The provider behind ``client``: known by its class or its host."""
    if any(kind.__name__ in _AZURE_CLIENTS for kind in type(client).__mro__):
        return AZURE
    url = getattr(client, "base_url", None)
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
