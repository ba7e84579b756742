"""A `Monitor` as a callback of Lightning, of the `Trainer` of Hugging Face, and of Keras.

All take held-out rows, as the model takes them, their factors, and the options of `Monitor`. Scores are called
`unknot/mig.bins_20` in the framework's own log. The trained model is scored too, whatever that takes.
"""

import sys
from importlib import import_module
from math import nan
from typing import Any

from unknot.errors import extras
from unknot.integrations.monitor import Monitor
from unknot.integrations.trackers import tracked_name
from unknot.models.torchvision import mend_torchvision

PREFIX = "unknot/"


def lightning_monitor(inputs: Any, factors: Any, **options: Any) -> Any:
    """For `Trainer(callbacks=[...])` of Lightning; scores go to the trainer's loggers."""
    # The same library under two names, whose classes do not know each other: the one that is imported already.
    name = "lightning.pytorch" if "lightning.pytorch" in sys.modules else "pytorch_lightning"
    with extras("lightning_monitor"):
        mend_torchvision()
        callback: Any = import_module(name).Callback

    class LightningMonitor(callback):  # type: ignore[misc]
        """Scores on the first of several processes."""

        def __init__(self) -> None:
            super().__init__()
            self.monitor = Monitor(inputs, factors, **options)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *batch: Any) -> None:
            if trainer.is_global_zero:
                self._log(trainer, self.monitor(pl_module, trainer.global_step))

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.is_global_zero:
                self._log(trainer, self.monitor.last(pl_module, trainer.global_step))

        def _log(self, trainer: Any, values: dict[str, float] | None) -> None:
            for logger in trainer.loggers if values else ():
                logger.log_metrics(_named(values), trainer.global_step)

    return LightningMonitor()


def trainer_monitor(inputs: Any, factors: Any, **options: Any) -> Any:
    """For `Trainer(callbacks=[...])` of Hugging Face; scores stand in `state.log_history`.

    Its models return more than latents: give `encode`, such as `lambda model, rows: model(rows).pooler_output`.
    """
    with extras("trainer_monitor"):
        from transformers import TrainerCallback

    class TrainerMonitor(TrainerCallback):  # type: ignore[misc]
        """Scores on the first of several processes."""

        def __init__(self) -> None:
            self.monitor = Monitor(inputs, factors, **options)

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
            if state.is_world_process_zero:
                self._log(state, self.monitor(model, state.global_step))

        def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
            if state.is_world_process_zero:
                self._log(state, self.monitor.last(model, state.global_step))

        def _log(self, state: Any, values: dict[str, float] | None) -> None:
            if values:
                state.log_history.append({"step": state.global_step, **_named(values)})

    return TrainerMonitor()


def keras_monitor(inputs: Any, factors: Any, **options: Any) -> Any:
    """For `model.fit(callbacks=[...])` of Keras; the last scores of an epoch and of the fit stand in its history."""
    with extras("keras_monitor"):
        import keras

    def outputs(model: Any, rows: Any) -> Any:
        return keras.ops.convert_to_numpy(model(rows, training=False))

    class KerasMonitor(keras.callbacks.Callback):  # type: ignore[misc]
        """Counts the steps itself, since Keras counts batches of an epoch."""

        def __init__(self) -> None:
            super().__init__()
            self.monitor, self.step = Monitor(inputs, factors, **{"encode": outputs, **options}), 0

        def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
            self.step += 1
            self.monitor(self.model, self.step)

        def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
            if logs is not None and self.monitor.history:
                logs |= _named({name: v for name, v in self.monitor.history[-1].items() if name != "step"})

        def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
            values, fit = _named(self.monitor.last(self.model, self.step)), vars(self.model).get("history")
            if fit is None:  # a loop of one's own, which keeps no history
                return
            scored = {name: column for name, column in fit.history.items() if name.startswith(PREFIX)}
            for name in {**scored, **values}:
                column = scored.get(name, [])
                column = [nan] * (len(fit.epoch) - len(column)) + column  # epochs before the first score
                column[-1:] = [values.get(name, column[-1] if column else nan)]
                fit.history[name] = column

    return KerasMonitor()


def _named(values: dict[str, float] | None) -> dict[str, float]:
    return {f"{PREFIX}{tracked_name(name)}": value for name, value in (values or {}).items()}
