"""Scores while a model trains: in a loop of one's own, Lightning, the Trainer of Hugging Face, and Keras."""

import os
import random
import re
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.integrations.monitor import Monitor

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, 4, (300, 2))
ROWS = (FACTORS @ RNG.normal(size=(2, 6)) + 0.1 * RNG.normal(size=(300, 6))).astype(np.float32)


@pytest.fixture
def quiet() -> Iterator[None]:
    """Frameworks warn of their own affairs."""
    with warnings.catch_warnings(action="ignore"):
        yield


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.BatchNorm1d(8), nn.Linear(8, 2))


def test_a_loop_of_ones_own_ends_with_the_same_weights_with_a_monitor_and_without() -> None:
    def trained(monitor: Monitor | None) -> list[torch.Tensor]:
        torch.manual_seed(0)
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        model = network()
        model[2].eval()  # a part in a mode of its own, as frozen statistics are
        optimiser = torch.optim.SGD(model.parameters(), 0.01)
        for step in range(1, 5):
            rows = torch.from_numpy(ROWS[np.random.permutation(300)[: 16 + random.randrange(4)]])  # noqa: NPY002
            loss = model(rows).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if monitor is not None:
                assert monitor.score(model, step).keys() == {"mig[bins=20]", "dci[lasso]"}
            assert model.training and model[1].training and not model[2].training
        return [weight.detach().clone() for weight in model.parameters()]

    logged: list[int] = []
    monitor = Monitor(
        ROWS, FACTORS, metrics=["mig", "dci[lasso]"], log=lambda values, step: logged.append(step), every=1
    )
    for plain, monitored in zip(trained(None), trained(monitor), strict=True):
        torch.testing.assert_close(plain, monitored, rtol=0, atol=0)
    assert logged == monitor.to_frame()["step"].tolist() == [1, 2, 3, 4]


def test_scoring_takes_its_share_of_the_time_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monitor = Monitor(ROWS, FACTORS, metrics=["mig"], every=10)
    monkeypatch.setattr("unknot.integrations.monitor.time.perf_counter", lambda: clock[0])

    def encode(model: object, rows: object) -> object:
        clock[0] += 1.5  # seconds, for each of two parts
        return rows

    monitor._encode = encode
    for step in range(1, 1001):
        clock[0] += 1.0
        monitor(network(), step)
    assert 2 <= len(monitor.history) <= 4 and monitor.seconds <= 0.01 * clock[0] + 3.0
    assert all(row["step"] % 10 == 0 for row in monitor.history)


def test_the_last_step_is_scored_once() -> None:
    monitor = Monitor(ROWS, FACTORS, metrics=["mig"], every=2, share=1.0)
    for step in range(1, 4):
        monitor(network(), step)
    assert monitor.last(network(), 3) is not None and monitor.last(network(), 3) is None
    assert monitor.to_frame()["step"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("inputs", "factors", "options", "message"),
    [
        (None, None, {}, "needs held-out rows and their factors"),
        (ROWS, np.array(5), {}, "factors is array(5), which has no rows"),
        (torch.tensor(5), FACTORS, {}, "inputs is tensor(5), which has no rows"),
        (ROWS, FACTORS[:10], {}, "300 inputs for 10 rows of factors"),
        (ROWS, FACTORS, {"every": 0}, "every is 0"),
        (ROWS, FACTORS, {"metrics": ["migs"]}, "did you mean 'mig'"),
    ],
)
def test_a_monitor_without_data_is_refused_before_training(
    inputs: object, factors: object, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UnknotError, match=re.escape(message)):
        Monitor(inputs, factors, **options)


def test_lightning_scores_while_it_trains(quiet: None) -> None:
    from unknot.integrations.callbacks import lightning_monitor

    callback = lightning_monitor(ROWS, FACTORS, every=2, share=1.0)
    import pytorch_lightning

    class Module(pytorch_lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = network()

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return self.network(rows)

        def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
            return self(batch[0]).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.01)

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.from_numpy(ROWS)), batch_size=64)
    quietly = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = pytorch_lightning.Trainer(
        max_epochs=1, accelerator="cpu", callbacks=[callback], logger=False, **quietly
    )
    trainer.fit(Module(), loader)
    assert [row["step"] for row in callback.monitor.history] == [2, 4, 5]


def test_the_trainer_of_hugging_face_scores_while_it_trains(quiet: None, tmp_path: object) -> None:
    from transformers import Trainer, TrainingArguments

    from unknot.integrations.callbacks import trainer_monitor

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network()

        def forward(self, rows: torch.Tensor) -> dict[str, torch.Tensor]:
            codes = self.network(rows)
            return {"loss": codes.square().mean(), "codes": codes}

    callback = trainer_monitor(
        torch.from_numpy(ROWS), FACTORS, encode=lambda model, rows: model(rows)["codes"], every=2, share=1.0
    )
    arguments = TrainingArguments(
        output_dir=str(tmp_path), max_steps=4, use_cpu=True, report_to=[], disable_tqdm=True, save_strategy="no"
    )
    trainer = Trainer(Model(), arguments, train_dataset=[{"rows": row} for row in ROWS], callbacks=[callback])
    trainer.train()
    scored = [row["step"] for row in trainer.state.log_history if "unknot/mig.bins_20" in row]
    assert scored == [row["step"] for row in callback.monitor.history] == [2, 4]


def test_keras_scores_while_it_trains(quiet: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "KERAS_BACKEND", "torch")
    import keras

    from unknot.integrations.callbacks import keras_monitor

    model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    callback = keras_monitor(ROWS, FACTORS, every=2, share=1.0)
    history = model.fit(ROWS, FACTORS, batch_size=64, epochs=2, verbose=0, callbacks=[callback])
    assert [row["step"] for row in callback.monitor.history] == [2, 4, 6, 8, 10]
    assert len(history.history["unknot/mig.bins_20"]) == 2
    brief = keras_monitor(ROWS, FACTORS, every=1000)  # so that the trained model alone is scored
    history = model.fit(ROWS, FACTORS, batch_size=64, epochs=3, verbose=0, callbacks=[brief])
    trained = brief.monitor.history[-1]["mig[bins=20]"]
    assert history.history["unknot/mig.bins_20"] == pytest.approx([np.nan, np.nan, trained], nan_ok=True)
    brief.set_model(keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(2)]))
    brief.on_train_end()  # a loop of one's own has no history to write to


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda rows: {"pooler_output": rows}, "the model returns pooler_output by name; choose with encode="),
        ("resnet18", "str cannot be called with rows; give encode="),
        (lambda rows: None, "the model returns None; expected latents, a row for each input"),
        (lambda rows: (), r"the model returns \(\); expected latents"),
        (lambda rows: rows[:0], r"the model returns array\(\[\], .*; expected latents"),
        (lambda rows: rows[:, :0], r"the model returns array\(\[\], .*; expected latents"),
        (lambda rows: rows[:, : len(rows) // 40], r"the model gives rows of \[1, 6\] latents"),
    ],
)
def test_a_model_that_gives_no_latents_is_refused_in_words(model: object, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        Monitor(ROWS, FACTORS, metrics=["mig"]).score(model, 1)


def test_a_monitor_without_rows_or_with_wrong_options_is_refused_in_words() -> None:
    with pytest.raises(UnknotError, match="needs held-out rows and their factors"):
        Monitor((row for row in ROWS), FACTORS)
    with pytest.raises(UnknotError, match="Monitor: metrics is 'mig'; expected a list"):
        Monitor(ROWS, FACTORS, metrics="mig")
