"""Rank models without labels: `unknot.rank(representations)`.

Models trained alike that disentangle find the same latents up to order and sign; those that entangle each do it in
their own way. A model's score (UDR) is how alike its latents are to those of its partners: the median over pairs.

Rows are read once per model. Models of one setting are in memory together, at most; where all are compared with
all, they are read again block by block.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unknot.encoders.encoding import representation_of
from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.udr import ACTIVE_STD, Method, Normaliser, check_options
from unknot.progress import Progress, silent
from unknot.ranking.candidates import Candidate, candidates, settings_of, trained
from unknot.ranking.pair_scores import LatentCache, compare
from unknot.reading.arguments import checked
from unknot.statistics.places import in_words, places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

ROWS: dict[str, int] = {"lasso": 10_000, "spearman": 1_000}  # the paper's
SHOWN = 10  # models in the short form
PLACED = 400  # resamples of partners that places rest on
FEWEST = 3  # partners that can be resampled
FEW = 5  # partners below which the paper models ranks unstable


@dataclass(frozen=True)
class Ranking:
    """The scores of many models, and the pairs they rest on.

    Attributes:
        names: of the m models, in the order they were given.
        settings: of each model; models of one setting differ in their seed only.
        scores: (m,) UDR of each model; NaN where `notes` say why.
        masks: (d_i,) for each model, which of its latents are informative.
        pairs: (p, 2) predictor and target of each comparison, by target.
        pair_scores: (p,) their scores; NaN where one of the two has no informative latent.
        method: "lasso" (UDR-L) or "spearman" (UDR-S).
        alpha: penalty of the Lasso, or "cv".
        all_to_all: whether partners came from all settings (UDR-A2A) or from the model's own.
        partners: how many each model was asked to be compared with; None for all there are.
        rows: how many inputs were used.
        threshold: smallest KL of an informative latent.
        normaliser: of the pair score, "paper" or "public".
        seed: decided rows and partners.
        notes: what was left out or assumed.
    """

    names: tuple[str, ...]
    settings: tuple[str, ...]
    scores: Floats
    masks: tuple[Bools, ...]
    pairs: Ints
    pair_scores: Floats
    method: Method
    alpha: float | Literal["cv"]
    all_to_all: bool
    partners: int | None
    rows: int
    threshold: float
    normaliser: Normaliser
    seed: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        """The score of a model."""
        if name not in self.names:
            raise UnknotError(f"rank: no model is called '{name}'; there are {', '.join(self.names[:20])}.")
        return float(self.scores[self.names.index(name)])

    @property
    def n_informative(self) -> Ints:
        """(m,) how many informative latents each model has."""
        return np.array([int(mask.sum()) for mask in self.masks], dtype=np.int64)

    @property
    def order(self) -> list[int]:
        """Positions of the models, best first; those without a score are last."""
        keys = np.where(np.isnan(self.scores), -np.inf, self.scores)
        return [int(i) for i in np.argsort(-keys, kind="stable")]

    @property
    def best(self) -> str:
        """The name of the model with the highest score."""
        return self.names[self.order[0]]

    def best_by_informative(self) -> dict[int, int]:
        """Number of informative latents -> position of the best model that has so many, most first.

        A model that leaves factors out is more easily alike to others, so scores compare best at equal numbers.
        """
        models: dict[int, int] = {}
        counts = self.n_informative
        for i in self.order:
            if not np.isnan(self.scores[i]):
                models.setdefault(int(counts[i]), i)
        return dict(sorted(models.items(), reverse=True))

    def groups(self) -> dict[str, Ints]:
        """Setting -> positions of its models."""
        labels = np.array(self.settings)
        return {name: np.flatnonzero(labels == name) for name in dict.fromkeys(self.settings)}

    def matrix(self, members: Sequence[int] | Ints | None = None) -> Floats:
        """Pair scores of some or all models, predictors by targets; NaN for pairs that were not compared."""
        chosen = np.arange(len(self.names)) if members is None else np.asarray(members, dtype=np.int64)
        place = np.full(len(self.names), -1)
        place[chosen] = np.arange(len(chosen))
        inside = (place[self.pairs] >= 0).all(axis=1)
        table = np.full((len(chosen), len(chosen)), np.nan)
        table[tuple(place[self.pairs[inside]].T)] = self.pair_scores[inside]
        return table

    def _repr_html_(self) -> str:
        """What a notebook shows: the models, best first, and what is noted."""
        from html import escape

        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"{self.to_frame().to_html(index=False, na_rep='', float_format='{:.3f}'.format)}<ul>{notes}</ul>"

    def __repr__(self) -> str:
        """The best models."""
        lines = [f"Ranking of {len(self.names)} models by UDR ({self.method})"]
        return "\n".join([*lines, *(f"{self.names[i]}  {self.scores[i]:.3f}" for i in self.order[:SHOWN])])

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the scores of the models, by their setting, into axes of matplotlib."""
        from matplotlib import pyplot

        axes = pyplot.gca() if axes is None else axes
        for place, members in enumerate(self.groups().values()):
            axes.plot(self.scores[members], np.full(len(members), place), "o", alpha=0.7)
        axes.set_yticks(range(len(self.groups())), list(self.groups()))
        axes.set(xlabel="UDR", title=f"{len(self.names)} models, {self.method}")
        return axes

    def to_frame(self) -> "DataFrame":
        """A pandas table, one row for each model, best first."""
        import pandas as pd

        rows = {
            "model": self.names,
            "setting": self.settings,
            "udr": self.scores,
            "places": [in_words(place) for place in self.places()],
            "informative": self.n_informative,
            "compared": self.compared,
        }
        return pd.DataFrame(rows).iloc[self.order].reset_index(drop=True)

    def places(self) -> list[tuple[int, int]]:
        """The best and the worst place that each model may have, as far as resamples of its partners tell."""
        rng = np.random.default_rng([self.seed, PLACED])
        draws = np.full((len(self.names), PLACED), np.nan)
        for i in range(len(self.names)):
            own = self.pair_scores[(self.pairs[:, 1] == i) & ~np.isnan(self.pair_scores)]
            if len(own) >= FEWEST:
                draws[i] = np.median(rng.choice(own, size=(PLACED, len(own))), axis=1)
        return places(draws)

    @property
    def compared(self) -> Ints:
        """(m,) with how many partners each model has a pair score."""
        return np.bincount(self.pairs[~np.isnan(self.pair_scores), 1], minlength=len(self.names))


