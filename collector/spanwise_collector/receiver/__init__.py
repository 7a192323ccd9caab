"""OTLP/gRPC and OTLP/HTTP in front of the store."""

from spanwise_collector.receiver.receiver import Bound, Receiver

__all__ = ["Bound", "Receiver"]
