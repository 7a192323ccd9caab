"""From a set of spans to one sound tree on one clock: a small step per file, their order in ``order``."""
