"""Receives OTLP, keeps it without loss in DuckDB, and hands spans back to the analyzer."""