@checked
def rank(
    representations: Any,
    *,
    groups: Sequence[Any] | str | None = None,
    all_to_all: bool = False,
    method: Method = "lasso",
    alpha: float | Literal["cv"] = 0.1,
    partners: int | None = None,
    rows: int | Literal["all"] | None = None,
    threshold: float = 0.01,
    normaliser: Normaliser = "paper",
    seed: int = 0,
    names: Sequence[str] | None = None,
    kl: Sequence[Any] | None = None,
    data: Path | None = None,
    progress: Progress = silent,
) -> Ranking:
    """Unsupervised disentanglement ranking: how alike each model's latents are to those of its partners.

    UDR_i = median over partners j of UDR_ij        nominally in [0, 1]; above 0.4 is high, below 0.3 low (UDR-L)

    with UDR_ij as in `unknot.metrics.udr.udr_pair`, model i being the target. Use partners of the same setting to
    choose hyper-parameters, and `all_to_all` to choose one model among all.

    Edge cases: a model without an informative latent, or alone in its setting, has no score: NaN, with a warning
    and a note; it is left out of the others' medians. A run that is not trained to its end is left out, with a
    warning and a note.
    Departs from the paper: `alpha` is what its released code runs; the paper's own is "cv". A model of S has at most
    S - 1 partners, where the paper counts S.
    Reference: Duan et al. 2020, Unsupervised Model Selection for Variational Disentangled Representation Learning,
    arXiv:1905.12614.

    Args:
        representations: of the same inputs in the same order: files, runs or their folders (encoded now unless
            they are already), folders of runs or files, `Representation`s, arrays (n, d), or functions that return
            one model, which are called when it is their turn; in a list, or by name in a mapping.
        groups: the setting of each model, or a regular expression that finds it in file names or titles of runs. If
            left out, runs are grouped by their spec without the seed, and anything else is one group.
        all_to_all: compare models across settings too.
        method: "lasso" (UDR-L) or "spearman" (UDR-S).
        alpha: penalty of the Lasso, or "cv" for the cross-validated one. Folds are contiguous, as in the paper's
            library: give rows in random order.
        partners: how many to compare each model with, drawn by `seed`; all if left out.
        rows: how many inputs to use, drawn by `seed`, or "all"; 10,000 for Lasso and 1,000 for Spearman if left out.
        threshold: smallest KL (exclusive) of an informative latent.
        normaliser: "paper", or "public" for what the released code divides by.
        seed: decides rows and partners.
        names: of the models, for a list.
        kl: (d,) of each model, for arrays.
        data: folder of data files, for runs that must be encoded.
        progress: told how many runs are encoded, then how many pairs are compared.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(1000, 3))
    >>> alike = [z + 0.1 * rng.normal(size=z.shape) for _ in range(3)]
    >>> ranking = rank([*alike, z @ np.linalg.qr(rng.normal(size=(3, 3)))[0]])
    >>> ranking.scores.round(1), ranking.order[-1]
    (array([0.9, 0.9, 0.9, 0.3]), 3)
    """
    _check(method, alpha, normaliser, rows, partners, seed)
    listed = candidates(representations, names, kl)
    kept = trained(listed)
    models = [listed[i] for i in kept]
    if groups is not None and not isinstance(groups, str) and len(groups) == len(listed):
        groups = [groups[i] for i in kept]
    unfinished = [c.name for i, c in enumerate(listed) if i not in kept]
    settings = settings_of(models, groups)
    members = [np.arange(len(models))] if all_to_all else _members(settings)
    if max(map(len, members)) < 2:
        raise UnknotError(
            f"rank: each of the {len(models)} models is alone in its setting; train more seeds of one setting, or "
            "compare across settings with all_to_all (--all-to-all)."
        )
    models = _encoded(models, data, progress)
    cache = LatentCache(models, method, threshold, ROWS[method] if rows is None else rows, seed)
    chosen = [_partners(group, partners, seed) for group in members]
    total, done = sum(c.size for c in chosen), 0
    scores = np.full(len(models), np.nan)
    pairs, pair_scores = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    for group, table in zip(members, chosen, strict=True):
        wanted = np.stack([table.ravel(), np.repeat(group, table.shape[1])], axis=1)
        values = np.full(len(wanted), np.nan)
        for part, result in compare(cache, wanted, alpha, normaliser):
            values[part] = result
            done += len(part)
            progress("comparing", done, total)
        for i in group:  # those that nobody was compared with
            cache.mask(int(i))
        if table.shape[1]:
            scores[group] = median(values.reshape(table.shape))
        pairs.append(wanted)
        pair_scores.append(values)
        cache.forget()
    serious = [*_left_out(unfinished), *_without_score(models, settings, members, cache)]
    for note in serious:
        warnings.warn(f"rank: {note}", UnknotWarning, stacklevel=2)
    fewest = min(table.shape[1] for table in chosen if table.shape[1])
    return Ranking(
        names=tuple(c.name for c in models),
        settings=settings,
        scores=scores,
        masks=tuple(cache.masks[i] for i in range(len(models))),
        pairs=np.concatenate(pairs),
        pair_scores=np.concatenate(pair_scores),
        method=method,
        alpha=alpha,
        all_to_all=all_to_all,
        partners=partners,
        rows=cache.n_rows,
        threshold=threshold,
        normaliser=normaliser,
        seed=seed,
        notes=(*serious, *_assumed(len(models), fewest, cache, partners)),
    )


