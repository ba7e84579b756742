"""Raven-like puzzles whose panels are images of a world."""
