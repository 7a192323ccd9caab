"""What the rules ask of a ledger: model calls, tool calls, set-ups, and which rounds they form."""
