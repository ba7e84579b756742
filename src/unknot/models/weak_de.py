"""WeakDE, weak disentanglement by an adversarial autoencoder."""

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.models._class_gaussians import ClassGaussians
from unknot.models.model import Batch, Model, Player, Preset, Setting, Supervision, Terms, required
from unknot.models.networks import dense, halvings
from unknot.models.terms import pixels, reconstruction

WEIGHT = 0.2  # of the adversarial terms
MOST_CLASSES = 27  # of the default choice, as many as were published for dSprites


class WeakDE(Model):
    """An adversarial autoencoder whose prior has one Gaussian for each combination of some factors' values.

    autoencoder:    loss = reconstruction, mean over pixels
    generator:      loss = 0.2 BCE(D(y, z), 1)                                  moves the encoder alone
    discriminator:  loss = 0.2 [BCE(D(y, z), 0) + BCE(D(y, z_prior), 1)] / 2    moves D alone

    Three phases. While warming up, the prior is uniform on [-1, 1]^d. Then the encoder rests (the decoder goes on)
    while the codes of labelled images are gathered, and each class gets their mean and 0.1 times their covariance.
    From then on the prior is that mixture. A labelled image comes with its class y, one-hot, and z_prior from the
    Gaussian of that class; any other image with y = 0 and z_prior from the whole mixture, classes as frequent as
    among the labelled.

    Args:
        setting: what to build for; the networks are the model's own, so `architecture` does not matter.
        classes: the factors whose combinations are the classes, such as "shape,x:3,y:3"; a number is that of
            equal bins. Left empty: factors in storage order, ordered ones in three bins, up to 27 combinations.
        n_labelled: how many images are labelled.
        warm_up: share of all steps.
        fit: share of all steps in which codes are gathered, at least one step.
        width: channels of the convolutions.

    Departs from the public code, which does not run and which feeds every image with the same class: what an
    unlabelled image is compared with is our choice, and the repair of Mahon et al. 2024 is not public. The relational
    network, which moves codes between classes and changes no other weight, is left out. Phases are shares of the run.
    Reference: Valenti & Bacciu 2022, Leveraging Relational Information for Learning Weakly Disentangled
    Representations, arXiv:2205.10056.
    """

    supervision: ClassVar[Supervision] = "few_labels"
    presets: ClassVar[dict[str, Preset]] = {
        "mahon2024": Preset(
            "Mahon et al. 2024, section 5 (100 epochs of dSprites), the rest as in the configuration of Valenti & "
            "Bacciu 2022 for it",
            fixed={
                "classes": "shape,x:3,y:3",
                "n_labelled": 20_480,
                "width": 32,
                "latents": 8,
                "batch_size": 1024,
                "lr": 1e-4,
                "init": "torch",
                "steps": 72_000,
            },
        ),
        "mahon2024_shapes3d": Preset(
            "Mahon et al. 2024, section 5 (100 epochs of Shapes3D), the rest as in the configuration of Valenti & "
            "Bacciu 2022 for it",
            fixed={
                "classes": "object_hue,shape,size:3",
                "n_labelled": 30_720,
                "width": 64,
                "warm_up": 1 / 3,
                "latents": 16,
                "batch_size": 1024,
                "lr": 1e-5,
                "init": "torch",
                "steps": 46_875,
            },
        ),
    }

    def __init__(
        self,
        setting: Setting,
        *,
        classes: str = "",
        n_labelled: int = 20_480,
        warm_up: float = 1 / 6,
        fit: float = 1 / 60,
        width: int = 32,
    ) -> None:
        super().__init__()
        if setting.factors is None:
            raise UnknotError("weak_de: the world has no factors, and this model learns from a few labels.")
        if n_labelled < 2:
            raise UnknotError(
                f"weak_de: n_labelled is {n_labelled}; a Gaussian needs at least two images.", field="n_labelled"
            )
        if width < 1:
            raise UnknotError(f"weak_de: width is {width}; a convolution has at least one channel.", field="width")
        if not (warm_up >= 0 and fit > 0 and warm_up + fit < 1):
            raise UnknotError(
                f"weak_de: warm_up is {warm_up:g} and fit is {fit:g}; they are shares of the run that leave some of "
                "it.",
                field="warm_up",
            )
        self.bins = class_bins(classes, setting.factors)
        self.n_classes = math.prod(count for _, _, count in self.bins)
        self.n_labelled, self.likelihood = n_labelled, setting.decoder
        self.gather_from = round(warm_up * setting.steps)
        self.gather_until = self.gather_from + max(1, round(fit * setting.steps))
        self.encoder, self.decoder = _encoder(setting, width), _decoder(setting, width)
        self.discriminator = _discriminator(setting.latents + self.n_classes)
        self.gaussians = ClassGaussians(self.n_classes, setting.latents)

    def players(self) -> Sequence[Player]:
        """The autoencoder, the encoder as generator, and the discriminator."""
        return (
            Player("autoencoder", (self.encoder, self.decoder), self.loss),
            Player("generator", (self.encoder,), self.generator_loss),
            Player("discriminator", (self.discriminator,), self.discriminator_loss),
        )

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction, mean over pixels; while codes are gathered, of the decoder alone."""
        z = self.represent(batch.images)
        if self.gathering(step):
            z = z.detach()
            self._gather(batch, last=step == self.gather_until - 1)
        n_pixels = batch.images[0].numel()
        return {
            "reconstruction": reconstruction(batch.images, self.decoder(z).float(), self.likelihood) / n_pixels
        }

    def generator_loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms | None:
        """How badly codes pass for samples of the prior."""
        if self.gathering(step):
            return None
        images, classes = self._seen(batch, step)
        return {"fooling": WEIGHT * _cross_entropy(self.judge(self.represent(images), classes), 1)}

    def discriminator_loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms | None:
        """How badly the discriminator tells codes from samples of the prior."""
        if self.gathering(step):
            return None
        images, classes = self._seen(batch, step)
        with torch.no_grad():
            codes = self.represent(images)
            prior = self.prior(classes, step, generator)
        on_codes = _cross_entropy(self.judge(codes, classes), 0)
        on_prior = _cross_entropy(self.judge(prior, classes), 1)
        return {"cross_entropy": WEIGHT * 0.5 * (on_codes + on_prior)}

    def gathering(self, step: int) -> bool:
        """Whether the encoder rests in this step."""
        return self.gather_from <= step < self.gather_until

    def classes_of(self, labels: Tensor) -> Tensor:
        """The class (b,) of each row of factor classes (b, n_factors)."""
        index = torch.zeros_like(labels[:, 0])
        for column, size, count in self.bins:
            index = index * count + labels[:, column] * count // size
        return index

    def judge(self, codes: Tensor, classes: Tensor) -> Tensor:
        """The logit (b,) of being a sample of the prior, of codes and their classes; -1 is no class."""
        one_hot = functional.one_hot(classes + 1, self.n_classes + 1)[:, 1:].to(codes.dtype)
        logit: Tensor = self.discriminator(torch.cat([codes, one_hot], 1))
        return logit.squeeze(1).float()

    def prior(self, classes: Tensor, step: int, generator: torch.Generator) -> Tensor:
        """Samples (b, d) of the prior of a step, one of each class; of any class for those that are -1."""
        if step < self.gather_from:
            shape = (len(classes), self.gaussians.mean.shape[1])
            return (2 * torch.rand(shape, generator=generator, device=generator.device) - 1).to(classes.device)
        drawn = self.gaussians.sample_classes(len(classes), generator)
        return self.gaussians.sample(torch.where(classes < 0, drawn, classes), generator)

    def represent(self, images: Tensor) -> Tensor:
        """The code of images."""
        code: Tensor = self.encoder(images)
        return code.float()

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of codes."""
        return pixels(self.decoder(latents).float(), self.likelihood)

    def _seen(self, batch: Batch, step: int) -> tuple[Tensor, Tensor]:
        """The images that are compared with the prior, and their classes; -1 where there is no label."""
        none = torch.full((len(batch.images),), -1, device=batch.images.device)
        if step < self.gather_from:
            return batch.images, none
        labelled, labels = _labelled(batch)
        return torch.cat([batch.images, labelled]), torch.cat([none, self.classes_of(labels)])

    def _gather(self, batch: Batch, *, last: bool) -> None:
        labelled, labels = _labelled(batch)
        with torch.no_grad():
            self.gaussians.gather(self.represent(labelled), self.classes_of(labels))
        if last:
            self.gaussians.fit()


