"""The decision guide: one small predicate per rule, its words and numbers as data."""
