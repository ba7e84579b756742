"""A trained run to play with: codes of its images, and images of any code. `unknot.reports.explorer.server` serves it.

Codes are (k, d): one row for most models, one for each slot for models of objects.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unknot.encoders.encoding import encode
from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats
from unknot.models.codes import represent
from unknot.models.model import Model
from unknot.reading.guard import parsing
from unknot.reports.explorer.knowing import carried, known_shares
from unknot.reports.explorer.server import Code, Decoded, Seen, Slider
from unknot.reports.kit.latent_pictures import plan_traversal
from unknot.representation import mean_kl
from unknot.runs.batches import as_tensor
from unknot.runs.pictures import shown_images
from unknot.runs.run import Run
from unknot.runs.training import feed, find_device, load_model
from unknot.runs.training_world import open_training_world
from unknot.scoring.kept_scores import kept_records
from unknot.worlds.world import World

PRIOR_SPAN = 3.0  # standard deviations that a slider goes to either side
ASKED = 1_000  # images that tell what latents know, where the run has no scores
Knows = tuple[Floats, list[str]]  # shares (latents, factors), and the factors
BEYOND = 0.25  # of their range by which sliders of codes without a prior reach further


class ExploredRun:
    """A run's model and its world.

    Attributes:
        title: the run in a few words.
        about: a sentence.
        sliders: one for each number of a code's row, the most informative first.
        slots: how many rows a code has; 0 for models without slots.
        n_images: in the world.
        draws: where `draw` takes codes from, in words.
    """

    def __init__(self, run: Run | Path | str, *, device: str = "cpu", data: Path | None = None) -> None:
        run = run if isinstance(run, Run) else Run(run)
        spec = run.spec
        self._device = find_device(device)
        self._world = open_training_world(run, data=data)
        self._model = load_model(run, world=self._world).to(self._device)
        self._size = spec.image_size
        _must_draw(run, self._model, self._world)
        self.title = spec.label
        self.about = f"Run {spec.id}: {spec.steps:,} steps on {self._world.name}."
        self.n_images = self._world.factors.size if self._world.rows is None else len(self._world.rows)
        images = shown_images(feed(spec, self._model, self._world)).to(self._device)
        q = represent(self._model, images)
        self._codes: Code = q.mean.cpu().numpy()
        if self._codes.ndim == 2:
            self._codes = self._codes[:, None]
        self.slots = self._codes.shape[1] if self._model.decodes_slots else 0
        kl = None if q.logvar is None else mean_kl(self._codes[:, 0], q.logvar.cpu().numpy())
        # PartedVAEs learn the prior of their class latents, so that no draw of ours would be one of theirs.
        self._normal = kl is not None and self._model.standard_prior
        self.draws = (
            "every latent from the standard normal prior"
            if self._normal
            else "each slot from a random image"
            if self.slots
            else "each latent from a random image, since the model has no standard prior"
        )
        knows = None if self.slots else _scored(run, self._codes.shape[-1]) or _asked(run, self._world, device)
        self.sliders: Sequence[Slider] = _sliders(self._codes.reshape(-1, self._codes.shape[-1]), kl, knows)

    def image(self, number: int) -> Seen:
        """An image of the world, as the model sees it, with its code and its factors."""
        rows, factors = self._world.rows, self._world.factors
        classes = factors.classes([number]) if rows is None else rows[number : number + 1]
        drawn = self._world.images(classes, rng=np.random.default_rng([0, number]))
        tensor = as_tensor(drawn, self._size).to(self._device)
        code = represent(self._model, tensor).mean.cpu().numpy()
        named = zip(factors, classes[0], strict=True) if factors.names != ("image",) else ()
        labels = {factor.name: factor.label(int(class_)) for factor, class_ in named}
        return Seen(_last(tensor)[0], code.reshape(self._codes.shape[1:]), labels)

    @torch.no_grad()
    def decode(self, code: Code) -> Decoded:
        """The image of a code; for models of objects, what each slot draws, and where."""
        tensor = torch.from_numpy(code.astype(np.float32)).to(self._device)
        if not self.slots:
            return Decoded(_last(self._model.decode(tensor))[0])
        drawn = self._model.slots_decoded(tensor[None])
        pictures, masks = _last(drawn.pictures[0]), drawn.masks[0].float().cpu().numpy()
        return Decoded(_last(drawn.combined())[0], tuple(zip(pictures, masks, strict=True)))

    def draw(self, rng: np.random.Generator) -> Code:
        """A random code; `draws` says from where."""
        n, k, d = self._codes.shape
        if self._normal:
            return rng.standard_normal((k, d))
        by_slot = rng.integers(0, n, size=k), np.arange(k)
        by_latent = rng.integers(0, n, size=(1, d)), 0, np.arange(d)
        code: Code = self._codes[by_slot if self.slots else by_latent]
        return code


def _must_draw(run: Run, model: Model, world: World) -> None:
    from unknot.models import MODELS

    if not model.decodes:
        able = ", ".join(name for name, kind in MODELS.items() if kind.decodes)
        raise UnknotError(
            f"{run.folder}: {run.spec.model} has no decoder, so its latents cannot be shown as images. "
            f"Models that can be explored: {able}."
        )
    if world.image_shape[2] not in (1, 3):
        raise UnknotError(
            f"{run.folder}: images of {world.name} have {world.image_shape[2]} channels; only 1 and 3 can be shown."
        )


def _scored(run: Run, latents: int) -> Knows | None:
    """What each latent knows of which factors, from the scores in the run's folder."""
    for record in kept_records(run):
        with parsing(run.folder / "scores.json", "scores of a run", "unknot score makes them anew."):
            factors = [str(verdict["factor"]) for verdict in record.get("verdicts") or ()]
            shares = np.array(record.get("information_shares") or [], dtype=np.float64)
        if factors and shares.shape == (latents, len(factors)):
            return shares, factors
    return None


def _asked(run: Run, world: World, device: str) -> Knows | None:
    """The same, from codes of a few images; None where the world has no factors, or none can be told."""
    if world.factors.names == ("image",):
        return None
    try:
        return known_shares(encode(run, world, rows=ASKED, device=device))
    except UnknotError:  # too few images, or factors that do not vary: sliders work without
        return None


def _sliders(
    codes: NDArray[np.floating[Any]], kl: NDArray[np.float64] | None, knows: Knows | None
) -> tuple[Slider, ...]:
    """One for each latent, in the order and greyed as traversals are."""
    plan = plan_traversal(codes, kl)
    reach = (
        np.full(codes.shape[1], PRIOR_SPAN - plan.high[0]) if kl is not None else BEYOND * (plan.high - plan.low)
    )
    low, high = plan.low - reach, plan.high + np.maximum(reach, 1e-3)
    return tuple(
        Slider(
            i,
            f"z{i}",
            plan.remarks[i],
            float(low[i]),
            float(high[i]),
            off=bool(plan.off[i]),
            carries="" if knows is None else carried(knows[0][i], knows[1], 2),
        )
        for i in plan.order
    )


def _last(images: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = images.float().permute(0, 2, 3, 1).cpu().numpy()
    return array
