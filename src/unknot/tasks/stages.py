"""How a task of several stages tells what it is doing."""

from collections.abc import Callable

Watch = Callable[[int, int], None]  # how much of a stage is done, of how much
Say = Callable[[str], None]  # the stage that begins
Tell = Callable[[str, int, int], None]  # both


def teller(watch: Watch | None, say: Say | None) -> Tell:
    """One function that calls `say` when a stage begins and `watch` as it goes on.

    >>> tell = teller(lambda done, total: print(done, "of", total), print)
    >>> tell("encoding", 1, 2); tell("encoding", 2, 2)
    encoding
    1 of 2
    2 of 2
    """
    now = ""

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal now
        if stage != now:
            now = stage
            if say is not None:
                say(stage)
        if watch is not None:
            watch(done, total)

    return tell
