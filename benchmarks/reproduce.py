"""`make reproduce`: the slow scientific checks. Each goes on where it was interrupted, and writes `reproduce/NAME.md`.

python benchmarks/reproduce.py                        all of them, about a day on two cores
python benchmarks/reproduce.py duan2020 schott2022    some of them
python benchmarks/reproduce.py endurance --minutes 5  a short trial of the one that takes an hour

`unknot papers NAME` names the parts that repeat a paper. Results, with dates and minutes, are in docs/results.md.
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

HERE = Path(__file__).parent
FOLDER = Path("reproduce")
PARTS = (
    "betas",
    "precision",
    "recipes",
    "models",
    "mahon2024",
    "duan2020",
    "reference",
    "schott2022",
    "vansteenkiste2019",
    "reasoning",
    "pixels",
    "pretrained",
    "slots",
    "traced_slots",
    "objects",
    "kills",
    "endurance",
    "validity",
    "comparisons",
    "agents",
)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table; numbers with three digits."""
    header = list(rows[0])
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in header) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def correlated(first: Any, second: Any, *, method: Literal["pearson", "spearman"] = "spearman") -> str:
    """The correlation of two scores over the runs that have both, with a 95 % interval by resampling runs."""
    from unknot.statistics.correlations import correlation

    found = correlation(first, second, method=method)
    return f"{found.r:.2f} [{found.low:.2f}, {found.high:.2f}]"


def workers(jobs: int) -> ProcessPoolExecutor:
    """Processes that end with this one; what they were training can be gone on with."""
    from unknot.processes.parent import follow_parent

    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=follow_parent)


def _cpu_seconds() -> float:
    """Of this process, and of all that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"among {', '.join(PARTS)}; all if left out")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--minutes", type=float, default=60, help="how long endurance disturbs its study")
    parser.add_argument(
        "--seeds", type=int, help="of validity, traced_slots, schott2022 or the reference, or pairs of comparisons"
    )
    parser.add_argument("--pixels", type=int, help="side of the scenes of traced_slots, such as 32")
    parser.add_argument("--steps", type=int, help="fewer steps of traced_slots")
    parser.add_argument("--tiny", action="store_true", help="agents in two minutes, to see that it runs")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.parts if name not in PARTS]
    if unknown:
        sys.exit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    sys.path.insert(0, str(HERE))
    FOLDER.mkdir(exist_ok=True)
    own: dict[str, dict[str, Any]] = {"endurance": {"minutes": chosen.minutes}, "agents": {"tiny": chosen.tiny}}
    if chosen.seeds is not None:
        seeds = {"seeds": chosen.seeds}
        own |= {"validity": seeds, "reference": seeds, "schott2022": seeds, "comparisons": {"pairs": chosen.seeds}}
    traced = {name: vars(chosen)[name] for name in ("seeds", "pixels", "steps") if vars(chosen)[name] is not None}
    own |= {"traced_slots": traced, "objects": traced}
    for name in chosen.parts or PARTS:
        print(f"== {name}", flush=True)
        began, busy = time.monotonic(), _cpu_seconds()
        text = import_module(f"reproduction.{name}").run(FOLDER / name, chosen.jobs, **own.get(name, {}))
        minutes = (time.monotonic() - began) / 60
        path = FOLDER / f"{name}.md"
        path.write_text(f"{text}\n{minutes:.0f} minutes in this call, {_cpu_seconds() - busy:.0f} s of CPU.\n")
        print(f"{text}\n{path}", flush=True)


if __name__ == "__main__":
    main()
