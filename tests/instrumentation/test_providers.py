"""Whose service a call goes to, told by the client's class and host in the words of the conventions."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.instrumentation.model import ModelServer, Reply, completion, response

from spanwise import semconv
from spanwise.openai.provider import target

MESSAGES: Any = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://acme.openai.azure.com/openai/v1/", "azure.ai.openai"),
        ("https://ACME.OpenAI.Azure.com/openai/deployments/d", "azure.ai.openai"),
        ("https://acme.openai.azure.us/openai/v1", "azure.ai.openai"),
        ("https://acme.cognitiveservices.azure.com/openai/v1", "azure.ai.openai"),
        ("https://acme.services.ai.azure.com/openai/v1", "azure.ai.openai"),
        ("https://acme.services.ai.azure.com/models", "azure.ai.inference"),
        ("https://models.inference.ai.azure.com", "azure.ai.inference"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://api.mistral.ai/v1", "mistral_ai"),
        ("https://api.x.ai/v1", "x_ai"),
        ("https://us-east-1.api.x.ai/v1", "x_ai"),
        ("https://api.perplexity.ai", "perplexity"),
        ("https://api.anthropic.com/v1/", "anthropic"),
        ("https://api.cohere.ai/compatibility/v1", "cohere"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "gcp.gemini"),
        ("https://aiplatform.googleapis.com/v1/projects/p/endpoints/openapi", "gcp.vertex_ai"),
        ("https://europe-west1-aiplatform.googleapis.com/v1/endpoints/openapi", "gcp.vertex_ai"),
        ("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "aws.bedrock"),
        ("https://bedrock-mantle.eu-west-1.api.aws/v1", "aws.bedrock"),
        ("https://us-south.ml.cloud.ibm.com/ml/v1", "ibm.watsonx.ai"),
        ("http://127.0.0.1:8000/v1", "openai"),
        ("https://models.example.org/v1", "openai"),
        ("https://notgroq.com/v1", "openai"),
        ("https://api.groq.com.example.org/v1", "openai"),
        ("https://foo-x.ai/v1", "openai"),
    ],
)
def test_a_host_that_is_known_names_its_provider(url: str, expected: str) -> None:
    with openai.OpenAI(base_url=url, api_key="k") as client:
        assert expected == target(client)[semconv.GEN_AI_PROVIDER_NAME]


def test_a_client_that_is_pointed_elsewhere_is_known_by_where_it_points() -> None:
    with openai.OpenAI(base_url="https://api.groq.com/openai/v1", api_key="k") as client:
        before = target(client)
        client.base_url = "http://127.0.0.1:8000/v1"
        after = target(client)
    assert ("groq", 443) == (before[semconv.GEN_AI_PROVIDER_NAME], before[semconv.SERVER_PORT])
    assert ("openai", 8000) == (after[semconv.GEN_AI_PROVIDER_NAME], after[semconv.SERVER_PORT])


@pytest.mark.parametrize("api", ["chat", "responses", "embeddings"])
@pytest.mark.parametrize("deployment", [None, "d-1"])
def test_azures_own_client_is_azure_whatever_its_host_and_its_routes(
    exporter: InMemorySpanExporter, model: ModelServer, api: str, deployment: str | None
) -> None:
    options: dict[str, Any] = {"azure_deployment": deployment} if deployment else {}
    model.replies = [Reply({"chat": completion(), "responses": response()}.get(api, EMBEDDED))]
    with openai.AzureOpenAI(azure_endpoint=model.url, api_key="k", api_version="v", **options) as client:
        if api == "chat":
            client.chat.completions.create(model="m", messages=MESSAGES)
        elif api == "responses":
            client.responses.create(model="m", input="hi")
        else:
            client.embeddings.create(model="m", input="hi", encoding_format="float")
    (span,) = [
        span for span in exporter.get_finished_spans() if semconv.GEN_AI_OPERATION_NAME in (span.attributes or {})
    ]
    assert ("azure.ai.openai", "m") == tuple(
        (span.attributes or {})[name] for name in (semconv.GEN_AI_PROVIDER_NAME, semconv.GEN_AI_REQUEST_MODEL)
    )
    assert ("/deployments/" in model.received[0].path) is (api != "responses")


EMBEDDED = {
    "object": "list",
    "model": "e-1",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.1]}],
    "usage": {"prompt_tokens": 3, "total_tokens": 3},
}
