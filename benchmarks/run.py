"""`make bench`: every speed and memory claim, measured side by side in one run on one core.

python benchmarks/run.py                 all of them
python benchmarks/run.py sap dci         some of them
"""

import importlib.util
import os
import platform
import sys
import time
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

HERE = Path(__file__).parent
NOT_BENCHMARKS = {"run", "reproduce"}


def machine() -> str:
    """What the numbers were measured on."""
    from importlib.metadata import version

    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = names[0] if names else cpu
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "numba", "torch"))
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{cpu}, {os.cpu_count()} cores{load}, Python {platform.python_version()}, {libraries}"


def main(names: list[str]) -> None:
    found = {path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in NOT_BENCHMARKS}
    unknown = [name for name in names if name not in found]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(found)}")
    print(machine())
    for name in names or found:
        print(f"\n== {name}")
        start = time.perf_counter()
        spec = importlib.util.spec_from_file_location(name, found[name])
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.argv = [str(found[name])]  # a benchmark may have options of its own
        spec.loader.exec_module(module)
        module.main()
        print(f"   ({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
