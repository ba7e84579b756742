"""Signals that end a command: Ctrl-C, and SIGTERM."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def waiting_signals() -> Iterator[None]:
    """Keep Ctrl-C and SIGTERM from processes that are started inside the block; this one gets them at its end."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # which would let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def forget_waiting_signals() -> None:
    """In a process started so: forget what came while it started, ignore SIGTERM, and heed Ctrl-C from now on."""
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def sigterm_is_ctrl_c() -> Iterator[None]:
    """Let the signal that ends a job of a cluster stop the block as Ctrl-C does: state is saved, nothing is left."""
    if threading.current_thread() is not threading.main_thread():  # which alone may say what a signal does
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def kept_sigterm() -> Iterator[None]:
    """Let SIGTERM do after the block what it did before, though a library says otherwise in between."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into an answer to ask for between steps; a second one stops at once.

    So too for SIGTERM, where the command line has made it another Ctrl-C; other handlers of it are left alone.
    """
    handlers = {number: signal.getsignal(number) for number in ENDS}
    before = {
        number: handler
        for number, handler in handlers.items()
        if callable(handler) and (number == signal.SIGINT or handler is signal.default_int_handler)
    }
    if threading.current_thread() is not threading.main_thread():
        before = {}
    asked = False

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, frame: object) -> None:
        nonlocal asked
        asked = True
        restore()

    for number in before:
        signal.signal(number, ask)
    try:
        yield lambda: asked
    finally:
        restore()
