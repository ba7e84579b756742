"""Processes, signals, memory, network and extras of the machine that a command runs on."""
