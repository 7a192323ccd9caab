"""Jaeger's query API, for Grafana and the Jaeger UI."""

from spanwise_analyzer.jaeger.routes import router

__all__ = ["router"]
