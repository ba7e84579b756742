"""Ada-GVAE."""

from typing import ClassVar

from unknot.models._shared_latents import LOCATELLO2020, SharedLatentsVAE, mean_of_variances
from unknot.models.model import Preset, Setting


class AdaGVAE(SharedLatentsVAE):
    """The VAE of pairs that differ in few factors: latents that hardly differ are shared by averaging variances.

    delta_j = KL(q(z_j|x1) || q(z_j|x2)),  j is shared iff delta_j < (min delta + max delta) / 2
    shared: both posteriors become N((m1 + m2) / 2, (v1 + v2) / 2)
    loss = mean over x1, x2 of [reconstruction + beta KL(shared posterior || N(0, I))]

    Which factors changed, and how many, is never told. The decision passes no gradient; the averages do. The
    representation of an image is that of the image alone.

    Args:
        setting: what to build for.
        beta: weight of the KL.
        divergence: "kl", from the first image to the second as published, or "symmetric_kl".

    Edge cases: two equal images share nothing, as all divergences are equal.
    Reference: Locatello et al. 2020, Weakly-Supervised Disentanglement Without Compromises, arXiv:2002.02886; the
    grouping is that of Hosoya 2019, arXiv:1809.02383.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "schott2022": Preset(
            "Schott et al. 2022, appendix H.3; pairs that differ in one factor",
            {"beta": (1, 2, 4, 6, 8, 16)},
            {"steps": 500_000, "batch_size": 64, "pairs": "one_factor"},
        ),
        "locatello2020": LOCATELLO2020,
    }

    def __init__(self, setting: Setting, *, beta: float = 1.0, divergence: str = "kl") -> None:
        super().__init__(setting, "ada_gvae", beta, divergence, mean_of_variances)
