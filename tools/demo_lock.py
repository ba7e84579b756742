"""Write `requirements-demo.lock`, the part of `requirements.lock` that `make demo` installs; `make lock` runs it."""

from packaging.utils import canonicalize_name

from tools.requirements import DEMO_LOCK, LOCK, following, read_pins

HEAD = "# The part of requirements.lock that `make demo` needs. Made by `make lock`; not to be edited.\n"
GROUPS = ("", "torch", "report", "build")


def text() -> str:
    """What the file has to be."""
    needed = {canonicalize_name(need.name) for _, need in following(*GROUPS)}
    return HEAD + "".join(f"{pin}\n" for pin in read_pins(LOCK) if pin.name in needed)


if __name__ == "__main__":
    DEMO_LOCK.write_text(text(), "utf-8")
