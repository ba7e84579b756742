"""The small studies of the papers at toy size, each run once."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.studies.conftest import Inline

from unknot.studies.plan import plan_study
from unknot.studies.spec import PRESETS, read_spec
from unknot.studies.study import run_study
from unknot.worlds.scenes.dataset import SceneSet, write_scenes
from unknot.worlds.scenes.toy_corpus import toy_corpus

OBJECTS = {"slots": 3, "slot_size": 8, "channels": 8, "stride": 2, "full_layers": 0, "warm_up": 0}
SMALL = {"steps": 2, "batch_size": 4, "rows": 200, "seeds": 2, "image_size": 32}
TOY: dict[str, dict[str, Any]] = {
    "mahon2024": {
        "models": ["beta_vae", "factor_vae", "beta_tc_vae"],
        "splits": ["", "combination:scale=0,shape=0"],
        "metrics": ["snc", "mig", "sap", "linear_accuracy"],
        "tasks": {"combinations": {"limit": 1, "rows": 600, "pair_only": True, "recipe": "paper"}},
    },
    "duan2020": {
        "steps": 12,  # after which latents are informative
        "lr": 1e-3,
        "models": {"beta_vae": {"beta": [1, 2]}, "dip_vae_ii": {"lambda_od": [1, 5]}},
        "metrics": ["beta_vae_score", "mig", "sap"],
        "tasks": {
            "fairness": {"targets": ["shape"], "sensitive": ["scale"], "rows": 200, "points": 8, "rounds": 2}
        },
    },
    "schott2022": {
        "models": {"beta_vae": {"beta": [1, 2]}, "ada_gvae": {"pairs": "one_factor"}},
        "splits": ["random", "extrapolation"],
        "metrics": ["r2", "mig", "dci[lasso]"],
        "tasks": {"generalisation": {"rows": 200, "train_rows": 200, "recipe": "quick", "steps": 10}},
    },
    "vansteenkiste2019": {
        "models": {"beta_vae": {"beta": [1, 2]}, "dip_vae_i": {"lambda_od": [2, 5]}},
        "metrics": ["mig", "sap"],
        "tasks": {
            "reasoning": {
                "steps": 4,
                "evaluate_every": 2,
                "evaluation_batches": 1,
                "at": [2, 4],
                "views": 1,
                "classes": {"background": 2, "object_color": 3, "x": 2, "y": 2},
            }
        },
    },
    "xie2022": {
        "models": [
            {"model": "slot_attention", "worlds": ["HERE/iid", "HERE/corr"], **OBJECTS},
            {"model": "beta_tc_vae", "worlds": ["HERE/iid"], "latents": 3, "architecture": "conv64"},
        ],
        "rows": 20,
        "tasks": {"algebra": {"corpus": "HERE/corpus", "minibatch": 8, "pictures": 0, "segmented": 16}},
    },
}


@pytest.fixture(scope="session")
def toy_study(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`toy_study(paper)`: the folder of its small study at toy size; not to be written to."""

    @cache
    def folder(paper: str) -> Path:
        parent = tmp_path_factory.mktemp(paper)
        preset = yaml.safe_load((PRESETS / f"{paper}_small.yaml").read_text(encoding="utf-8")) | SMALL | TOY[paper]
        if paper == "xie2022":
            toy_corpus(parent / "corpus", n=32, size=32)
            for setting in ("iid", "corr"):
                write_scenes(parent / setting, SceneSet(setting, n=20, size=32))
        file = parent / "study.yaml"
        file.write_text(yaml.safe_dump(preset).replace("HERE", str(parent)), encoding="utf-8")
        state = run_study(plan_study(read_spec(file)), parent / "study", engine=Inline())
        assert not state.failures
        return parent / "study"

    return folder
