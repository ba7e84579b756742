import math

import pytest
import torch

from unknot.errors import UnknotError
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise
from unknot.models.pcl import PCL, others
from unknot.runs import meters, trainer
from unknot.runs.spec import RunSpec
from unknot.runs.training import load_model, train

SMALL = Setting(pixels=32, latents=4)
LOOKS = torch.rand(2, 6, 1, 32, 32, generator=torch.Generator().manual_seed(0))
PAIRS = Batch(LOOKS[0], pair=LOOKS[1])


def fresh(**options: bool) -> PCL:
    model = PCL(SMALL, **options)
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def codes(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(5, 4, generator=noise), torch.randn(5, 4, generator=noise)


def contrast(model: PCL, batch: Batch = PAIRS) -> torch.Tensor:
    return model.loss(batch, 0, torch.Generator().manual_seed(1))["contrast"]


def test_equal_codes_score_their_squared_length_at_first():
    model, (h, _) = fresh(), codes()
    torch.testing.assert_close(model.score(h, h), h.pow(2).sum(1))
    with torch.no_grad():
        model.m.fill_(0.7)
        model.a.fill_(0.25)
    torch.testing.assert_close(model.score(h, h), 0.25 * h.pow(2).sum(1) + 0.7)


def test_at_first_the_score_falls_by_the_distance_of_the_codes():
    model, (h, step) = fresh(), codes()
    torch.testing.assert_close(model.score(h, h) - model.score(h, h + step), step.abs().sum(1))


def test_the_score_is_the_formula():
    model, (one, two) = fresh(), codes(1)
    noise = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in (model.a_i, model.b_i, model.c_i, model.a, model.m):
            parameter.copy_(torch.randn(parameter.shape, generator=noise))
    slow = [
        -sum(
            abs(model.a_i[i].item() * x[i] + model.b_i[i].item() * y[i] + model.c_i[i].item())
            - model.a.item() * x[i] ** 2
            for i in range(4)
        )
        + model.m.item()
        for x, y in zip(one.tolist(), two.tolist(), strict=True)
    ]
    assert model.score(one, two).tolist() == pytest.approx(slow, rel=1e-5)
    order = torch.tensor([2, 0, 3, 1])
    before = model.score(one, two)
    with torch.no_grad():
        for parameter in (model.a_i, model.b_i, model.c_i):
            parameter.copy_(parameter[order])
    torch.testing.assert_close(model.score(one[:, order], two[:, order]), before)  # separate for each latent


def test_a_constant_score_costs_ln_2():
    model = fresh()
    with torch.no_grad():
        for parameter in (model.a_i, model.b_i, model.a):
            parameter.zero_()
    assert contrast(model).item() == pytest.approx(math.log(2))


def test_the_loss_is_logistic_on_as_many_strangers_as_pairs():
    model = fresh()
    h, other = model.represent(torch.cat([PAIRS.images, PAIRS.pair])).chunk(2)
    ring = others(6, torch.Generator().manual_seed(1))
    scores = torch.cat([model.score(h, other), -model.score(h, other[ring])])
    assert contrast(model).item() == pytest.approx(-scores.sigmoid().log().mean().item(), rel=1e-5)


@pytest.mark.parametrize("n", [2, 3, 64])
def test_strangers_are_a_permutation_that_leaves_nobody_in_place(n):
    for seed in range(20):
        following = others(n, torch.Generator().manual_seed(seed))
        assert sorted(following.tolist()) == list(range(n))
        assert not (following == torch.arange(n)).any()


def test_a_is_projected_and_not_squashed():
    model = fresh()
    with torch.no_grad():
        model.a.fill_(-0.3)
    model.after_step()
    assert model.a.item() == 0
    with torch.no_grad():
        model.a.fill_(1.7)
    model.after_step()
    assert model.a.item() == pytest.approx(1.7)


def test_head_parameters_keep_their_initial_values_when_weights_are_drawn():
    model = fresh()
    assert model.a_i.tolist() == [1] * 4
    assert model.b_i.tolist() == [-1] * 4
    assert model.c_i.tolist() == [0] * 4
    assert (model.a.item(), model.m.item()) == (1, 0)
    assert model.head.bias is None


def test_the_representation_is_standardised_by_running_statistics():
    model = fresh()
    h = model.represent(LOOKS[0])
    torch.testing.assert_close(h.mean(0), torch.zeros(4), atol=1e-5, rtol=0)
    assert "norm.running_mean" in model.state_dict()
    model.eval()
    one_by_one = torch.cat([model.represent(x[None]) for x in LOOKS[0]])
    torch.testing.assert_close(one_by_one, model.represent(LOOKS[0]), atol=1e-5, rtol=1e-4)
    assert not torch.allclose(one_by_one, h, atol=1e-2)


def test_without_batch_norm_there_are_no_statistics():
    model = fresh(batch_norm=False)
    assert not any("running" in name for name in model.state_dict())
    torch.testing.assert_close(model.represent(LOOKS[0])[:1], model.represent(LOOKS[0][:1]), atol=1e-6, rtol=1e-4)


def test_gradients_reach_every_parameter():
    model = fresh()
    for gradient in torch.autograd.grad(contrast(model), list(model.parameters())):
        assert gradient.isfinite().all()
    assert torch.autograd.grad(contrast(model), model.body[0].weight)[0].any()


def test_a_run_stopped_half_way_ends_with_the_same_weights_and_statistics(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "LOG_EVERY", 2)
    monkeypatch.setattr(meters, "KL_IMAGES", 4)
    spec = RunSpec(world="dsprites_rendered", model="pcl", steps=4, batch_size=4, image_size=32, lr=1e-2)
    whole = load_model(train(spec, tmp_path / "whole")).state_dict()

    def stop(stage: str, done: int, total: int, **facts: object) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(spec, tmp_path / "halves", checkpoint_every=2, progress=stop)
    resumed = load_model(train(spec, tmp_path / "halves")).state_dict()
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)
    assert whole["norm.num_batches_tracked"] == 4


def test_mistakes_are_named():
    with pytest.raises(UnknotError, match="pcl: the batch has no pairs"):
        contrast(fresh(), Batch(LOOKS[0]))
    with pytest.raises(UnknotError, match="one pair has no stranger"):
        contrast(fresh(), Batch(LOOKS[0][:1], pair=LOOKS[1][:1]))
