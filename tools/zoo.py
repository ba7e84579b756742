"""Make the archives of the zoo from the study `zoo`: `python -m tools.zoo FOLDER`.

The runs of the study are trained in the folder, or gone on with, and packed: spec, curve, and weights in half
precision. What only training needs, such as discriminators, is left out. Scores are those of what was packed. On the
same machine the archives are the same, bit for bit.
"""

import sys
import zipfile
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save

from unknot.encoders.encoding import representation_of
from unknot.files import as_json, write_json
from unknot.runs.run import Run
from unknot.runs.training import adversaries, build_model, train
from unknot.scoring.scoring import score
from unknot.studies.plan import plan_study
from unknot.studies.spec import read_spec
from unknot.worlds import open_world
from unknot.zoo import HERE

KEPT = ("spec", "id", "title", "source", "world_file", "versions")  # of run.json: what is the same every time
METRICS = ("mig", "modularity", "linear_accuracy")


def main(folder: Path) -> None:
    """Train, pack and score."""
    catalogue = {}
    for planned in plan_study(read_spec("zoo")).runs:
        run = train(planned.spec, folder / "runs")
        name = f"{run.spec.model}_{run.spec.world.removesuffix('_rendered')}"
        archive = HERE / f"{name}.zip"
        pack(run, archive)
        catalogue[name] = entry(run, archive, folder / "packed" / name)
    write_json(HERE / "zoo.json", catalogue)


def pack(run: Run, archive: Path) -> None:
    """Write the archive of a run."""
    model, _ = build_model(run.spec, open_world(run.spec.world))
    spare = adversaries(model)
    weights = {name: value.half() for name, value in load_file(run.weights).items() if name not in spare}
    record = {key: run.record[key] for key in KEPT}
    files = {"weights.safetensors": save(weights), "run.json": as_json(record).encode()}
    files["curve.parquet"] = (run.folder / "curve.parquet").read_bytes()
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, content in files.items():
            zipped.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, compresslevel=9)


def entry(run: Run, archive: Path, folder: Path) -> dict[str, Any]:
    """What the catalogue says about a run: the scores are those of its archive."""
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(folder)
    card = score(representation_of(Run(folder)), metrics=METRICS)
    scores = {name.partition("[")[0]: round(value, 6) for name, value in card.values().items()}
    return {"model": run.spec.model, "world": run.spec.world, "steps": run.spec.steps, "scores": scores}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
