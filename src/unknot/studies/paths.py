"""Where everything is in the folder of a study.

study.json             the study as it was resolved: its file, its runs, versions
runs/<run id>/         folders as `unknot train` makes them, with latents.npz, scores.json, tasks/ and time.json
ranks/<key>.json       one ranking each
logs/<run id>.log      what a failed step said; gone once the step succeeds
tables/*.parquet       runs, scores, tasks, ranks: made of the above, and made again whenever that changes
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StudyPaths:
    """The paths in the folder of a study.

    >>> StudyPaths(Path("studies/betas")).table("runs").as_posix()
    'studies/betas/tables/runs.parquet'
    """

    folder: Path

    @property
    def record(self) -> Path:
        """The study as it was resolved."""
        return self.folder / "study.json"

    def run(self, id_: str) -> Path:
        """The folder of a run."""
        return self.folder / "runs" / id_

    def ranking(self, key: str) -> Path:
        """The file of a ranking."""
        return self.folder / "ranks" / f"{key}.json"

    def log(self, id_: str) -> Path:
        """What a failed step of a run said, or that of a ranking."""
        return self.folder / "logs" / f"{id_}.log"

    def table(self, name: str) -> Path:
        """One of the tables runs, scores, tasks and ranks."""
        return self.folder / "tables" / f"{name}.parquet"
