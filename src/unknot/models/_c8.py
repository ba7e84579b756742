"""Convolutions that turn with the image: the cyclic group of eight rotations, regular fields, in plain torch.

A filter is psi(r, a) = sum_n w_n ring(r) h_n(a) with the harmonics h = 1, cos a, sin a, cos 2a, sin 2a on a ring of
radius 1. Turned by g steps of 45 degrees it has the same weights and harmonics of a - g pi / 4, so nothing is
interpolated: equivariance is exact for turns by 90 degrees, which map pixels to pixels, and as good as the ring is
sampled by the kernel for those by 45.

    first layer    out[f, g](x) = sum_{i, u} psi_{f i}(R_g^-1 u) image[i](x + u)
    others         out[f, g](x) = sum_{i, k, u} psi_{f i (k - g)}(R_g^-1 u) in[i, k](x + u)

Turning the image by g steps turns every map and rolls the group axis by g.

Reference: Cohen & Welling 2016, Group Equivariant Convolutional Networks, arXiv:1602.07576; Weiler & Cesa 2019,
General E(2)-Equivariant Steerable CNNs, arXiv:1911.08251, whose library Schott et al. 2022 used.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

ORDER = 8  # rotations in the group
RING, WIDTH = 1.0, 0.4  # radius of the filters and its standard deviation, in pixels
N_HARMONICS = 5


def turned_harmonics(kernel: int) -> Tensor:
    """The five basis filters (8, 5, kernel, kernel), of norm 1, turned by each element of the group."""
    at = torch.arange(kernel, dtype=torch.float64) - (kernel - 1) / 2
    down, right = torch.meshgrid(at, at, indexing="ij")
    angle = torch.atan2(-down, right)  # rows count downwards, angles upwards
    ring = torch.exp(-0.5 * ((torch.hypot(down, right) - RING) / WIDTH) ** 2)
    turned = angle - math.tau / ORDER * torch.arange(ORDER).view(-1, 1, 1)
    waves = [torch.ones_like(turned), *(wave(m * turned) for m in (1, 2) for wave in (torch.cos, torch.sin))]
    filters = torch.stack([ring * wave for wave in waves], 1)
    # One scale for all turns, else a filter and its turned copy would not be the same filter.
    return (filters / filters.pow(2).sum((2, 3), keepdim=True).mean(0, keepdim=True).sqrt()).float()


class C8Convolution(nn.Module):
    """A convolution from images, or from regular fields, to regular fields.

    Fields of n channels times 8 are laid out (b, n * 8, h, w), the group axis fastest.

    Args:
        n_in: channels of images, or input fields.
        n_out: output fields.
        kernel: size.
        stride: of the convolution.
        padding: zeros at the border.
        lifting: whether the input is an image.
    """

    def __init__(
        self, n_in: int, n_out: int, kernel: int = 4, *, stride: int = 1, padding: int = 0, lifting: bool = False
    ) -> None:
        super().__init__()
        self.stride, self.padding, self.lifting = stride, padding, lifting
        per_field = 1 if lifting else ORDER
        # He's law: the sum over inputs and basis filters of norm 1 keeps the mean square through a ReLU.
        deviation = math.sqrt(2 / (n_in * per_field * N_HARMONICS))
        self.weight = nn.Parameter(deviation * torch.randn(n_out, n_in, per_field, N_HARMONICS))
        self.bias = nn.Parameter(torch.zeros(n_out))  # one for all eight, else it would not turn with the rest
        self.register_buffer("basis", turned_harmonics(kernel), persistent=False)
        steps = torch.arange(ORDER)
        self.register_buffer("relative", (steps[None, :] - steps[:, None]) % ORDER, persistent=False)

    def filters(self) -> Tensor:
        """The filters (n_out * 8, n_in or n_in * 8, kernel, kernel) of an ordinary convolution."""
        basis: Tensor = self.basis  # type: ignore[assignment]
        relative: Tensor = self.relative  # type: ignore[assignment]
        n_out, n_in, per_field, _ = self.weight.shape
        if self.lifting:
            full = torch.einsum("oin,gnhw->ogihw", self.weight[:, :, 0], basis)
        else:
            full = torch.einsum("oigkn,gnhw->ogikhw", self.weight[:, :, relative], basis)
        return full.reshape(n_out * ORDER, n_in * per_field, *basis.shape[2:])

    def forward(self, fields: Tensor) -> Tensor:
        """The output fields (b, n_out * 8, h, w)."""
        bias = self.bias.repeat_interleave(ORDER)
        return functional.conv2d(fields, self.filters(), bias, stride=self.stride, padding=self.padding)
