"""A short run of the attack: some of the cases of one seed, those that need nothing trained."""

import re
from itertools import count, islice
from pathlib import Path

from tests.fuzz.calls import metric
from tests.fuzz.judge import kind_of, random_of
from tests.fuzz.run import summary, verdicts
from tests.fuzz.stage import build_files

SEED, CASES = 0, 120
LIGHT = {"arrays", "study_file", "result_files", "picture_folder", "metric", "function"}


def test_hostile_inputs_end_well_and_a_number_is_the_same_case_in_every_process(tmp_path: Path) -> None:
    numbers = islice((n for n in count() if kind_of(random_of(SEED, n)) in LIGHT), CASES)
    reached = list(verdicts(numbers, SEED, build_files(tmp_path / "stage"), jobs=2))
    assert len(reached) == CASES
    assert not any(verdict.faults for verdict in reached), summary(reached, SEED)
    for verdict in reached:
        rng = random_of(SEED, verdict.number)
        if kind_of(rng) == "metric":
            assert _without_addresses(verdict.about) == _without_addresses(f"metric: {metric(rng)}")


def _without_addresses(text: str) -> str:
    return re.sub("0x[0-9a-fA-F]*", "", text)
