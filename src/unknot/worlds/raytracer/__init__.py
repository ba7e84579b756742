"""A small ray tracer, compiled."""
