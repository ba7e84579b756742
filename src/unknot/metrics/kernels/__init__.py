"""Compiled inner loops of the metrics."""
