"""Runs the local model service on a port of the system's choice and prints the address as a line of JSON."""

from __future__ import annotations

from spanwise_demo.listen import listen
from spanwise_demo.model.service import service

if __name__ == "__main__":
    listen(service())
