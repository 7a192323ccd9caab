"""OTLP on the wire: protobuf and JSON in, Arrow columns out."""