def class_bins(text: str, factors: FactorSpace) -> tuple[tuple[int, int, int], ...]:
    """The factors that make up the classes, each as (column, size, number of bins).

    >>> from unknot.worlds.published.dsprites import SPACE
    >>> class_bins("shape,x:3,y:3", SPACE)
    ((0, 3, 3), (3, 32, 3), (4, 32, 3))
    """
    if not text.strip():
        return _default_bins(factors)
    chosen = []
    for item in text.split(","):
        name, colon, bins = (word.strip() for word in item.partition(":"))
        try:
            column = factors.position(name)
        except UnknotError as error:
            raise error.within("classes") from None
        size = factors.shape[column]
        if colon and not (bins.isdecimal() and 2 <= int(bins) <= size):
            raise UnknotError(
                f"weak_de: '{item.strip()}' of classes; expected 2 to {size} bins, as in {name}:2.",
                field="classes",
            )
        chosen.append((column, size, int(bins) if colon else size))
    if len({column for column, _, _ in chosen}) < len(chosen):
        raise UnknotError(f"weak_de: classes '{text}' names a factor twice.", field="classes")
    return tuple(chosen)


def _default_bins(factors: FactorSpace) -> tuple[tuple[int, int, int], ...]:
    chosen, product = [], 1
    for column, factor in enumerate(factors):
        count = factor.size if factor.kind == "categorical" else min(3, factor.size)
        if count > 1 and product * count <= MOST_CLASSES:
            chosen.append((column, factor.size, count))
            product *= count
    if not chosen:
        raise UnknotError(
            f"weak_de: no factor has 2 to {MOST_CLASSES} classes or an order; name some with classes, as in "
            f"'{factors.names[0]}'.",
            field="classes",
        )
    return tuple(chosen)


