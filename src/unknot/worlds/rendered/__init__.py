"""Worlds that draw their images."""
