"""WReN, the relation network that solves puzzles: it scores each answer by all pairs of panels.

    score(a) = f( sum over e1, e2 in E of g(e1, e2) ),        E = the 8 context panels and the candidate a

All 81 ordered pairs count, those of a panel with itself included. Each panel is its code and a one-hot of its place in
the grid, the candidate always the ninth: without it rows could not be told apart.

Two savings leave the scores as they are. The 64 pairs of context panels do not depend on the candidate, so that
64 + 6 x 17 = 166 pairs replace 6 x 81 = 486. And the first layer of g is linear in its two panels, W [e1; e2] =
W_1 e1 + W_2 e2, so that it is applied to 14 panels and pairs are sums.

Reference: Barrett et al. 2018, Measuring Abstract Reasoning in Neural Networks, arXiv:1807.04225; van Steenkiste et
al. 2019, arXiv:1905.12506, eq. 2 and appendix A.2. Where the code of the second differs from its text (one-hot of the
place, LeCun-normal weights) this follows the code; dropout has its usual meaning, the share that is dropped. Muon:
Jordan et al. 2024, kellerjordan.github.io/posts/muon.
"""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.tasks.reasoning.options import WReNSetting

PLACES = 9
CONTEXT = 8
SHARED, OWN = CONTEXT**2, 2 * CONTEXT + 1  # pairs of context panels, and further ones for each candidate
_TRUNCATED = 0.87962566103423978  # standard deviation of a standard normal cut at two


class WReN(nn.Module):
    """Scores of the six answers from codes of panels."""

    def __init__(self, width: int, setting: WReNSetting) -> None:
        """`width`: numbers in the code of a panel."""
        super().__init__()
        self.width = width
        self.setting = setting
        inputs = 2 * (width + PLACES)
        self.first = nn.Linear(inputs, setting.g_width)
        self.g = nn.ModuleList(nn.Linear(setting.g_width, setting.g_width) for _ in range(setting.g_depth - 1))
        self.norm = nn.LayerNorm(setting.g_width) if setting.norm else nn.Identity()
        sizes = [setting.g_width, *[setting.f_width] * setting.f_depth]
        self.f = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.score = nn.Linear(setting.f_width, 1)

    def forward(self, context: Tensor, answers: Tensor) -> Tensor:
        """Scores (b, 6) from codes of context (b, 8, d) and of answers (b, 6, d)."""
        left, right = self._halves(torch.cat([context, answers], dim=1))
        hidden: Tensor = Paired.apply(left, right)  # type: ignore[no-untyped-call]
        for layer in self.g:
            hidden = layer(hidden) if layer is self.g[-1] else functional.relu_(layer(hidden))
        hidden = Pooled.apply(hidden)  # type: ignore[no-untyped-call]
        # Six answers differ little in sums of 81, so f, which costs next to nothing, is never computed in bfloat16.
        with torch.autocast(hidden.device.type, enabled=False):
            hidden = self.norm(hidden)
            for layer in self.f:
                hidden = functional.relu(layer(hidden))
            hidden = functional.dropout(hidden, self.setting.dropout, self.training)
            scores: Tensor = self.score(hidden).squeeze(-1)
        return scores

    def matrices(self) -> list[nn.Parameter]:
        """The weights between hidden layers, which Muon takes."""
        return [layer.weight for layer in (self.first, *self.g, *self.f)]

    def _halves(self, panels: Tensor) -> tuple[Tensor, Tensor]:
        """What each of 14 panels adds to the first layer of g as the first and as the second of a pair."""
        weight, d = self.first.weight, self.width
        # A one-hot times a matrix is one of its columns: the place adds a row of this table. Candidates are all ninth.
        places = torch.arange(panels.shape[1], device=panels.device).clamp(max=PLACES - 1)
        parts = []
        for start in (0, d + PLACES):
            moved = functional.linear(panels, weight[:, start : start + d])
            parts.append(moved + weight[:, start + d : start + d + PLACES].t()[places].to(moved.dtype))
        return parts[0] + self.first.bias.to(parts[0].dtype), parts[1]


