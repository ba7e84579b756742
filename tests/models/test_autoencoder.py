import torch

from unknot.models.autoencoder import Autoencoder
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise

SMALL = Setting(pixels=32, latents=4)
BATCH = Batch(torch.rand(6, 1, 32, 32, generator=torch.Generator().manual_seed(0)))


def test_there_is_no_noise_even_in_training():
    model = Autoencoder(SMALL).train()
    one, two = (model.loss(BATCH, 0, torch.Generator().manual_seed(seed)) for seed in (0, 1))
    assert one["reconstruction"].item() == two["reconstruction"].item()


def test_the_loss_is_the_reconstruction_alone_and_the_code_has_no_variance():
    model = Autoencoder(SMALL)
    assert set(model.loss(BATCH, 0, torch.Generator())) == {"reconstruction"}
    code = model.represent(BATCH.images)
    assert code.mean.shape == (6, 4) and code.logvar is None


def test_one_batch_can_be_learned():
    model = Autoencoder(SMALL)
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for step in range(30):
        optimiser.zero_grad()
        loss = model.loss(BATCH, step, torch.Generator())["reconstruction"]
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 1
