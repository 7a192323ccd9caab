"""A local service that speaks the OpenAI API: its latency is a declared table, its choices a fixed policy."""
