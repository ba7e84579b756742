"""Chores of those who work on Unknot; nothing of it is installed."""
