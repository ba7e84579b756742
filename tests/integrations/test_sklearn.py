import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unknot
from unknot.errors import UnknotError
from unknot.integrations.sklearn import scorer
from unknot.metrics import METRICS

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, 4, (400, 2))
ROWS = FACTORS @ RNG.normal(size=(2, 6)) + 0.05 * RNG.normal(size=(400, 6))


def test_a_search_chooses_by_a_metric() -> None:
    search = GridSearchCV(PCA(), {"n_components": [1, 2]}, scoring=scorer("explicitness"), cv=2).fit(ROWS, FACTORS)
    assert search.best_params_ == {"n_components": 2}


def test_less_is_better_becomes_more_is_better() -> None:
    rotated = PCA(2).fit(ROWS)
    value = METRICS["gaussian_total_correlation"](rotated.transform(ROWS[:, ::-1])).value
    assert scorer("gaussian_total_correlation")(rotated, ROWS[:, ::-1]) == -value < 0.0


def test_a_scorer_without_factors_says_so() -> None:
    with pytest.raises(UnknotError, match="mig needs factors; give them to fit as y"):
        scorer("mig")(PCA(2).fit(ROWS), ROWS)


def test_a_pipeline_encodes_a_world() -> None:
    world = unknot.open_world("dsprites_rendered")
    images = world.images(world.factors.classes(np.arange(0, 737280, 20000))).reshape(37, -1) / 255
    pipeline = make_pipeline(StandardScaler(), PCA(3)).fit(images.astype(np.float32))
    representation = unknot.encode(pipeline, world, rows=20)
    assert representation.latents.shape == (20, 3)
    assert representation.source["encoder"]["kind"] == "transformer"
    with pytest.raises(UnknotError, match=re.escape("PCA cannot transform rows of 4096 pixels")):
        unknot.encode(PCA(2), world, rows=4)


CLASSES = """
import torch

class Brightness(torch.nn.Module):
    def forward(self, images):
        return images.mean(dim=(2, 3))

class Wide(Brightness):
    def __init__(self, width):
        super().__init__()
"""


def test_a_class_by_name_is_built_or_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_classes_by_name.py").write_text(CLASSES)
    monkeypatch.syspath_prepend(tmp_path)
    assert unknot.encode("own_classes_by_name:Brightness", "dsprites_rendered", rows=5).latents.shape == (5, 1)
    with pytest.raises(UnknotError, match=r"own_classes_by_name:Wide is a class that cannot be built .*'width'"):
        unknot.encode("own_classes_by_name:Wide", "dsprites_rendered", rows=5)


def test_a_scorer_refuses_wrong_options_and_what_transforms_nothing() -> None:
    with pytest.raises(UnknotError, match="unknown option of mig 'binz'; did you mean 'bins'"):
        scorer("mig", binz=3)
    with pytest.raises(UnknotError, match=r"bins of mig\[bins=10\] is given twice, as 10 in the name and as 20"):
        scorer("mig[bins=10]", bins=20)
    with pytest.raises(UnknotError, match="scorer: metric is 3; expected a word"):
        scorer(3)  # type: ignore[arg-type]
    with pytest.raises(UnknotError, match="scorer: object has no transform"):
        scorer("mig")(object(), [[0.0]], [[0]])
