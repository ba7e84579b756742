"""Processes that do part of another one's work."""

import os
import threading
from multiprocessing import connection, parent_process


def follow_parent() -> None:
    """End this process with the one that started it, even if that one is killed."""
    parent = parent_process()
    if parent is None:
        return

    def follow() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
