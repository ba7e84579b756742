"""Make the archives of the zoo from its study.

python -m tools.zoo FOLDER          those that are missing, or that the study has other values for
python -m tools.zoo FOLDER --anew   all of them

The runs of the study are trained in the folder, or gone on with, and packed: spec, curve, and weights in half
precision. What only training needs, such as discriminators, is left out. Scores are those of what was packed; of slots,
how well their masks fit the objects of scenes that were not trained on. On the same machine the archives are the same,
bit for bit.
"""

import argparse
import json
import time
import zipfile
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save

from unknot.files import as_json, file_hash, json_hash, read_json, write_json
from unknot.processes.threads import one_thread
from unknot.runs.run import Run
from unknot.runs.segmentation import segmentation
from unknot.runs.spec import RunSpec
from unknot.runs.training import adversaries, build_model, train
from unknot.scoring.scoring import score
from unknot.studies.plan import plan_study
from unknot.studies.spec import read_spec
from unknot.worlds import open_world
from unknot.worlds.scenes.scenes_rendered import ScenesRendered
from unknot.zoo import HERE

KEPT = ("spec", "id", "title", "source", "world_file", "versions")  # of run.json: what is the same every time

UNSEEN = ScenesRendered(n=500, size=64, seed=1)  # what masks are judged on


def main(folder: Path, study: Path | str = "zoo", into: Path = HERE, *, anew: bool = False) -> None:
    """Train, pack and score the runs of a study."""
    catalogue = {}
    for planned in plan_study(read_spec(study)).runs:
        name, began = name_of(planned.spec), time.process_time()
        archive = into / f"{name}.zip"
        if anew or not holds(archive, planned.spec):
            with one_thread():
                pack(train(planned.spec, folder / "runs"), archive)
            print(f"{name}: {time.process_time() - began:.0f} CPU seconds", flush=True)
        catalogue[name] = entry(archive, folder / "packed", planned.metrics)
        print(f"{name}: {catalogue[name]['scores']}", flush=True)
    write_json(into / "zoo.json", catalogue)


def holds(archive: Path, spec: RunSpec) -> bool:
    """Whether an archive is there, and is of this spec."""
    if not archive.is_file():
        return False
    with zipfile.ZipFile(archive) as zipped:
        return RunSpec(**json.loads(zipped.read("run.json"))["spec"]) == spec


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


def entry(archive: Path, folder: Path, metrics: tuple[str, ...]) -> dict[str, Any]:
    """What the catalogue says about a run: the scores are those of its archive, and kept beside what is in it."""
    unpacked = folder / json_hash([file_hash(archive, 64), *metrics]) / archive.stem
    kept = unpacked / "entry.json"
    if not kept.is_file():
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(unpacked)
        run = Run(unpacked)
        values = score(run, metrics=list(metrics)).values() if metrics else segmentation(run, UNSEEN, n=UNSEEN.n)
        scores = {name.partition("[")[0]: round(value, 6) for name, value in values.items()}
        spec = run.spec
        write_json(kept, {"model": spec.model, "world": spec.world, "steps": spec.steps, "scores": scores})
    return read_json(kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where runs are trained")
    parser.add_argument("--anew", action="store_true", help="train all runs, not only those that are missing")
    chosen = parser.parse_args()
    main(chosen.folder, anew=chosen.anew)
