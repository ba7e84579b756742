"""Readers of published data files."""
