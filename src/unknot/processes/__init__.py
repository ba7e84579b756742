"""Processes, signals and memory of the machine that a command runs on."""
