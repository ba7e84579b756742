"""Install what a lock says, file by file, and then Unknot itself; `make` runs it in a new environment.

`requirements.lock` is all that tests need; with the word `demo`, `requirements-demo.lock` is what `make demo` does.

Where the lock does not fit a machine (another Python, no CPU build of torch to be found), the same versions are
installed from wherever pip finds them, and that is said. A file with another content than the lock knows ends it.
"""

import subprocess
import sys

MISMATCH = "DO NOT MATCH THE HASHES"  # of pip, for a file that has a hash and not that one


def main(lock: str = "requirements.lock", extras: str = "dev") -> None:
    """With hashes if that can be done here, else without."""
    locked = _pip("--require-hashes", "-r", lock)
    if not locked.returncode:
        sys.exit(_pip("--no-deps", "--no-build-isolation", "-e", ".", shown=True).returncode)
    if MISMATCH in locked.stderr:
        sys.exit(locked.stderr)
    why = [line for line in locked.stderr.splitlines() if line.startswith("ERROR")] or [
        locked.stderr.strip()[-300:]
    ]
    print(f"{lock} does not fit this machine:\n{why[0]}\nThe same versions are installed without hashes.")
    sys.exit(_pip("-c", "constraints.txt", "-e", f".[{extras}]", shown=True).returncode)


def _pip(*words: str, shown: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "install", "--quiet", *words]
    return subprocess.run(command, stderr=None if shown else subprocess.PIPE, text=True)


if __name__ == "__main__":
    main(*("requirements-demo.lock", "torch,report") if sys.argv[1:] == ["demo"] else ())
