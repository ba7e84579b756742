"""The attack: `python -m tests.fuzz.run --cases 20000 --seed 1 --jobs 2`, or `--case 17` to see one of them alone.

A seed and a number are always the same case. What was found is written to a folder: a line for each case, from which
the same command goes on (verdicts-SEED.jsonl), and faults by root cause (summary-SEED.md).
"""

import argparse
import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tests.fuzz import stage as stages
from tests.fuzz.judge import Verdict
from tests.fuzz.worker import judged, serve, warm_up

LIMIT = 60.0  # seconds


def verdicts(numbers: Iterable[int], seed: int, stage: Path, jobs: int, limit: float = LIMIT) -> Iterator[Verdict]:
    """The verdicts on cases, as they are reached."""
    context = multiprocessing.get_context("spawn")
    left = iter(numbers)
    busy: dict[Any, Any] = {}
    for _ in range(jobs):
        mine, theirs = context.Pipe()
        busy[mine] = context.Process(target=serve, args=(theirs, seed, str(stage), limit))
        busy[mine].start()
        theirs.close()
    try:
        while busy:
            for connection in wait(list(busy)):
                verdict = connection.recv()
                if verdict is not None:
                    yield verdict
                number = next(left, None)
                connection.send(number)
                if number is None:
                    busy.pop(connection).join()
    finally:
        for process in busy.values():
            process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.fuzz.run")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--case", type=int, help="only this one, with all that is known of it")
    parser.add_argument("--kills", type=int, default=0, help="kill so many commands instead")
    parser.add_argument("--output", type=Path, default=Path(tempfile.gettempdir()) / "unknot-fuzz")
    options = parser.parse_args()
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # in the background of a shell, where Ctrl-C does nothing
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    stage = stages.build(options.output / "stage")
    if options.case is not None:
        sys.exit(_one(options.seed, options.case, stage))
    if options.kills:
        from tests.fuzz.kills import kill_all

        sys.exit(kill_all(options.kills, options.seed, options.output))
    sys.exit(_many(options, stage))


def _one(seed: int, number: int, stage: Path) -> int:
    from rich.console import Console

    warm_up(stage)
    verdict = judged(seed, number, stage, LIMIT)
    console = Console(markup=False, highlight=False, soft_wrap=True)
    console.print(f"{verdict.about}\n{verdict.outcome}, {verdict.seconds:.1f} s, {verdict.megabytes:.0f} MB")
    for cause, details in verdict.faults:
        console.print(f"\n{cause}\n{details}")
    return bool(verdict.faults)


def _many(options: argparse.Namespace, stage: Path) -> int:
    from rich.progress import Progress, TextColumn

    record = options.output / f"verdicts-{options.seed}.jsonl"
    done = read(record)
    numbers = [n for n in range(options.first, options.first + options.cases) if n not in done]
    columns = (*Progress.get_default_columns(), TextColumn("{task.fields[faults]} at fault"))
    with Progress(*columns) as bar, record.open("a", encoding="utf-8") as file:
        faults = sum(bool(verdict.faults) for verdict in done.values())
        task = bar.add_task("cases", total=options.cases, completed=options.cases - len(numbers), faults=faults)
        for verdict in verdicts(numbers, options.seed, stage, options.jobs):
            file.write(json.dumps(asdict(verdict)) + "\n")
            file.flush()
            done[verdict.number] = verdict
            faults += bool(verdict.faults)
            bar.update(task, advance=1, faults=faults)
    text = summary(done.values(), options.seed)
    (options.output / f"summary-{options.seed}.md").write_text(text, encoding="utf-8", errors="backslashreplace")
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())
    return bool(faults)


def read(record: Path) -> dict[int, Verdict]:
    """The verdicts there are already."""
    if not record.is_file():
        return {}
    lines = (json.loads(line) for line in record.read_text(encoding="utf-8").splitlines() if line.endswith("}"))
    return {line["number"]: Verdict(**line) for line in lines}


def summary(all_verdicts: Iterable[Verdict], seed: int) -> str:
    """Figures, and faults by root cause, the most frequent first."""
    judged_ = list(all_verdicts)
    counts = Counter(verdict.outcome for verdict in judged_)
    peak = max((verdict.megabytes for verdict in judged_), default=0)
    by_cause: dict[str, list[tuple[Verdict, str]]] = defaultdict(list)
    for verdict in judged_:
        for cause, details in verdict.faults:
            by_cause[cause].append((verdict, details))
    lines = [f"{len(judged_):,} cases of seed {seed}: {dict(counts)}, at most {peak:,.0f} MB.", ""]
    for cause, found in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        verdict, details = found[0]
        numbers = ", ".join(str(other.number) for other, _ in found[:6])
        last = details.strip().splitlines()[-1] if details.strip() else ""
        lines.append(f"- {len(found)} x {cause} (cases {numbers})\n    {verdict.about[:300]}\n    {last[:300]}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
