"""xie2022 in small: COAT of slot attention, IODINE, MONet, MoCo v2 and a VAE, each trained for some minutes.

All learn from the same 6,000 ray-traced scenes and are scored on the same 256 occluded tuples, beside their pixels;
slot attention on flat sprites (part `slots`) on tuples of flat sprites. Before them slot attention by the preset
`quick`, trained to its end (part `traced_slots`), which takes hours.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reproduce import table

from reproduction import traced_slots
from reproduction.slots import spec as sprites_spec
from reproduction.sprite_tuples import write_tuples
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.tasks.result import TaskResult

IMAGES, TUPLES = 6_000, 512
SCORED = 256  # ray-traced tuples that models are scored on; IODINE takes long to encode one
SMALL: dict[str, Any] = {"slots": 7, "channels": 16}
# Learning rates are above the published ones, to get anywhere in so few steps.
MODELS: dict[str, dict[str, Any]] = {
    "moco_v2": {
        "architecture": "coat128",
        "latents": 256,
        "image_size": 64,
        "options": {"queue": 1024},
        "lr": 0.03,
        "batch_size": 64,
        "steps": 800,
    },
    "monet": {"image_size": 32, "options": SMALL, "lr": 3e-4, "batch_size": 16, "steps": 300},
    "slot_attention": {
        "image_size": 32,
        "options": {
            **SMALL,
            "slot_size": 32,
            "stride": 2,
            "broadcast": 8,
            "full_layers": 0,
            "warm_up": 300,
            "half_life": 2_000,
            "clip": 0.5,
        },
        "lr": 1e-3,
        "batch_size": 16,
        "steps": 4_000,
    },
    "iodine": {
        "image_size": 32,
        "options": {
            **SMALL,
            "slot_size": 16,
            "refinements": 3,
            "hidden": 64,
            "likelihood": "gaussian",
            "sigma": 0.1,
        },
        "lr": 1e-3,
        "batch_size": 8,
        "steps": 200,
    },
    "beta_tc_vae": {
        "architecture": "coat128",
        "decoder": "gaussian",
        "latents": 256,
        "image_size": 128,
        "options": {"alpha": 0.125, "beta": 0.125, "gamma": 0.125, "anneal": 40, "estimator": "mss"},
        "lr": 2e-4,
        "batch_size": 16,
        "steps": 80,
    },
}


def run(folder: Path, jobs: int, **traced: int) -> str:
    """Slots that find objects in ray-traced scenes; models in small on such scenes, COAT over steps, flat sprites."""
    import torch

    from unknot.runs.training import train
    from unknot.tasks.algebra.meter import coat_meter
    from unknot.tasks.algebra.task import algebra
    from unknot.worlds import open_world
    from unknot.worlds.scenes.dataset import SceneSet, write_scenes
    from unknot.worlds.scenes.making import make_corpus

    torch.set_num_threads(1)
    slots = traced_slots.run(folder.parent / "traced_slots", jobs, **traced)
    write_scenes(folder / "train", SceneSet("iid", n=IMAGES, size=128), jobs=jobs)
    corpus = make_corpus(folder / "corpus", n=TUPLES, size=128, jobs=jobs).first(SCORED)
    rows, curves = list(pixel_rows(corpus)), []
    for model, fields in MODELS.items():
        spec = RunSpec(world=str(folder / "train"), model=model, precision="bfloat16", **fields)
        half = spec.steps // 2
        meter = coat_meter(corpus.folder, open_world(spec.world), spec.image_size, every=half)
        trained = train(spec, folder / "runs", checkpoint_every=half, meters=[meter])
        result = algebra(trained, corpus, pictures=0, folder=folder / "codes")
        rows += [about(trained) | row for row in coat_rows(result)]
        curves += list(curve_rows(trained))
        print(table(rows[-3:]), flush=True)
    rows += [{"representation": name, "FG-ARI": value} for name, value in grids(corpus).items()]
    flat = folder.parent / "slots"
    write_scenes(flat / "train", SceneSet("black_sprites", n=20_000, size=32), jobs=jobs)
    sprites = train(sprites_spec(flat, seed=0), flat / "runs")
    return "\n".join([slots, table(filled(rows)), table(curves), sprite_table(folder, sprites)])


def sprite_table(folder: Path, trained: Run) -> str:
    """Slot attention that was trained on flat sprites, on tuples of flat sprites."""
    from unknot.tasks.algebra.task import algebra

    listed = write_tuples(folder / "sprites", n=TUPLES)
    result = algebra(trained, quadruples=listed, pictures=0, folder=folder / "codes")
    return table(
        filled([*coat_rows(result, kind="baseline"), *(about(trained) | row for row in coat_rows(result))])
    )


def about(trained: Run) -> dict[str, Any]:
    """Budget of a run."""
    spec = trained.spec
    minutes = f"{trained.record['training_seconds'] / 60:.1f}"
    return {"pixels": spec.image_size or 32, "steps": spec.steps, "images": spec.batch_size, "minutes": minutes}


def coat_rows(result: TaskResult, kind: str = "encoder") -> Iterator[dict[str, Any]]:
    """Scores with intervals, and the wrong pictures that each loss fails on."""
    for i, row in enumerate(row for row in result.tables["scores"] if row["kind"] == kind):
        name = str(row["representation"])
        made: dict[str, Any] = {"representation": name}
        for loss in ("l2", "acos"):
            score, low, high = (row[loss + end] for end in ("", "_low", "_high"))
            known = isinstance(score, float)
            made[loss] = f"{score:.1f} [{low:.1f}, {high:.1f}]" if known else "collapsed"
            failed = [
                f"{test['negative']} {test['p_hat']:.2f}"
                for test in result.tables["negatives"]
                if test["representation"] == name and test["loss"] == loss and not test["passed"]
            ]
            made[f"{loss} test"] = f"fails: {', '.join(failed)}" if failed else "passes"
        fg_ari = result.values.get("fg_ari") if kind == "encoder" and i == 0 else None
        yield made | {"FG-ARI": fg_ari}


def curve_rows(trained: Run) -> Iterator[dict[str, Any]]:
    """COAT on the first 128 tuples while it trained."""
    for _, row in trained.coat().iterrows():
        made: dict[str, Any] = {"model": trained.spec.model, "step": int(row["step"])}
        for loss in ("l2", "acos"):
            for suffix, words in (("", loss), ("_tidied", f"{loss}, tidied")):
                value = row.get(f"{loss}_coat{suffix}")
                made[words] = None if value is None or value != value else f"{100 * value:.1f}"
        yield made


def pixel_rows(corpus: Any) -> Iterator[dict[str, Any]]:
    """The images themselves, at every size that a model sees."""
    import numpy as np

    from unknot.metrics.coat import coat
    from unknot.runs.batches import as_tensor
    from unknot.tasks.algebra.quadruples import CorpusTuples
    from unknot.worlds.scenes.corpus import ROLES

    groups = CorpusTuples(corpus).scenes
    for size in (128, 64, 32):
        codes = {role: np.empty((len(corpus), 3 * size * size), dtype=np.float32) for role in ROLES}
        for i, role in enumerate(ROLES):
            for start in range(0, len(corpus), 64):
                images = as_tensor(corpus.images[start : start + 64, i].copy(), size)
                codes[role][start : start + 64] = images.flatten(1).numpy()
        row: dict[str, Any] = {"representation": "pixels", "pixels": size}
        for loss, score in coat(codes, groups=groups)._asdict().items():
            low, high = score.parts["interval"]
            row[loss] = f"{100 * score.value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
            row[f"{loss} test"] = "passes" if score.parts["passed"] else "fails"
        yield row


def grids(corpus: Any, n: int = 80) -> dict[str, float]:
    """FG-ARI of masks that know nothing, on the images whose masks are scored."""
    import numpy as np

    from unknot.metrics.segmentation import fg_ari

    truth = np.concatenate([corpus.masks[:n, i] for i in range(4)])[:, 2::4, 2::4]
    y, x = np.mgrid[:32, :32]
    found = {f"grid {k} x {k}": y * k // 32 * k + x * k // 32 for k in (2, 3, 4)}
    found = {name: np.broadcast_to(grid, truth.shape) for name, grid in found.items()}
    found["random pixels"] = np.random.default_rng(0).integers(0, 7, truth.shape)
    return {name: fg_ari(truth, masks).value for name, masks in found.items()}


def filled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the same columns."""
    columns = (
        "representation",
        "pixels",
        "steps",
        "images",
        "minutes",
        "l2",
        "acos",
        "l2 test",
        "acos test",
        "FG-ARI",
    )
    return [{name: row.get(name) for name in columns} for row in rows]
