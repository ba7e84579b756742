"""The scores of a representation in TensorBoard; MLflow, W&B and trackio are other addresses."""

import unknot
from unknot.integrations.trackers import tracking

card = unknot.score(*unknot.examples.toy_m1(), metrics=["mig", "sap"])
with tracking("tensorboard:logs", "toy", {"rows": 24}) as log:
    log(card.values(), 0)
