"""A short run of the attack: some of the cases of one seed, those that need nothing trained."""

from itertools import count, islice
from pathlib import Path

from tests.fuzz.judge import kind_of, random_of
from tests.fuzz.run import summary, verdicts
from tests.fuzz.stage import build_files

SEED, CASES = 0, 200
LIGHT = {"arrays", "study_file", "result_files", "picture_folder", "metric", "function"}


def test_two_hundred_hostile_inputs_end_well(tmp_path: Path) -> None:
    numbers = islice((n for n in count() if kind_of(random_of(SEED, n)) in LIGHT), CASES)
    reached = list(verdicts(numbers, SEED, build_files(tmp_path / "stage"), jobs=2))
    assert len(reached) == CASES
    assert not any(verdict.faults for verdict in reached), summary(reached, SEED)


def test_a_number_is_always_the_same_case(tmp_path: Path) -> None:
    stage = build_files(tmp_path / "stage")
    numbers = [n for n in range(40) if kind_of(random_of(SEED, n)) == "metric"][:3]
    first, second = (
        {verdict.number: verdict.about for verdict in verdicts(numbers, SEED, stage, jobs=1)} for _ in range(2)
    )
    assert first == second
