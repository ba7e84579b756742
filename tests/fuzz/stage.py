"""What cases start from: a run, a study, files of latents and images, a result. They are made once."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.fuzz.calls import plain
from tests.fuzz.records import RESULT, STUDY


def build(folder: Path) -> Path:
    """Make all of it in a folder, unless it is there."""
    if not (folder / "complete").exists():
        build_files(folder)
        _unknot("study", "study.yaml", "-o", "study", "--jobs", "1", folder=folder)
        _unknot(
            "data", "corpus", "-o", "corpus", "--n", "1", "--size", "16", folder=folder
        )  # compiles the ray tracer
        run = sorted((folder / "study" / "runs").iterdir())[0]
        shutil.copytree(run, folder / "run")
        (folder / "complete").touch()
    return folder


def build_files(folder: Path) -> Path:
    """Make those parts for which nothing is trained."""
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    latents, factors = plain()
    np.savez(folder / "latents.npz", latents=latents, factors=factors, factor_names=["a", "b"])
    np.savez(folder / "other.npz", latents=latents + 0.1, factors=factors, factor_names=["a", "b"])
    images = np.random.default_rng(0).integers(0, 255, (60, 32, 32, 1), dtype=np.uint8)
    np.savez(folder / "world.npz", images=images, factors=np.stack(np.divmod(np.arange(60), 10), 1))
    (folder / "result.json").write_text(json.dumps(RESULT))
    own = {**STUDY, "worlds": [str(folder / "world.npz")], "models": {"beta_vae": {"beta": [1]}}, "tasks": {}}
    (folder / "study.yaml").write_text(yaml.safe_dump(own))
    return folder


def _unknot(*words: str, folder: Path) -> None:
    environment = os.environ | {"UNKNOT_DATA": str(folder), "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "unknot", *words], cwd=folder, env=environment, check=True, capture_output=True
    )
