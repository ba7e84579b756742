"""Observations with known factors: readers of the published files, renderers, splits and pairs."""
