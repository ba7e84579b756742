"""Work that one process at a time may do, on one machine or on several that share a disk."""

import _thread
import json
import math
import os
import platform
import secrets
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from unknot.errors import UnknotError, UnknotWarning

BEAT = 5.0  # seconds between two signs of life
DEAD = 60.0  # seconds without one after which a machine is taken for dead
SETTLE = 2.0  # seconds until all machines see who took over from a dead one
LOOK_EVERY = 0.2  # seconds


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, in words for others.

    Attributes:
        host: its name.
        boot: tells machines of the same name apart.
        pid: of the process.
        key: tells processes of the same number apart.
    """

    host: str = "another machine"
    boot: str = ""
    pid: int = 0
    key: str = ""

    @property
    def is_here(self) -> bool:
        """Whether it is, or was, a process of this machine."""
        return (self.host, self.boot) == (platform.node(), _boot())

    def __str__(self) -> str:
        process = f"process {self.pid}" if self.pid else "another process"
        return process if self.is_here else f"{process} on {self.host}"

    @property
    def hint(self) -> str:
        """What to do if it is not there any more."""
        if self.is_here:
            return ""
        return f" If {self.host} is dead, its lock is taken over after {DEAD:.0f} seconds without a sign of life."


class HeldError(Exception):
    """Another process holds the lock."""

    def __init__(self, holder: Holder) -> None:
        super().__init__(str(holder))
        self.holder = holder


@contextmanager
def held(path: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Let only one process at a time into the block, on all machines that see the file.

    The processes of one machine are told apart by the system, which lets go of the lock of a killed one at once. A
    shared disk may not tell a machine of the locks of another, so a file beside the lock says who holds it, with a
    count that goes on every few seconds. One that stands still for a minute is that of a dead machine, and is taken
    over. Only this machine's own stopwatch is read: clocks may differ, and jump.

    Args:
        path: of the lock.
        patience: seconds to wait for it.

    Raises:
        HeldError: if it is not free by then.
        OSError: if it cannot be written.
        UnknotError: if the block took so long to give a sign of life that another machine has taken over.
    """
    from filelock import FileLock, Timeout

    until, record, lock = time.monotonic() + patience, _Record(path.with_suffix(".holder")), FileLock(path)
    try:
        lock.acquire(timeout=-1 if math.isinf(patience) else patience)
    except Timeout:
        raise HeldError(record.holder()) from None
    except NotImplementedError:  # a disk without locks: the record is all there is
        record.alone_here = False
    try:
        record.take(until)
        try:
            yield
        except KeyboardInterrupt:
            if record.lost_to is None:
                raise
            raise UnknotError(
                f"{path.parent}: was taken over by {record.lost_to}, after {DEAD:.0f} seconds without a sign of life "
                "from here; stopped. The same command goes on once that one has ended."
            ) from None
        finally:
            record.drop()
    finally:
        lock.release()


def forget_killed(path: Path) -> None:
    """Remove what a process of this machine left beside a lock when it was killed at the end of its work."""
    from filelock import FileLock, Timeout

    record = _Record(path.with_suffix(".holder"))
    if record.file.exists() and record.holder().is_here:
        # Held by another, or a disk that has no locks or cannot be written: then the note stays, and harms nobody.
        with suppress(Timeout, OSError, NotImplementedError), FileLock(path).acquire(timeout=0):
            record.file.unlink(missing_ok=True)


@dataclass
class _Record:
    """The file that says who holds a lock: a line for the holder, and a line for the count."""

    file: Path
    alone_here: bool = True  # whether no other process of this machine can hold the lock
    lost_to: Holder | None = None
    line: str = field(init=False)

    def __post_init__(self) -> None:
        self.line = json.dumps(asdict(Holder(platform.node(), _boot(), os.getpid(), secrets.token_hex(8))))
        self.count = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._live, daemon=True)

    def take(self, until: float) -> None:
        """Become the holder, once there is no other or the other is dead."""
        seen, since, warned = "", time.monotonic(), False
        while True:
            text = self._read()
            if text is None:
                with suppress(FileExistsError):
                    self._create()
                    if warned:
                        time.sleep(SETTLE)
                    if not warned or (self._read() or "").startswith(self.line):
                        break
                continue
            holder = _parsed(text)
            if holder.is_here and self.alone_here:
                self.file.unlink(missing_ok=True)
                continue
            if text != seen:
                if seen and time.monotonic() >= until:
                    raise HeldError(holder)
                seen, since = text, time.monotonic()
            if not warned:
                what = (
                    f"{self.file}: names {holder}; waiting up to {DEAD:.0f} seconds for a sign of life from there."
                )
                warnings.warn(what, UnknotWarning, stacklevel=5)
                warned = True
            if time.monotonic() - since > DEAD:
                self.file.unlink(missing_ok=True)
                continue
            time.sleep(LOOK_EVERY)
        self.thread.start()

    def drop(self) -> None:
        """Be the holder no more."""
        self.over.set()
        self.thread.join()
        with suppress(OSError):
            if (self._read() or "").startswith(self.line):
                self.file.unlink(missing_ok=True)

    def holder(self) -> Holder:
        """Who holds the lock, as far as is known."""
        text = self._read()
        return Holder(platform.node(), _boot()) if text is None else _parsed(text)

    def _live(self) -> None:
        """Give signs of life, and stop the process if another one is the holder now."""
        while not self.over.wait(BEAT):
            with suppress(OSError):
                text = self._read()
                if text is None:
                    self._create()
                elif text.startswith(self.line):
                    self.count += 1
                    with self.file.open(
                        "r+", encoding="utf-8"
                    ) as file:  # in place, which a full disk has room for
                        file.write(self._text())
                else:
                    self.lost_to = _parsed(text)
                    _thread.interrupt_main()
                    return

    def _text(self) -> str:
        return f"{self.line}\n{self.count:012d}\n"

    def _create(self) -> None:
        with self.file.open("x", encoding="utf-8") as file:
            try:
                file.write(self._text())
                file.flush()
            except OSError:
                self.file.unlink(missing_ok=True)
                raise

    def _read(self) -> str | None:
        """What the file says; None if there is none."""
        try:
            return self.file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None


def _parsed(text: str) -> Holder:
    """The holder that a record names; one nobody knows if it is being written."""
    try:
        return Holder(**json.loads(text.splitlines()[0]))
    except (ValueError, TypeError, IndexError, RecursionError):
        return Holder()


def _boot() -> str:
    """What tells this machine, since it was started, from others; empty where the system does not say."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    return ""
