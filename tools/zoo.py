"""Make the archives of the zoo from its study: `python -m tools.zoo FOLDER`.

The runs of the study are trained in the folder, or gone on with, and packed: spec, curve, and weights in half
precision. What only training needs, such as discriminators, is left out. Scores are those of what was packed. On the
same machine the archives are the same, bit for bit.
"""

import sys
import time
import zipfile
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save

from unknot.files import as_json, file_hash, write_json
from unknot.processes.threads import one_thread
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import adversaries, build_model, train
from unknot.scoring.scoring import score
from unknot.studies.plan import plan_study
from unknot.studies.spec import read_spec
from unknot.worlds import open_world
from unknot.zoo import HERE

KEPT = ("spec", "id", "title", "source", "world_file", "versions")  # of run.json: what is the same every time


def main(folder: Path, study: Path | str = "zoo", into: Path = HERE) -> None:
    """Train, pack and score the runs of a study."""
    catalogue = {}
    for planned in plan_study(read_spec(study)).runs:
        name, began = name_of(planned.spec), time.process_time()
        with one_thread():
            run = train(planned.spec, folder / "runs")
        seconds = time.process_time() - began
        archive = into / f"{name}.zip"
        pack(run, archive)
        catalogue[name] = entry(run, archive, folder / "packed", planned.metrics)
        print(f"{name}: {seconds:.0f} CPU seconds in this call, {catalogue[name]['scores']}", flush=True)
    write_json(into / "zoo.json", catalogue)


def name_of(spec: RunSpec) -> str:
    """What a run is called in the zoo.

    >>> name_of(RunSpec(world="dsprites_rendered", model="vae"))
    'vae_dsprites'
    """
    return f"{spec.model}_{spec.world.removesuffix('_rendered')}"


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


def entry(run: Run, archive: Path, folder: Path, metrics: tuple[str, ...]) -> dict[str, Any]:
    """What the catalogue says about a run: the scores are those of its archive, and kept beside what is in it."""
    unpacked = folder / file_hash(archive, 8) / archive.stem
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(unpacked)
    card = score(Run(unpacked), metrics=list(metrics))
    scores = {name.partition("[")[0]: round(value, 6) for name, value in card.values().items()}
    return {"model": run.spec.model, "world": run.spec.world, "steps": run.spec.steps, "scores": scores}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