class Paired(torch.autograd.Function):
    """The 166 pairs that differ, rectified: from what each panel adds as first and as second, (b, 14, h) each.

    Rows 0..63 are pairs of context panels; then, for each candidate, it with the context, the context with it, and
    it with itself: 17 rows. Written by hand because automatic derivatives would pass over these rows several times
    more, which is where the time goes once the matrix products are shared.
    """

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        """max(0, left_i + right_j) for the pairs i, j."""
        b, n, h = left.shape
        rows = left.new_empty(b, SHARED + (n - CONTEXT) * OWN, h)
        shared, own = _parts(rows)
        left_c, left_a = left[:, :CONTEXT], left[:, CONTEXT:]
        right_c, right_a = right[:, :CONTEXT], right[:, CONTEXT:]
        torch.add(left_c[:, :, None], right_c[:, None], out=shared.view(b, CONTEXT, CONTEXT, h))
        torch.add(left_a[:, :, None], right_c[:, None], out=own[:, :, :CONTEXT])
        torch.add(left_c[:, None], right_a[:, :, None], out=own[:, :, CONTEXT : 2 * CONTEXT])
        torch.add(left_a, right_a, out=own[:, :, -1])
        functional.relu_(rows)
        ctx.save_for_backward(rows)
        return rows

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """A panel's gradient is the sum over the pairs it is in."""
        (rows,) = ctx.saved_tensors
        shared, own = _parts(torch.ops.aten.threshold_backward(gradient, rows, 0))
        shared = shared.view(len(rows), CONTEXT, CONTEXT, -1)
        first, second, itself = own[:, :, :CONTEXT], own[:, :, CONTEXT : 2 * CONTEXT], own[:, :, -1]
        left = torch.cat([shared.sum(dim=2) + second.sum(dim=1), first.sum(dim=2) + itself], dim=1)
        right = torch.cat([shared.sum(dim=1) + first.sum(dim=1), second.sum(dim=2) + itself], dim=1)
        return left, right


class Pooled(torch.autograd.Function):
    """Rectified rows (b, 166, h) added up for each candidate in float32, (b, 6, h): shared ones and its own."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        """The sum of max(0, row) over the 81 pairs of each candidate."""
        rows = functional.relu_(rows)  # in place: nobody reads what the layer before gave out
        ctx.save_for_backward(rows)
        shared, own = _parts(rows)
        wide = torch.promote_types(rows.dtype, torch.float32)
        return shared.sum(dim=1, dtype=wide)[:, None] + own.sum(dim=2, dtype=wide)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """A shared row counts once for each candidate."""
        (rows,) = ctx.saved_tensors
        result = torch.empty_like(rows)
        each = (gradient.sum(dim=1)[:, None].to(rows.dtype), gradient[:, :, None].to(rows.dtype))
        parts = zip(each, _parts(rows), _parts(result), strict=True)
        for incoming, row, out in parts:
            torch.ops.aten.threshold_backward.grad_input(incoming.expand_as(row), row, 0, grad_input=out)
        return result


def _parts(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The shared pairs (b, 64, h), and those of each candidate (b, 6, 17, h)."""
    own = rows[:, SHARED:]
    return rows[:, :SHARED], own.view(len(rows), -1, OWN, rows.shape[2])


class PanelCNN(nn.Module):
    """Codes of panels that are images: four 4x4 convolutions of stride 2 with 32, 32, 64, 64 channels, flattened.

    As in the released code; the paper's encoders have two more layers.
    """

    def __init__(self, image_shape: tuple[int, int, int]) -> None:
        super().__init__()
        height, width, channels = image_shape
        if min(height, width) < 16:
            raise UnknotError(
                f"WReN: images of {height} x {width} are too small for four convolutions; 16 is the least."
            )
        sizes = [channels, 32, 32, 64, 64]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Conv2d(inputs, outputs, 4, stride=2, padding=1), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Flatten())
        self.width = 64 * (height // 16) * (width // 16)

    def forward(self, images: Tensor) -> Tensor:
        """(..., d) of images (..., c, h, w)."""
        codes: Tensor = self.body(images.flatten(0, -4))
        return codes.view(*images.shape[:-3], -1)


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """LeCun-normal weights (cut at two standard deviations, variance 1 / inputs) and no biases."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            inputs = layer.weight[0].numel()
            deviation = inputs**-0.5 / _TRUNCATED
            nn.init.trunc_normal_(layer.weight, 0, deviation, -2 * deviation, 2 * deviation, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
