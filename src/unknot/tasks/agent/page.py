"""The agent on a page: learning curves of every representation, and a success as a film."""

import base64
from collections.abc import Sequence

from unknot.reports.kit.page import Content, Drawing, Grid, Picture, Section
from unknot.reports.kit.step_charts import Curve, step_curves
from unknot.tasks.result import TaskResult, as_number

MOST = 12  # representations with a chart of their own


def section(results: Sequence[TaskResult]) -> Section:
    """Words, a table, curves and films."""
    texts = [
        "An agent brings sprites of a colour together by clicks and pushes. It knows them by their codes alone: from "
        "these it learned what actions do, and learns what scenes are worth. Curves: which share of a round's episodes "
        "it solved, after how many steps of the task; it stops when it has solved 90 %."
    ]
    rows = [
        [result.source, *(result.values.get(name) for name in ("steps_to_90", "reached_90", "success", "area"))]
        for result in results
    ]
    caption = (
        "Means over agents; where not all reached 90 %, steps count all that they were given. Area: mean success of "
        "all rounds, where an agent that stopped keeps its last."
    )
    header = ("representation", "steps to 90 %", "agents that reached it", "success in the last round", "area")
    contents: list[Content] = [Grid(header, rows, caption, "agent")]
    for result in results[:MOST]:
        contents += _curves(result)
    return Section("Agent", texts, contents)


def _curves(result: TaskResult) -> list[Content]:
    curve = result.tables.get("curve", [])
    curves = []
    for number in dict.fromkeys(row["initialisation"] for row in curve):
        own = [row for row in curve if row["initialisation"] == number]
        steps, success = ([as_number(row[name]) for row in own] for name in ("steps", "success"))
        curves.append(Curve(f"agent {number}", [max(1.0, step) for step in steps], success))
    contents: list[Content] = []
    if curves:
        svg = step_curves(result.source, curves, references={"90 %": 0.9}, bounds=(0.0, 1.0))
        contents.append(Drawing(svg, "Share of episodes solved over steps of the task."))
    for picture in result.tables.get("pictures", []):
        contents.append(Picture(base64.b64decode(str(picture["gif"])), f"{result.source}: {picture['title']}."))
    return contents
