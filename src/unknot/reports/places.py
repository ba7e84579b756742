"""How the runs of a study stand among each other, over all that was measured."""

from typing import Any

from unknot.studies.folder import StudyFolder


def mean_places(study: StudyFolder) -> dict[str, float]:
    """Run -> its mean place among runs of its world and split, 1 is best; the best first, runs without one left out.

    The mean over questions of the mean over metrics, so that a question many metrics ask counts once. Without
    labels, the places are those of the rankings.
    """
    counted = [m for m in study.measures if m.counted] or [m for m in study.measures if m.kind == "ranking"]
    measured = {run for m in counted for run in m.values.index}
    places: dict[str, float] = {}
    for rows in study.groups.values():
        ids = rows["id"][rows["id"].isin(measured)]
        by_question: dict[str, list[Any]] = {}
        for measure in counted:
            values = measure.values.reindex(ids)
            if values.notna().any():
                ranks = values.rank(ascending=not measure.higher_is_better, na_option="bottom")
                by_question.setdefault(measure.question, []).append(ranks)
        means = [sum(ranks) / len(ranks) for ranks in by_question.values()]
        if means:
            places |= (sum(means) / len(means)).to_dict()
    order = sorted((id_ for id_ in study.runs["id"] if id_ in places), key=lambda id_: places[id_])
    return {id_: places[id_] for id_ in order}
