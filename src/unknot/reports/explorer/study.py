"""The runs of a study by two measures of one's choice, each with its traversals and its own page of sliders."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError
from unknot.reports.explorer.server import Explorer, Place, explored_place, made_place
from unknot.reports.kit.page import Picture
from unknot.reports.study_words import spoken
from unknot.studies.folder import StudyFolder

AT = "/run/"


class StudyExplorer(Explorer):
    """The server of a study's chart and, below `/run/ID/`, of the sliders of its runs, which are loaded when opened."""

    def __init__(
        self, study: StudyFolder, port: int = 0, *, device: str = "cpu", data: Path | None = None
    ) -> None:
        self.study, self.device, self.data = study, device, data
        self._runs: dict[str, Place] = {}
        super().__init__(study_place(study), port)

    def place(self, folder: str) -> Place | None:
        """The chart, or the sliders of a run."""
        id_ = folder.removeprefix(AT).removesuffix("/") if folder.startswith(AT) else ""
        if not id_ or id_ not in set(self.study.runs["id"]):
            return super().place(folder)
        if id_ not in self._runs:
            from unknot.reports.explorer.drawing import ExploredRun

            run = self.study.run(id_)
            if run is None:
                raise UnknotError(f"{id_}: its folder is gone.")
            self._runs[id_] = explored_place(ExploredRun(run, device=self.device, data=self.data))
        return self._runs[id_]


def study_place(study: StudyFolder) -> Place:
    """The page of the chart; refuses a study without numbers."""
    measures = [measure for measure in study.measures if len(measure.values)]
    if not measures:
        raise UnknotError(f"{study.folder}: has no scores yet; run `unknot study` first.")
    runs = [
        {
            "id": str(row["id"]),
            "name": f"{row['model']} {row['setting']}, seed {row['seed']}",
            "setting": f"{row['model']} {row['setting']}",
            "model": str(row["model"]),
            "here": study.run(str(row["id"])) is not None,
            "values": {
                m.column: float(m.values[row["id"]])
                for m in measures
                if row["id"] in m.values.index and math.isfinite(m.values[row["id"]])
            },
        }
        for row in study.runs.to_dict("records")
    ]
    shown = [
        {"column": m.column, "words": spoken(study, m.column), "higher": m.higher_is_better} for m in measures
    ]
    known = {"runs": runs, "measures": shown}
    about = f"{len(runs)} runs, {len(measures)} measures."
    return made_place("study", {"/look": _looker(study)}, known=known, title=study.name, about=about)


def _looker(study: StudyFolder) -> Any:
    ids = set(study.runs["id"])

    def look(asked: Mapping[str, Any]) -> dict[str, Any]:
        """The traversals of a run, if they are there."""
        id_ = asked.get("id")
        run = study.run(id_) if isinstance(id_, str) and id_ in ids else None
        if run is None:
            return {"picture": ""}
        path = next((p for p in map(run.picture, ("traversals", "slots")) if p.is_file()), None)
        drawn = None if path is None else Picture.read(path, "")
        return {"picture": drawn.source if drawn else ""}

    return look
