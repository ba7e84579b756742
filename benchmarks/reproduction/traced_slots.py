"""Slot attention on ray-traced scenes: does it find objects, and do its slots add up?

Five seeds of the preset `quick64_affine` on `iid` scenes and five on `corr` ones, 64 pixels, and a student of pasted
objects for each on `corr`; masks are judged on scenes of another seed, COAT on occluded tuples of the same size. Every
run goes on where it was interrupted, and what was measured of a run is kept. A short trial:

python benchmarks/reproduce.py traced_slots --seeds 1 --pixels 32 --steps 1000
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from reproduce import table

from unknot.errors import UnknotError
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.worlds.scenes.corpus import Corpus

SETTINGS, PRESET = ("iid", "corr"), "quick64_affine"
STRAIGHT = 3 / 8  # of the steps, at most, in which colours stay straight
IMAGES, UNSEEN, TUPLES = 20_000, 1_000, 256
VARIANTS = {"": "as they are", "_no_duplicates": "without duplicates", "_tidied": "tidied"}
TAUGHT = ("corr",)  # the scenes on which runs have students
ROUGH, DRAWN = " not smoothed", " as drawn"
PLAIN, ALONE = " of one start", " of one start without duplicates"


def spec(world: Path, seed: int, pixels: int, steps: int | None = None) -> RunSpec:
    """One of its runs: the preset, with 16 x 16 tokens whatever the size of the images."""
    from unknot.models import find_preset
    from unknot.runs.recipes import filled

    values = {**find_preset("slot_attention", PRESET).fixed, "image_size": pixels, "stride": pixels // 16}
    if steps is not None:
        values |= {"steps": steps, "straight": min(values["straight"], int(STRAIGHT * steps))}
    return RunSpec(**filled({"world": str(world), "model": "slot_attention", "seed": seed}, values))


def run(folder: Path, jobs: int, seeds: int = 5, pixels: int = 64, steps: int | None = None) -> str:
    """A row for each run, mean and spread of the seeds, and a row for masks that know nothing but places."""
    from unknot.runs.training import train
    from unknot.worlds.scenes.dataset import SceneSet, write_scenes
    from unknot.worlds.scenes.making import make_corpus

    corpus = make_corpus(folder / f"tuples{pixels}", n=TUPLES, size=pixels, jobs=jobs)
    rows: list[dict[str, Any]] = []
    for setting in SETTINGS:
        scenes, unseen = folder / f"{setting}{pixels}", folder / f"{setting}{pixels}_unseen"
        write_scenes(scenes, SceneSet(setting, n=IMAGES, size=pixels), jobs=jobs)
        write_scenes(unseen, SceneSet(setting, n=UNSEEN, size=pixels, seed=1), jobs=jobs)
        measured = []
        for seed in range(seeds):
            trained = train(spec(scenes, seed, pixels, steps), folder / "runs")
            found = kept_scores(trained, unseen, corpus, folder)
            if setting in TAUGHT:
                found |= student_scores(trained, unseen, folder, steps)
            measured.append(found)
            rows.append({"training scenes": setting, "seed": seed} | measured[-1])
            print(table(rows[-1:]), flush=True)
        rows += [{"training scenes": setting, "seed": words} | row for words, row in summary(measured).items()]
        rows.append({"training scenes": setting, "seed": "grid 2 x 2"} | grid_scores(unseen))
    columns = dict.fromkeys(name for row in rows for name in row)
    return table([columns | row for row in rows])


def kept_scores(trained: Run, unseen: Path, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """The scores of a run, from the file where they were kept if they were measured before."""
    from unknot.files import read_json, write_json

    kept = folder / "scores" / f"{trained.folder.name}.json"
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        write_json(kept, scores(trained, unseen, corpus, folder))
    return dict(read_json(kept))


def summary(measured: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean and, of two seeds and more, standard deviation of every number that was measured.

    >>> summary([{"ARI": 0.5, "minutes": "4.0"}, {"ARI": 0.7, "minutes": "5.0"}])["mean"]
    {'ARI': 0.6}
    """
    from statistics import mean, stdev

    names = dict.fromkeys(name for row in measured for name, value in row.items() if isinstance(value, float))
    values = {name: [row[name] for row in measured if name in row] for name in names}
    found = {"mean": {name: mean(numbers) for name, numbers in values.items()}}
    if len(measured) > 1:
        found["standard deviation"] = {
            name: stdev(numbers) for name, numbers in values.items() if len(numbers) > 1
        }
    return found