def median(values: Floats) -> Floats:
    """Median of each row over what is not NaN; NaN where nothing is.

    >>> median(np.array([[3.0, 1.0, np.nan, 2.0], [np.nan] * 4])).tolist()
    [2.0, nan]
    """
    ordered = np.sort(values, axis=-1)  # NaN is last
    count = (~np.isnan(values)).sum(axis=-1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=-1)
    high = np.take_along_axis(ordered, count // 2, axis=-1)
    result: Floats = ((low + high) / 2)[..., 0]
    return result


def _members(settings: Sequence[str]) -> list[Ints]:
    labels = np.array(settings)
    return [np.flatnonzero(labels == name) for name in dict.fromkeys(settings)]


def _partners(group: Ints, wanted: int | None, seed: int) -> Ints:
    """(S, P) whom each model of a group is compared with; the draw of a model does not depend on the others'."""
    others = [np.delete(group, i) for i in range(len(group))]
    size = len(group) - 1 if wanted is None else min(wanted, len(group) - 1)
    if size < len(group) - 1:
        rngs = (np.random.default_rng([seed, 1, int(i)]) for i in group)
        others = [np.sort(rng.choice(o, size=size, replace=False)) for rng, o in zip(rngs, others, strict=True)]
    return np.array(others, dtype=np.int64).reshape(len(group), size)


def _encoded(models: Sequence[Candidate], data: Path | None, progress: Progress) -> list[Candidate]:
    """The models with every run encoded that is not; the same images for all, as rows depend on world and seed."""
    runs = [c.run for c in models if c.run is not None and c.model != c.run.latents]
    files = {}
    for done, run in enumerate(runs):
        progress("encoding", done, len(runs))
        files[run] = representation_of(run, data=data)
        progress("encoding", done + 1, len(runs))
    return [c if c.run not in files else replace(c, model=files[c.run]) for c in models]


def _check(
    method: str, alpha: float | str, normaliser: str, rows: int | str | None, partners: int | None, seed: int
) -> None:
    """Refuse what would only be refused after all models are encoded."""
    check_options("rank", method, alpha, normaliser)
    if rows not in (None, "all") and not (isinstance(rows, int) and rows >= 10):
        raise UnknotError(f"rank: rows is {rows!r}; expected at least 10, or all.")
    if partners is not None and partners < 1:
        raise UnknotError(f"rank: partners is {partners}; each model needs at least one to be compared with.")
    if seed < 0:
        raise UnknotError(f"rank: the seed is {seed}; seeds are whole numbers from 0 up.")


def _left_out(unfinished: Sequence[str]) -> list[str]:
    if not unfinished:
        return []
    return [
        f"left out, as not trained to the end (stopped, diverged or still training): {_listed(unfinished, 20)}."
    ]


def _without_score(
    models: Sequence[Candidate], settings: Sequence[str], members: Sequence[Ints], cache: LatentCache
) -> list[str]:
    notes = []
    dead = [c.name for i, c in enumerate(models) if not cache.masks[i].any()]
    if dead:
        notes.append(f"no informative latent, so no score and no say in others' scores: {_listed(dead)}.")
    alone = [settings[group[0]] for group in members if len(group) == 1]
    if alone:
        notes.append(f"a setting with one model has nobody to compare it with, so no score: {_listed(alone)}.")
    return notes


def _assumed(n: int, fewest: int, cache: LatentCache, partners: int | None) -> list[str]:
    notes = []
    if partners is not None and fewest < partners:
        notes.append(f"{partners} partners were asked for; the smallest setting has {fewest} to offer.")
    if fewest < FEW:
        notes.append(f"scores that rest on fewer than {FEW} partners ({fewest} here) are unstable.")
    if cache.without_kl:
        which = "all models" if len(cache.without_kl) == n else f"{len(cache.without_kl)} of {n} models"
        notes.append(
            f"the KL of latents is not known for {which}: those with a standard deviation above {ACTIVE_STD} count as "
            "informative."
        )
    if cache.same.unsure:
        notes.append("nothing in the input says that all models saw the same inputs in the same order: assumed.")
    return notes


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
