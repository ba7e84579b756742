"""One Gaussian per class, fitted to codes of labelled images and fixed from then on."""

import torch
from torch import Tensor, nn

SHRINK = 0.1  # what the covariances are multiplied by


class ClassGaussians(nn.Module):
    """Gathers codes class by class, fits a Gaussian to each class, and draws from them.

    Everything is a buffer, so a run that is stopped while gathering goes on where it was.

    Args:
        n_classes: how many.
        latents: size of the codes.

    Edge cases: a class with fewer than two codes takes the covariance of all codes, one with none their mean too.
    """

    count: Tensor
    total: Tensor
    products: Tensor
    mean: Tensor
    root: Tensor

    def __init__(self, n_classes: int, latents: int) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(n_classes))
        self.register_buffer("total", torch.zeros(n_classes, latents))
        self.register_buffer("products", torch.zeros(n_classes, latents, latents))
        self.register_buffer("mean", torch.zeros(n_classes, latents))
        self.register_buffer("root", torch.zeros(n_classes, latents, latents))

    @torch.no_grad()
    def gather(self, codes: Tensor, classes: Tensor) -> None:
        """Add codes (b, d) to what is known of their classes (b,)."""
        self.count.index_add_(0, classes, torch.ones_like(codes[:, 0]))
        self.total.index_add_(0, classes, codes)
        self.products.index_add_(0, classes, codes[:, :, None] * codes[:, None, :])

    @torch.no_grad()
    def fit(self) -> None:
        """Set mean and covariance of every class from the codes gathered so far."""
        mean, covariance = _moments(self.count, self.total, self.products)
        all_mean, all_covariance = _moments(
            self.count.sum(0, keepdim=True), self.total.sum(0, keepdim=True), self.products.sum(0, keepdim=True)
        )
        self.mean.copy_(torch.where(self.count[:, None] > 0, mean, all_mean))
        covariance = torch.where(self.count[:, None, None] > 1, covariance, all_covariance)
        # A class with few codes has a flat Gaussian, for which there is a root but no Cholesky factor.
        values, vectors = torch.linalg.eigh(SHRINK * covariance)
        self.root.copy_(vectors * values.clamp(min=0).sqrt()[:, None, :])

    def covariance(self) -> Tensor:
        """The covariances (k, d, d) of the fitted Gaussians."""
        return self.root @ self.root.transpose(1, 2)

    def sample(self, classes: Tensor, generator: torch.Generator) -> Tensor:
        """One draw (b, d) for each of the classes (b,)."""
        shape = (len(classes), self.mean.shape[1])
        noise = torch.randn(shape, generator=generator, device=generator.device).to(self.mean.device)
        return self.mean[classes] + (self.root[classes] * noise[:, None, :]).sum(2)

    def sample_classes(self, n: int, generator: torch.Generator) -> Tensor:
        """Classes (n,) as often as they occurred among the codes."""
        weights = self.count.to(generator.device)
        return torch.multinomial(weights, n, replacement=True, generator=generator).to(self.count.device)


def _moments(count: Tensor, total: Tensor, products: Tensor) -> tuple[Tensor, Tensor]:
    """Mean (k, d) and unbiased covariance (k, d, d) from counts, sums and sums of products."""
    mean = total / count.clamp(min=1)[:, None]
    scatter = products - count[:, None, None] * mean[:, :, None] * mean[:, None, :]
    return mean, scatter / (count - 1).clamp(min=1)[:, None, None]
