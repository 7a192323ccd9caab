"""OTLP/gRPC and OTLP/HTTP in front of the store, and what every port of this process lets in."""

from spanwise_collector.receiver.access import Right
from spanwise_collector.receiver.entrance import Entrance
from spanwise_collector.receiver.guard import Guard, Refusal, Rules
from spanwise_collector.receiver.receiver import Bound, Receiver
from spanwise_collector.receiver.server import context_factory

__all__ = ["Bound", "Entrance", "Guard", "Receiver", "Refusal", "Right", "Rules", "context_factory"]
