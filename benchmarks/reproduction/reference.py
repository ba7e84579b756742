"""Does a ranking without labels agree with the metrics that need them, on models that are really trained?

The reference study that ships, an hour and a half of one core; `--seeds 3` is a trial and `--seeds 50` the size of Duan
et al. 2020. More seeds go on from fewer.
"""

from pathlib import Path
from typing import Any

from reproduce import table

from reproduction.duan2020 import agreement


def run(folder: Path, jobs: int, seeds: int = 10) -> str:
    """How rankings go with metrics, with the published means beside."""
    import yaml

    from unknot.studies.spec import read_spec

    file = folder.with_suffix(".yaml")
    file.write_text(yaml.safe_dump({**read_spec("reference").data, "seeds": seeds}, sort_keys=False))
    return agreement(file, folder, jobs) + "\n" + table(published())


def published() -> list[dict[str, Any]]:
    """Table 7 of the paper: means over four metrics, three datasets and six model classes."""
    from unknot.papers import table as of_paper

    rows = of_paper("duan2020", "table7").to_dict("records")
    return [{"published": row["udr_version"] or row["compared_with"], "mean": row["value"]} for row in rows]
