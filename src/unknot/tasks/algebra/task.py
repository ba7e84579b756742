"""Object algebra: is the code of a scene the sum of what it knows of its objects?

B is A with objects added, D is C with the same objects added; z(B) - z(A) + z(C) should be z(D), and should not be the
code of a picture that differs from D in one thing.

Reference: Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations, ICML.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np

from unknot.errors import UnknotError, unknown
from unknot.metrics._coat import Chance, Norm
from unknot.metrics.coat import ALPHA, MINIBATCH, check_codes
from unknot.metrics.slots import DUPLICATE, Blank
from unknot.metrics.tre import Composition
from unknot.runs.run import Run
from unknot.tasks.algebra.codes import codes_file, find_codes
from unknot.tasks.algebra.quadruples import CorpusTuples, Quadruples, Tuples, read_quadruples
from unknot.tasks.algebra.rows import published_rows
from unknot.tasks.algebra.scores import Made, score_baselines, score_beside, score_encoder
from unknot.tasks.options import Untrained
from unknot.tasks.result import TaskResult
from unknot.tasks.stages import Say, Watch, teller
from unknot.worlds.scenes.corpus import MASKED, Corpus, open_corpus

WHO = "algebra"
Codes = Mapping[str, Any]


def algebra(
    encoder: Run | Path | str | Codes | Callable[..., Any] | None = None,
    corpus: Corpus | Path | str | None = None,
    *,
    clear: Corpus | Path | str | None = None,
    quadruples: Quadruples | Path | str | None = None,
    norm: Norm = "squared",
    chance: Chance | None = None,
    minibatch: int = MINIBATCH,
    threshold: float = DUPLICATE,
    blank: Blank = "corpus",
    composition: Composition = "add",
    segmented: int = 320,
    pictures: int = 4,
    pool: str = "",
    image_size: int | None = None,
    batch_size: int = 64,
    seed: int = 0,
    device: str = "cpu",
    data: Path | None = None,
    folder: Path | str | None = None,
    watch: Watch | None = None,
    say: Say | None = None,
) -> TaskResult:
    """COAT of an encoder on a corpus of tuples, beside pixels, perfect codes and codes that must fail.

    Slots (n, k, d) are scored as they are, without duplicates and, where a run can draw its slots, without duplicates
    and invisible ones. Runs that mask objects get ARI, FG-ARI, mean best overlap and covering too.

    Args:
        encoder: a run or its folder, a function, a name (see `unknot.encode`); or codes made elsewhere: role -> array,
            an `.npz`, or a folder of `.npy` (see `read_codes`). None scores the baselines alone.
        corpus: a corpus or its folder, from `unknot.worlds.scenes.making.make_corpus`.
        clear: another one, whose objects hardly hide each other, to show beside.
        quadruples: instead of a corpus, a file that lists one's own images.
        norm: of the L2 loss: "squared" as the published code, or "l2" as the paper.
        chance: see `coat`; left out, as the published code.
        minibatch: tuples that chance is averaged over.
        threshold: half chord below which two slots are duplicates.
        blank: what replaces them, see `metrics.slots.blanked`.
        composition: of TRE: "add", or "transformer", which takes minutes.
        segmented: images whose masks are compared with the true ones.
        pictures: tuples that are drawn.
        pool: of timm and hf networks.
        image_size: of timm and hf networks.
        batch_size: images an encoder sees at a time.
        seed: decides minibatches, bootstrap and projection.
        device: "cpu", "cuda" or "mps".
        data: folder of data files.
        folder: where codes are kept, 16 tuples at a time, so that an interrupted call goes on. Scores of baselines
            are kept with the corpus.
        watch: called with how much of a stage is done, and of how much.
        say: called with each stage.

    Returns:
        TaskResult whose values are scores (1 is best, 0 chance) and passes (1 or 0) of the first corpus; tables:
        scores (in percent), negatives, published (in percent) and pictures (base64 PNG).
    """
    started, tell = time.perf_counter(), teller(watch, say)
    for what, word, known in (
        ("blank", blank, get_args(Blank)),
        ("composition", composition, get_args(Composition)),
    ):
        if word not in known:
            raise unknown(what, word, known)
    _check(segmented=segmented, pictures=pictures, batch_size=batch_size, seed=seed)
    places = _places(corpus, clear, quadruples)
    kept = None if folder is None else Path(folder)
    options: dict[str, Any] = {"norm": norm, "chance": chance, "minibatch": minibatch, "rng": seed}
    _can_be_scored(places, norm, chance, minibatch)  # or is refused before it is encoded
    made = Made()
    elsewhere = isinstance(encoder, Mapping) or codes_file(encoder) is not None
    for i, (name, tuples) in enumerate(places.items()):
        if encoder is None:
            if i == 0 and pictures:
                made.draw({}, tuples, pictures)
        elif i and elsewhere:
            made.notes.append(f"The codes are of one corpus; there are none of '{name}'.")
        else:
            found = find_codes(encoder, tuples, pool, image_size, batch_size, device, data, kept, tell)
            score_encoder(made, found, name, tuples, options, threshold, blank, first=i == 0)
            if i == 0:
                score_beside(made, found, tuples, composition, segmented, pictures, seed)
        score_baselines(made, name, tuples, options, kept, tell, first=i == 0, seed=seed)
    first_name, first = next(iter(places.items()))
    scores = sorted(made.scores, key=lambda row: row["kind"] != "encoder")
    return TaskResult(
        WHO,
        made.source or "baselines",
        _world(first_name, first),
        made.values,
        {
            "scores": scores,
            "negatives": made.negatives,
            "published": published_rows(),
            "pictures": made.pictures,
        },
        {
            **{key: value for key, value in options.items() if key != "rng"},
            "seed": seed,
            "n": len(first),
            "threshold": threshold,
            "blank": blank,
            "composition": composition,
            "corpora": {name: _about(tuples) for name, tuples in places.items()},
            "encoder": made.record,
        },
        list(dict.fromkeys(made.notes)),
        lower_is_better=("tre",),
        seconds=time.perf_counter() - started,
    )


def check(
    run: Untrained,
    *,
    corpus: str | None,
    clear: str | None,
    quadruples: str | None,
    norm: Norm,
    chance: Chance | None,
    minibatch: int,
    segmented: int,
    pictures: int,
    batch_size: int,
    seed: int,
    **_: Any,
) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    _check(segmented=segmented, pictures=pictures, batch_size=batch_size, seed=seed)
    places = _places(corpus, clear, quadruples)
    _can_be_scored(places, norm, chance, minibatch)
    for tuples in places.values():
        run.must_see(tuples.image_shape)


def _check(**numbers: int) -> None:
    for name, number in numbers.items():
        least = 1 if name == "batch_size" else 0
        if number < least:
            raise UnknotError(f"{WHO}: {name} is {number}; expected a whole number from {least} up.")


def _can_be_scored(places: Mapping[str, Tuples], norm: Norm, chance: Chance | None, minibatch: int) -> None:
    for name, tuples in places.items():
        check_codes({role: np.zeros((len(tuples), 1)) for role in MASKED}, norm, chance, minibatch, ALPHA)
        if isinstance(tuples, CorpusTuples):
            _same_images(name, tuples, next(iter(places.values())))


def _places(corpus: Any, clear: Any, quadruples: Any) -> dict[str, Tuples]:
    """Name -> tuples, the first being the ones that headline numbers are of."""
    if (corpus is None) == (quadruples is None):
        raise UnknotError(
            f"{WHO}: give a corpus (make_corpus makes one) or a file of quadruples"
            + (", not both." if corpus is not None else ".")
        )
    if quadruples is not None:
        own = quadruples if isinstance(quadruples, Quadruples) else read_quadruples(quadruples)
        return {own.file.name: own}
    opened = [one if isinstance(one, Corpus) else open_corpus(one) for one in (corpus, clear) if one is not None]
    names = [str(one.info.get("variant", "corpus")) for one in opened]
    if len(set(names)) < len(names):
        raise UnknotError(f"{WHO}: both corpora are of variant '{names[0]}'; expected two different ones.")
    return dict(zip(names, map(CorpusTuples, opened), strict=True))


def _same_images(name: str, tuples: Tuples, first: Tuples) -> None:
    if tuples.image_shape != first.image_shape:
        raise UnknotError(
            f"{WHO}: images of the corpus '{name}' are {tuples.image_shape}, those of the first {first.image_shape}."
        )


def _world(name: str, tuples: Tuples) -> str:
    return f"scenes ({name})" if isinstance(tuples, CorpusTuples) else name


def _about(tuples: Tuples) -> dict[str, Any]:
    if isinstance(tuples, CorpusTuples):
        return {key: tuples.corpus.info.get(key) for key in ("variant", "n", "size", "seed", "version")}
    return {"n": len(tuples), "size": list(tuples.image_shape[:2])}
