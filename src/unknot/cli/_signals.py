"""Signals that end a command."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def sigterm_is_ctrl_c() -> Iterator[None]:
    """Let the signal that ends a job of a cluster stop the block as Ctrl-C does: state is saved, nothing is left."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():  # which alone may say what a signal does
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
