"""Whether the hub that published networks come from can be reached; else only what it left here is looked at."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit
from urllib.request import getproxies

PATIENCE = 3.0  # seconds


@contextmanager
def hub_or_cache() -> Iterator[None]:
    """Without a way to the hub, let its library look into its cache alone: it would try again for most of a minute."""
    try:
        from huggingface_hub import constants
    except ImportError:
        yield
        return
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not _reachable(constants.ENDPOINT)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _reachable(address: str) -> bool:
    parts = urlsplit(address)
    if getproxies().keys() & {parts.scheme, "all"}:  # then the way to it is not ours to try
        return True
    try:
        port = parts.port or (80 if parts.scheme == "http" else 443)
        socket.create_connection((parts.hostname or "", port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True