def _labelled(batch: Batch) -> tuple[Tensor, Tensor]:
    return required(batch.labelled, "weak_de", "labels"), required(batch.labelled_labels, "weak_de", "labels")


def _cross_entropy(logits: Tensor, truth: int) -> Tensor:
    return functional.binary_cross_entropy_with_logits(logits, torch.full_like(logits, truth))


def _encoder(setting: Setting, width: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    n = halvings("weak_de", setting.pixels)
    for i in range(n):
        inputs = width if i else setting.channels
        leak = nn.LeakyReLU(0.1 if i < n - 1 else 0.2)
        layers += [nn.Conv2d(inputs, width, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(width), leak]
    head = (nn.Linear(16 * width, 1024), nn.LeakyReLU(0.1), nn.Linear(1024, setting.latents))
    return nn.Sequential(*layers, nn.Flatten(), *head)


def _decoder(setting: Setting, width: int) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(setting.latents, 1024), nn.LeakyReLU(0.1)]
    layers += [nn.Linear(1024, 16 * width), nn.LeakyReLU(0.1), nn.Unflatten(1, (width, 4, 4))]
    for _ in range(halvings("weak_de", setting.pixels) - 1):
        layers.append(nn.ConvTranspose2d(width, width, 4, stride=2, padding=1, bias=False))
        layers += [nn.BatchNorm2d(width), nn.LeakyReLU(0.1)]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, setting.channels, 4, stride=2, padding=1))


def _discriminator(inputs: int) -> nn.Sequential:
    return nn.Sequential(*dense([inputs, 1024, 1024, 1024, 1024], nn.Tanh), nn.Linear(1024, 1))
