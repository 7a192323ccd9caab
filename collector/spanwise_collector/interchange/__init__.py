"""Spans to files and back: what leaves the store as OTLP or Parquet, and what comes in from files."""
