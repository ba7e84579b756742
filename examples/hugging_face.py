"""Scores for a model's page on the hub, and latents as safetensors."""

import unknot
from unknot.integrations.hub import model_card, write_eval_results

latents, factors = unknot.examples.toy_m1()
card = unknot.score(latents, factors, metrics=["mig", "sap"])
print(model_card(card, "my-model", "toy"))
write_eval_results(card, ".eval_results/toy.yaml", "me/toy")
unknot.Representation(latents, factors).write("latents.safetensors")
