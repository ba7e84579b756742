"""Processes, signals, memory, threads of the machine that a command runs on, and which code may run on it."""
