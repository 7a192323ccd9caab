"""Passes on what was stored, as it came, to other OTLP endpoints; never in the way of who sent it."""

from spanwise_collector.forwarding.forwarder import Forwarder
from spanwise_collector.forwarding.relay import Counts
from spanwise_collector.forwarding.target import Target, headers, target

__all__ = ["Counts", "Forwarder", "Target", "headers", "target"]
