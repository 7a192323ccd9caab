"""The shop's support agent for returns, written with the plain ``openai`` and ``mcp`` SDKs."""
