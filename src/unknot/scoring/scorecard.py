"""What is to be scored, one metric's result, and all of them together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics import METRICS
from unknot.metrics.arrays import WIDE, Floats
from unknot.metrics.inputs import Rows
from unknot.metrics.latents import dead_latents
from unknot.metrics.score import Score, identity
from unknot.metrics.verdict import Verdict
from unknot.reading.arrays import is_sparse
from unknot.representation import Representation
from unknot.scoring.adviser import Advice, advise
from unknot.scoring.answers import Answer, answers, in_a_sentence
from unknot.scoring.chance import Chance, as_fields
from unknot.scoring.factor_facts import Missing, dependence, dependence_sentences, missing_labels
from unknot.scoring.score_row import Entry, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

LOOKED_AT = 1_000  # rows, for the range of latents
LEAST_RANGE, LARGEST_RANGE = 1e-2, 1e4  # of latents, beyond which a card names the metrics that mind their units
SECONDS = {"instant": 0.1, "seconds": 3.0, "minutes": 60.0}  # by cost, at 10,000 rows of ten latents


@dataclass(frozen=True)
class Record:
    """One metric's result.

    Attributes:
        id: the variant's full name, such as `mig[bins=20]`.
        name: the metric's key in METRICS.
        options: what it was called with besides the data.
        score: value and parts; None if the metric refused.
        seconds: wall time, resampling included.
        refused: why there is no score.
        interval: 95 % interval of the value on as many other rows, if asked for.
        warnings: what was said while it ran.
        chance: what the metric gives by chance, as measured or by a formula; None where neither is known.
        drift: how much the value is above that of half of the rows, beside an interval.
    """

    id: str
    name: str
    options: Mapping[str, Any]
    score: Score | None
    seconds: float
    refused: str = ""
    interval: tuple[float, float] | None = None
    warnings: tuple[str, ...] = ()
    chance: Chance | None = None
    drift: float | None = None

    @property
    def chance_record(self) -> dict[str, Any] | None:
        """The chance level as plain values, with the share above it."""
        if self.chance is None or self.score is None:
            return None
        return self.chance.record(self.score.value, METRICS[self.name].facts)


@dataclass(frozen=True)
class Plan:
    """What is to be scored, and how: made by `plan`, worked through by `run`."""

    representation: Representation
    rows: Rows | None  # None without factors
    tasks: tuple[tuple[str, Mapping[str, Any]], ...]
    seed: int = 0
    limit: int | None = None
    bootstrap: int = 0
    null: int | None = 0  # permutations that measure chance; None for few, where rows are few
    by_width: bool = (
        False  # whether the metrics are those of the default suite, which depends on the number of latents
    )
    slots: int = 0  # that the representation is the mean of; 0 if it was none of slots

    @property
    def ids(self) -> list[str]:
        """Full names of the metrics, in the order they are shown."""
        return [identity(METRICS[name], **options) for name, options in self.tasks]

    @property
    def n_rows(self) -> int:
        """How many rows are scored at most, held-out ones not counted."""
        rows, held_out = self.representation.latents.shape[0], self.representation.latents_test is not None
        limit = self.limit and -(-self.limit * 2 // 3) if held_out else self.limit
        return int(rows if limit is None else min(rows, limit))

    @property
    def seconds(self) -> float:
        """About how long one process takes, on the machine that the costs of metrics were measured on."""
        latents = self.representation.latents
        tenths: float = self.n_rows / 10_000  # metrics that train see about so many rows at most
        facts = [METRICS[name].facts for name, _ in self.tasks]
        return sum(
            max(SECONDS[each.cost], each.seconds(latents))
            * (tenths if each.cost == "instant" else min(tenths, 1.5))
            for each in facts
        )

    @cached_property
    def missing(self) -> list[Missing]:
        """Factors whose labels are not all there."""
        return [] if self.rows is None else missing_labels(self.rows, self.representation.words)

    @cached_property
    def dependence(self) -> Floats | None:
        """How much the factors that vary depend on each other, (k, k); None without factors."""
        return None if self.rows is None else dependence(self.rows)

    @cached_property
    def about_factors(self) -> tuple[str, ...]:
        """What is to be known of the factors before any score, in sentences."""
        if self.rows is None or self.dependence is None:
            return ()
        names = [self.rows.names[j] for j in self.rows.kept]
        metrics = dict.fromkeys(name for name, _ in self.tasks)
        return *dependence_sentences(self.dependence, names, metrics), *map(str, self.missing)

    @cached_property
    def advice(self) -> list[Advice]:
        """Which of the metrics are misspecified here: what they assume, measured on these rows."""
        if self.rows is None or self.dependence is None or self.slots:
            return []
        return advise(self.rows, self.representation.latents, self.dependence, self.tasks)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What holds for all metrics: factors cut into bins, slots, latents that are constant."""
        notes = [] if self.rows is None else list(self.rows.notes)
        if self.slots:
            notes.append(
                f"{self.slots} slots are scored by their mean, which does not depend on their order; metrics that look "
                "at single latents leave them out."
            )
        gone = dead_latents(self.representation.latents)
        if len(gone):
            which = ", ".join(map(str, gone[:20])) + (f" and {len(gone) - 20} more" if len(gone) > 20 else "")
            notes.append(
                f"constant latent(s): {which}. They carry nothing but are counted, which moves metrics that divide by "
                "the number of latents, such as modularity, completeness and mutual_info_score."
            )
        notes.extend(self._about_units())
        if self.by_width and self.representation.latents.shape[1] > WIDE:
            notes.append(self._about_width(self.representation.latents))
        return tuple(notes)

    def _about_units(self) -> Iterator[str]:
        """What depends on the units of latents, where these are very small or large."""
        latents = self.representation.latents
        few = latents[:: -(-latents.shape[0] // LOOKED_AT)]
        axis = None if is_sparse(few) else 0
        ranges = np.subtract(few.max(axis), few.min(axis), dtype=np.float64)  # may be beyond their own precision
        widest = float(ranges.max())
        moved = [
            identity(METRICS[name], **how) for name, how in self.tasks if METRICS[name].facts.minds_units(how)
        ]
        if moved and widest and not LEAST_RANGE <= widest <= LARGEST_RANGE:
            yield (
                f"latents have a range of {widest:.2g} at most, and {', '.join(moved)} "
                f"{'depends' if len(moved) == 1 else 'depend'} on their units; bring them to a range near 1 first."
            )

    def _about_width(self, latents: Any) -> str:
        """How the default suite differs from that of fewer latents."""
        chosen = [
            identity(METRICS[name], **options)
            for name, options in self.tasks
            if METRICS[name].facts.wide is not None
        ]
        text = f"{latents.shape[1]} latents are a wide code"
        text += f", for which the default suite takes {', '.join(chosen)}." if chosen else "."
        left_out = {
            name: metric.facts.seconds(latents)
            for name, metric in METRICS.items()
            if (not metric.facts.asked or metric.facts.wide is not None) and metric.facts.too_wide(latents)
        }
        if left_out:
            times = ", ".join(f"{name} ({duration(seconds)})" for name, seconds in left_out.items())
            text += f" Left out for the time they would take at 10,000 rows: {times}; ask for them by name."
        return text


def duration(seconds: float) -> str:
    """A rough duration in words.

    >>> duration(27.3), duration(200), duration(9000)
    ('about 30 s', 'about 3 min', 'about 2 h')
    """
    if seconds < 55:
        return f"about {max(1, round(seconds, -1 if seconds >= 10 else 0)):.0f} s"
    minutes = seconds / 60
    return f"about {minutes:.0f} min" if minutes < 100 else f"about {minutes / 60:.0f} h"


@dataclass(frozen=True)
class Scorecard:
    """All scores of one representation, with what is needed to get them again."""

    plan: Plan
    records: Mapping[str, Record]
    verdicts: Sequence[Verdict] = field(default_factory=tuple)
    shares: Floats | None = None  # (d, factors that vary): I(latent; factor) / H(factor)

    def __getitem__(self, name: str) -> Score:
        """The score of a metric, by its full or short name."""
        for record in self.records.values():
            if name in (record.id, record.name):
                if record.score is None:
                    raise UnknotError(f"{record.id} has no score: {record.refused}")
                return record.score
        raise UnknotError(f"no score of '{name}' here; there are {', '.join(self.records)}.")

    def values(self) -> dict[str, float]:
        """Full name -> value of every metric that could be computed."""
        return {id_: float(record.score) for id_, record in self.records.items() if record.score is not None}

    def entries(self) -> Iterator[Entry]:
        """Full name, facts and parts of each metric."""
        for record in self.records.values():
            about = {
                "seconds": record.seconds,
                "interval": record.interval,
                "drift": record.drift,
                "refused": record.refused,
            }
            if record.score is None:
                yield record.id, about, {}
            else:
                about |= as_fields(record.chance_record)
                yield record.id, about | {"value": record.score.value}, record.score.parts

    @property
    def answers(self) -> list[Answer]:
        """For each factor: can it be read off, and which latent knows it?"""
        return answers(
            [vars(verdict) for verdict in self.verdicts], {id_: parts for id_, _, parts in self.entries()}
        )

    def to_frame(self) -> "DataFrame":
        """Every number as a row of a data frame."""
        from pandas import DataFrame

        return DataFrame([asdict(row) for row in rows_of(self.entries())])

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw who knows what, a square for each latent and factor, into axes of matplotlib."""
        from matplotlib import pyplot

        from unknot.reports.kit.hinton import draw_hinton

        if self.shares is None:
            raise UnknotError("plot: a Hinton diagram needs factors, and there are none.")
        axes = pyplot.gca() if axes is None else axes
        draw_hinton(axes, self.shares, [verdict.factor for verdict in self.verdicts])
        return axes

    def _repr_html_(self) -> str:
        """What a notebook shows: the answers, and the numbers."""
        from html import escape

        from pandas import DataFrame

        known, numbers = self.answers, self.to_frame().drop(columns=["version", "interval"])
        parts = [f"<p>{escape(in_a_sentence(known))}</p>"] if known else []
        frames = [DataFrame([vars(answer) for answer in known])] if known else []
        return "".join(
            [
                *parts,
                *(f.to_html(index=False, na_rep="", float_format="{:.3f}".format) for f in (*frames, numbers)),
            ]
        )

    def __repr__(self) -> str:
        """One line for what was scored, and one for each metric."""
        width, factors = self.plan.representation.latents.shape[1], len(self.plan.representation.factor_names)
        lines = [f"Scorecard of {self.plan.n_rows} rows, {width} latents, {factors} factors"]
        wide = max(map(len, self.records), default=0)
        for id_, record in self.records.items():
            result = f"refused: {record.refused}" if record.score is None else f"{float(record.score):.3f}"
            lines.append(f"{id_:{wide}}  {result}")
        return "\n".join(lines)
