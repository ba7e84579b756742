"""PartedVAE, unsupervised and semi-supervised."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.models._parted import (
    ClassPrior,
    PartedEncoder,
    class_entropy,
    class_kl,
    class_variables,
    expected_kl,
    overlaps,
)
from unknot.models.model import Batch, Model, Player, Posterior, Preset, Setting, Supervision, Terms, not_negative
from unknot.models.networks import Decoder
from unknot.models.terms import kl, linear_ramp, pixels, reconstruction, sample

_DSPRITES: dict[str, float | int | str] = {"latents": 6, "lr": 5e-4, "init": "torch"}


@dataclass(frozen=True)
class Weights:
    """The numbers of the objective, see `PartedVAE`."""

    capacity_z: float
    capacity_u: float
    capacity_steps: int
    gamma_z: float
    gamma_u: float
    gamma_c: float
    gamma_h: float
    gamma_bc: float
    most_overlap: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            not_negative("parted_vae", **{name: value})


class PartedVAE(Model):
    """A VAE with class variables c_k, each with latents u_k of its own; the other latents z know of no class.

    loss = reconstruction + gamma_z |KL_z - C_z(t)| + gamma_u |sum_k E_q(c_k|x) KL(q(u_k|x) || p(u_k|c_k)) - C_u(t)|
           + gamma_c sum_k KL(mean q(c_k|x) || uniform) + gamma_h sum_k H[q(c_k|x)]
           + gamma_bc sum_{pairs of classes} max(0, BC - most_overlap)

    p(u_k|c_k) are learned Gaussians and BC the Bhattacharyya coefficient of two of them. Capacities C grow linearly
    from 0. Classes are Gumbel-softmax samples in training and the most likely ones in the representation, which is
    the mean of z and u: u_size latents at the end for each class variable.

    Args:
        setting: what to build for; its latents are those of z and u together.
        classes: class variables as names of factors (for their number of classes only) or numbers of classes, with
            commas; empty: the first categorical factor.
        u_size: latents of each class variable.
        capacity_z: C_z at the end, in nats.
        capacity_u: C_u at the end, in nats.
        capacity_steps: steps until then.
        gamma_z: how firmly the KL of z is held.
        gamma_u: how firmly the KL of u is held.
        gamma_c: weight of using all classes alike.
        gamma_h: weight of being certain of the class.
        gamma_bc: weight of keeping the classes' priors apart.
        most_overlap: the overlap of two priors that costs nothing.

    Departs from the public code: classes have uniform priors; the learning rate is constant (there it is halved when
    the loss of an epoch stalls); pixels have logits.
    Reference: Hajimiri et al. 2021, Semi-Supervised Disentanglement of Class-Related and Class-Independent Factors in
    VAE, arXiv:2102.00892.
    """

    name = "parted_vae"
    standard_prior = False  # that of class latents is learned
    presets: ClassVar[dict[str, Preset]] = {
        "mahon2024": Preset(
            "Mahon et al. 2024, section 5, dSprites settings of its public code; 100 epochs", fixed=_DSPRITES
        )
    }

    def __init__(
        self,
        setting: Setting,
        *,
        classes: str = "",
        u_size: int = 1,
        capacity_z: float = 30.0,
        capacity_u: float = 5.0,
        capacity_steps: int = 300_000,
        gamma_z: float = 50.0,
        gamma_u: float = 50.0,
        gamma_c: float = 100.0,
        gamma_h: float = 10.0,
        gamma_bc: float = 10.0,
        most_overlap: float = 0.1,
    ) -> None:
        super().__init__()
        n_classes, self.columns = class_variables(self.name, classes, setting)
        self.weights = Weights(
            capacity_z, capacity_u, capacity_steps, gamma_z, gamma_u, gamma_c, gamma_h, gamma_bc, most_overlap
        )
        if u_size < 1:
            raise UnknotError(
                f"parted_vae: u_size is {u_size}; each class variable has at least one latent.", field="u_size"
            )
        self.encoder = PartedEncoder(setting, n_classes, u_size)
        self.decoder = Decoder(setting)
        self.priors = nn.ModuleList(ClassPrior(n, u_size) for n in n_classes)
        self.likelihood = setting.decoder

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction, the two capacities, and what keeps classes used, certain and apart."""
        w = self.weights
        code = self.encoder(batch.images, step, generator)
        output = self.decoder(sample(code.joint, generator))
        priors = [prior() for prior in self.priors]
        kl_u = _total(map(expected_kl, code.u, code.log_c, priors))
        capacity_z = linear_ramp(step, start=0, end=w.capacity_z, over=w.capacity_steps)
        capacity_u = linear_ramp(step, start=0, end=w.capacity_u, over=w.capacity_steps)
        return {
            "reconstruction": reconstruction(batch.images, output, self.likelihood),
            "capacity_z": w.gamma_z * (kl(code.z) - capacity_z).abs(),
            "capacity_u": w.gamma_u * (kl_u - capacity_u).abs(),
            "class_kl": w.gamma_c * _total(map(class_kl, code.log_c)),
            "class_entropy": w.gamma_h * _total(map(class_entropy, code.log_c)),
            "overlap": w.gamma_bc * _total((overlaps(p) - w.most_overlap).relu().sum() for p in priors),
        }

    def represent(self, images: Tensor) -> Posterior:
        """The posterior of z and u, at the most likely classes."""
        joint: Posterior = self.encoder.most_likely(images).joint
        return joint

    def class_log_probabilities(self, images: Tensor) -> list[Tensor]:
        """The log-probabilities log q(c_k|x) of images, (b, n_k) for each class variable."""
        return self.encoder.class_log_probabilities(images)

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of latents."""
        return pixels(self.decoder(latents), self.likelihood)


class PartedVAESS(PartedVAE):
    """PartedVAE that sees the classes of a few images.

    Before each unsupervised step there is one on a batch of labelled images, which moves the encoder's trunk and its
    class heads by the cross-entropy of log q(c_k|x); its optimiser is its own.

    Args:
        setting: what to build for; its latents are those of z and u together.
        n_labelled: how many images are labelled.
        classes: names of the factors whose classes are known, with commas; empty: the first categorical factor.
        u_size: latents of each class variable.
        capacity_z: see `PartedVAE`, as all below.
        capacity_u: C_u at the end, in nats.
        capacity_steps: steps until then.
        gamma_z: how firmly the KL of z is held.
        gamma_u: how firmly the KL of u is held.
        gamma_c: weight of using all classes alike.
        gamma_h: weight of being certain of the class.
        gamma_bc: weight of keeping the classes' priors apart.
        most_overlap: the overlap of two priors that costs nothing.

    Departs from the public code: as `PartedVAE`; and labelled images are drawn at random, not stratified.
    Reference: Hajimiri et al. 2021, arXiv:2102.00892.
    """

    name = "parted_vae_ss"
    supervision: ClassVar[Supervision] = "few_labels"
    presets: ClassVar[dict[str, Preset]] = {
        "mahon2024": Preset(
            "Mahon et al. 2024, section 5, dSprites settings of its public code; 100 epochs",
            fixed={"n_labelled": 10_000, **_DSPRITES},
        )
    }

    def __init__(self, setting: Setting, *, n_labelled: int = 10_000, **extras: Any) -> None:
        if n_labelled < 1:
            raise UnknotError(
                f"parted_vae_ss: n_labelled is {n_labelled}; it learns from at least one label.",
                field="n_labelled",
            )
        super().__init__(setting, **extras)
        if None in self.columns:
            raise UnknotError(
                f"parted_vae_ss: classes is {extras['classes']!r}; labels need names of factors, not numbers.",
                field="classes",
            )
        self.n_labelled = n_labelled

    def players(self) -> Sequence[Player]:
        """The step on labels, then the unsupervised step."""
        return (
            Player("labels", (self.encoder.trunk, self.encoder.class_heads), self.label_loss),
            Player("vae", (self,), self.loss),
        )

    def label_loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Cross-entropy of the classes of labelled images."""
        if batch.labelled is None or batch.labelled_labels is None:
            raise UnknotError("parted_vae_ss: the batch has no labelled images.")
        log_c = self.class_log_probabilities(batch.labelled)
        labels = batch.labelled_labels[:, self.columns].T
        return {"cross_entropy": _total(map(nn.functional.nll_loss, log_c, labels))}


def _total(terms: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(terms)).sum()