def scores(trained: Run, unseen: Path, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """How well masks of unseen scenes fit, and COAT of slots: as they are, without duplicates, and tidied."""
    from unknot.tasks.algebra.task import algebra

    result = algebra(trained, corpus, pictures=0, folder=folder / "codes").values
    coat = {f"L2-COAT {words}": 100 * result[f"l2_coat{ending}"] for ending, words in VARIANTS.items()}
    plain = algebra(plainly_encoded(trained), corpus, pictures=0).values
    return {
        "steps": trained.spec.steps,
        "minutes": f"{trained.record['training_seconds'] / 60:.1f}",
        **masks_scored(trained, unseen),
        **coat,
        f"L2-COAT{PLAIN}": 100 * plain["l2_coat"],
        f"L2-COAT{ALONE}": 100 * plain["l2_coat_no_duplicates"],
        "pixels' L2-COAT": 100 * result["pixels_l2_coat"],
    }


def plain_model(trained: Run) -> Any:
    """A model of one start, which merges no slots and leaves masks as they are drawn."""
    from unknot.runs.training import load_model

    model: Any = load_model(trained)
    model.test_starts, model.merge, model.mask_sigma, model.smooth = 1, 0.0, 0.0, 0.0
    return model


def plainly_encoded(trained: Run) -> Callable[[Any], Any]:
    """Images to slots as one start of attention leaves them."""
    import torch

    from unknot.runs.batches import as_tensor

    model = plain_model(trained)

    def encode(images: Any) -> Any:
        with torch.inference_mode():
            return model.represent(as_tensor(images.copy())).numpy()

    return encode


def masks_scored(trained: Run, unseen: Path) -> dict[str, float]:
    """Masks of the size of the images, against the true objects of scenes that were never trained on.

    Beside them posteriors that are not smoothed; masks as slots draw them, not posteriors of pixels; those of one
    start, as attention leaves it; and of these without duplicates: slots that repeat another one, as COAT tells them,
    draw nothing.
    """
    import numpy as np
    import torch

    from unknot.metrics.slots import duplicates
    from unknot.runs.batches import as_tensor
    from unknot.runs.training import load_model

    model: Any = load_model(trained)
    plain, (images, truth) = plain_model(trained), images_and_masks(unseen)
    owners: dict[str, list[Any]] = {"": [], ROUGH: [], DRAWN: [], PLAIN: [], ALONE: []}
    smooth = model.smooth
    with torch.inference_mode():
        for part in np.array_split(images, 20):
            pictures = as_tensor(part)
            for words, strength in {"": smooth, ROUGH: 0.0}.items():
                model.smooth = strength
                owners[words].append(model.masks(pictures).argmax(1).numpy())
            owners[DRAWN].append(model.slots_decoded(model.represent(pictures)).masks.argmax(1).numpy())
            slots = plain.represent(pictures)
            masks = plain.slots_decoded(slots).masks.numpy()
            owners[PLAIN].append(masks.argmax(axis=1))
            alone = np.where(duplicates(slots.numpy())[:, :, None, None], 0, masks)
            owners[ALONE].append(alone.argmax(axis=1))
    measured = {words: segmentation(truth, np.concatenate(parts)) for words, parts in owners.items()}
    return {name + words: value for words, values in measured.items() for name, value in values.items()}


def student_scores(trained: Run, unseen: Path, folder: Path, steps: int | None = None) -> dict[str, Any]:
    """Masks of a student of a run, by its defaults and the run's seed, against the true objects of unseen scenes.

    Nothing where slots of a short trial leave no objects to cut out.
    """
    import numpy as np
    import torch

    from unknot.runs.batches import as_tensor
    from unknot.students.student import StudentOptions, train_student

    fewer = {} if steps is None else {"steps": max(1, steps // 4), "n": 1_000, "pasted": 1_000}
    options = StudentOptions(seed=trained.spec.seed, **fewer)
    try:
        student = train_student(trained, folder / "students" / trained.folder.name, options=options)
    except UnknotError as error:
        if steps is None:
            raise
        print(error, flush=True)
        return {}
    images, truth = images_and_masks(unseen)
    with torch.inference_mode():
        parts = [student.masks(as_tensor(part)).argmax(1).numpy() for part in np.array_split(images, 20)]
    found = segmentation(truth, np.concatenate(parts))
    minutes = f"{student.record['cpu_seconds'] / 60:.1f}"
    return {f"{name} of the student": value for name, value in found.items()} | {
        "CPU minutes of the student": minutes
    }


def grid_scores(unseen: Path) -> dict[str, float]:
    """The same of the four quarters of the image."""
    import numpy as np

    _, truth = images_and_masks(unseen)
    y, x = np.indices(truth.shape[1:]) * 2 // truth.shape[1]
    return segmentation(truth, np.broadcast_to(2 * y + x, truth.shape))


def images_and_masks(scenes: Path) -> tuple[Any, Any]:
    """All images and true masks of a folder of scenes."""
    import numpy as np

    from unknot.worlds.scenes.dataset import open_scenes

    world = open_scenes(scenes)
    numbers = np.arange(world.scene_set.n)[:, None]
    return world.images(numbers), world.masks(numbers)


def segmentation(truth: Any, owners: Any) -> dict[str, float]:
    """FG-ARI, ARI and mBO, means over images."""
    from unknot.metrics.segmentation import ari, fg_ari, mbo

    measures = {"FG-ARI": fg_ari, "ARI": ari, "mBO": mbo}
    return {name: measure(truth, owners).value for name, measure in measures.items()}
