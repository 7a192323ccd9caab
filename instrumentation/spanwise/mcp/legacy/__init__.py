"""The seams of mcp 1.x, where the SDK makes no spans itself and its transports lose the caller's context."""
