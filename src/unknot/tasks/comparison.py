"""Better at a task, or luck? Differences between kept results, over the seeds and draws that they were made with."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from unknot.errors import UnknotError
from unknot.files import json_hash
from unknot.metrics.arrays import Floats
from unknot.reading.arguments import checked
from unknot.scoring.comparison import Comparison
from unknot.statistics.differences import Measured, differences
from unknot.tasks import controls_of
from unknot.tasks.kept_results import WHOSE
from unknot.tasks.result import TaskResult

REPEATED = (*WHOSE, "seed")  # settings that differ between repetitions of the same


@checked
def compare_results(results: Mapping[str, Sequence[TaskResult]], *, margin: float = 0.0) -> Comparison:
    """Compare results of tasks, such as those of runs, number by number.

    Results of the same task, world and settings but for the seed are repetitions: the difference is that of their
    means, with what seeds change. One result that drew several times, as reasoners are drawn, has its draws as
    repetitions. Of a single number each, nothing tells how it scatters: the difference alone is shown. Controls that
    a number is held against, and numbers that are the same everywhere, are not compared.

    Args:
        results: name -> results, in the order of their seeds; two or more names.
        margin: differences within it count as none: "equal" is said where the whole 90 % interval lies inside.

    >>> old = [TaskResult("fairness", "old", "w", {"unfairness": value}) for value in (0.5, 0.6, 0.55)]
    >>> new = [TaskResult("fairness", "new", "w", {"unfairness": value}) for value in (0.3, 0.4, 0.36)]
    >>> (only,) = compare_results({"old": old, "new": new}).differences
    >>> only.metric, round(only.difference, 3), only.p < 0.001
    ('fairness: unfairness', -0.197, True)
    """
    if len(results) < 2:
        raise UnknotError(f"compare: got the results of {len(results)}; expected those of two or more.")
    if not margin >= 0:
        raise UnknotError(f"compare: margin is {margin}; expected 0 or more.")
    names = tuple(results)
    by_setting = {name: _by_setting(own) for name, own in results.items()}
    shared = [key for key in by_setting[names[0]] if all(key in own for own in by_setting.values())]
    notes = []
    alone = sum(len(own) for own in by_setting.values()) - len(shared) * len(names)
    if alone:
        notes.append(f"{alone} result(s) are left out: not all have one of the same task, world and settings.")
    if not shared:
        raise UnknotError(
            "compare: no two have results of the same task, world and settings; unknot task makes them."
        )
    measured: dict[str, dict[str, Measured]] = {}
    higher: dict[str, bool] = {}
    missing: dict[str, int] = {}
    same = []
    for key in shared:
        first = by_setting[names[0]][key][0]
        titles = [each for each in shared if by_setting[names[0]][each][0].task == first.task]
        task = first.task + (f" ({key[:6]})" if len(titles) > 1 else "")
        for value in first.values:
            if value in controls_of(first.task):
                continue
            measure = f"{task}: {value}"
            all_numbers = {name: _repeated(by_setting[name][key], value) for name in names}
            own = _existing(all_numbers)
            if gone := sum(map(len, all_numbers.values())) - sum(len(each.values) for each in own.values()):
                missing[measure] = gone
            if not all(len(each.values) for each in own.values()):
                continue
            if len(set(np.concatenate([each.values for each in own.values()]))) == 1:
                same.append(measure)
            else:
                measured[measure] = own
                higher[measure] = value not in first.lower_is_better
    if missing:
        what = ", ".join(f"{count} of {measure}" for measure, count in missing.items())
        notes.append(f"numbers that do not exist, and those paired with them, are left out: {what}.")
    if same:
        notes.append(f"the same number everywhere, and not compared: {', '.join(same)}.")
    single = [name for name, own in measured.items() if max(len(each.values) for each in own.values()) < 2]
    if single:
        notes.append(f"one number each, so that nothing tells how it scatters: {', '.join(single)}.")
    found = tuple(differences(measured, names, higher, margin))
    tied = dict.fromkeys(each.metric for each in found if np.isnan(each.p) and each.metric not in single)
    if tied:
        notes.append(f"all seeds differ by the same, which may be chance: {', '.join(tied)}.")
    return Comparison(names, found, True, 0, tuple(notes))


def _by_setting(results: Iterable[TaskResult]) -> dict[str, list[TaskResult]]:
    """Results by what decided their numbers, but for the seed and for whose they are."""
    found: dict[str, list[TaskResult]] = {}
    for result in results:
        settings = {name: value for name, value in result.settings.items() if name not in REPEATED}
        found.setdefault(json_hash([result.task, result.world, settings]), []).append(result)
    return found


def _repeated(results: Sequence[TaskResult], value: str) -> Floats:
    """A number of each of several results, or of each draw of a single one; NaN where there is none."""
    numbers = [each.values.get(value, np.nan) for each in results]
    if len(results) == 1:
        for table in results[0].tables.values():
            last = {
                row["draw"]: cell if isinstance(cell := row[value], int | float) else np.nan
                for row in table
                if "draw" in row and value in row
            }
            numbers = list(last.values()) if len(last) > 1 else numbers
    return np.array(numbers, dtype=np.float64)


def _existing(numbers: Mapping[str, Floats]) -> dict[str, Measured]:
    """Those that are finite: of as many each, and so paired, only where all others are too."""
    finite = {name: np.isfinite(own) for name, own in numbers.items()}
    paired = len({len(own) for own in numbers.values()}) == 1
    if paired:
        everywhere = np.all(list(finite.values()), axis=0)
        finite = {name: everywhere for name in numbers}
    existing = {}
    for name, own in numbers.items():
        values = own[finite[name]]
        # of other numbers, which may be as many once some are gone, none belong together
        seeds = tuple((place, "" if paired else name) for place in np.flatnonzero(finite[name]))
        existing[name] = Measured(values, np.empty((len(values), 0)), seeds)
    return existing
