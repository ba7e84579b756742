import math

import pytest
import torch

from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace
from unknot.models._parted import class_entropy, class_kl, expected_kl, gumbel_softmax, overlaps
from unknot.models.model import Batch, Posterior, Setting
from unknot.models.networks import initialise
from unknot.models.parted_vae import PartedVAE, PartedVAESS

FACTORS = FactorSpace((Factor("scale", 6), Factor("shape", 3, "categorical"), Factor("colour", 4, "categorical")))
SMALL = Setting(pixels=32, latents=6, factors=FACTORS)
IMAGES = torch.rand(12, 1, 32, 32, generator=torch.Generator().manual_seed(0))
LABELS = torch.stack([torch.arange(12) % size for size in FACTORS.shape], 1)
BATCH = Batch(IMAGES, labelled=IMAGES, labelled_labels=LABELS)


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def fresh(cls: type, **options: object) -> torch.nn.Module:
    model = cls(SMALL, **options)
    initialise(model, "glorot", seeded(0))
    return model


def gaussians(means: list[float], logvars: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(means)[:, None], torch.tensor(logvars)[:, None]


def test_overlap_is_one_for_equal_gaussians_and_falls_with_distance():
    assert overlaps(gaussians([3, 3], [0.5, 0.5])).tolist() == pytest.approx([1])
    assert overlaps(gaussians([0, 2], [0, 0])).tolist() == pytest.approx([math.exp(-0.5)])  # 0.60653
    assert len(overlaps(gaussians([0, 1, 2, 3], [0] * 4))) == 6


def test_overlap_of_unequal_variances_is_the_integral():
    x = torch.linspace(-30, 30, 200_001, dtype=torch.float64)
    one, two = torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(1.5, 2.0)
    integral = torch.trapezoid((0.5 * (one.log_prob(x) + two.log_prob(x))).exp(), x).item()
    assert overlaps(gaussians([0, 1.5], [0, 2 * math.log(2)])).item() == pytest.approx(integral, abs=1e-5)


def test_expected_kl_is_zero_at_the_assigned_prior_and_weighs_classes_by_their_probability():
    prior = gaussians([1, -1], [0.3, -0.7])
    u = Posterior(torch.tensor([[1.0], [-1.0]]), torch.tensor([[0.3], [-0.7]]))
    certain = torch.eye(2).clamp_min(1e-30).log()
    assert expected_kl(u, certain, prior).item() == pytest.approx(0, abs=1e-6)
    unsure = torch.full((2, 2), 0.5).log()
    normal = [torch.distributions.Normal(m, math.exp(v / 2)) for m, v in ((1.0, 0.3), (-1.0, -0.7))]
    across = [torch.distributions.kl_divergence(normal[i], normal[1 - i]).item() for i in (0, 1)]
    assert expected_kl(u, unsure, prior).item() == pytest.approx(0.5 * sum(across) / 2, rel=1e-5)


def test_entropy_is_zero_when_certain_and_ln_3_when_not():
    assert class_entropy(torch.eye(3).clamp_min(1e-30).log()).item() == pytest.approx(0, abs=1e-6)
    assert class_entropy(torch.full((5, 3), 1 / 3).log()).item() == pytest.approx(math.log(3))


def test_class_kl_is_zero_when_classes_are_used_alike_and_ln_3_when_one_is():
    certain = torch.eye(3).clamp_min(1e-30).log()
    assert class_kl(certain).item() == pytest.approx(0, abs=1e-6)
    assert class_kl(certain[[0, 0]]).item() == pytest.approx(math.log(3))


def test_relaxed_classes_are_distributions_that_peak_as_often_as_the_class_is_likely():
    log_c = torch.tensor([[0.7, 0.2, 0.1]]).log().expand(20_000, 3)
    c = gumbel_softmax(log_c, seeded())
    torch.testing.assert_close(c.sum(1), torch.ones(20_000))
    shares = torch.bincount(c.argmax(1), minlength=3) / 20_000
    torch.testing.assert_close(shares, torch.tensor([0.7, 0.2, 0.1]), rtol=0, atol=0.02)


def test_priors_have_bounded_variances():
    model = fresh(PartedVAE)
    with torch.no_grad():
        model.priors[0].raw.weight.copy_(torch.tensor([[-100.0], [0.0], [100.0]]))
    assert model.priors[0]()[1].flatten().tolist() == [-3, -1, 1]


def test_terms_are_held_to_capacities_that_grow_with_the_step():
    model = fresh(PartedVAE, capacity_steps=100)
    start, end = (model.loss(BATCH, t, seeded()) for t in (0, 100))
    kl_z = start["capacity_z"].item() / 50
    assert 0 < kl_z < 30
    assert end["capacity_z"].item() == pytest.approx(50 * (30 - kl_z), rel=1e-4)


def test_the_pull_on_z_turns_round_at_its_capacity():
    model = fresh(PartedVAE, capacity_steps=100)
    weight = model.encoder.z_head.weight
    below, above = (torch.autograd.grad(model.loss(BATCH, t, seeded())["capacity_z"], weight)[0] for t in (100, 0))
    torch.testing.assert_close(below, -above)
    assert above.any()


def test_every_weight_is_moved_by_the_loss():
    model = fresh(PartedVAE, classes="shape,colour", most_overlap=0.0)
    loss = sum(model.loss(BATCH, 10, seeded()).values())
    for (name, _), gradient in zip(
        model.named_parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True
    ):
        assert gradient.any(), name


def test_u_of_one_class_variable_does_not_see_the_other():
    model = fresh(PartedVAE, classes="shape,colour")
    before = model.represent(IMAGES).mean
    with torch.no_grad():
        model.encoder.class_heads[1].bias += torch.tensor([0.0, 0.0, 0.0, 100.0])
    after = model.represent(IMAGES).mean
    assert torch.equal(before[:, :5], after[:, :5])
    assert not torch.equal(before[:, 5], after[:, 5])


def test_the_representation_is_z_then_u_without_noise_in_training_mode_too():
    model = fresh(PartedVAE).train()
    q = model.represent(IMAGES)
    assert q.mean.shape == q.logvar.shape == (12, 6)
    assert torch.equal(q.mean, model.represent(IMAGES).mean)
    assert model.encoder.z_head.out_features == 2 * 5


def test_classes_are_the_first_categorical_factor_or_what_is_named_or_counted():
    sizes = {text: [p.means.num_embeddings for p in fresh(PartedVAE, classes=text).priors] for text in CLASSES}
    assert sizes == CLASSES


CLASSES = {"": [3], "shape": [3], "scale": [6], "shape, colour": [3, 4], "5": [5], "2,colour": [2, 4]}


@pytest.mark.parametrize(
    ("cls", "options", "says"),
    [
        (PartedVAE, {"classes": "shapes"}, "did you mean 'shape'"),
        (PartedVAE, {"classes": "1"}, "at least two classes"),
        (PartedVAE, {"u_size": 6}, "at least one must be left"),
        (PartedVAE, {"u_size": 0}, "at least one latent"),
        (PartedVAE, {"gamma_h": -1.0}, "gamma_h is -1.0"),
        (PartedVAESS, {"classes": "3"}, "names of factors"),
        (PartedVAESS, {"n_labelled": 0}, "at least one label"),
    ],
)
def test_settings_that_make_no_sense_are_refused(cls, options, says):
    with pytest.raises(UnknotError, match=says):
        cls(SMALL, **options)


def test_a_world_without_categorical_factors_needs_to_be_told_its_classes():
    plain = Setting(pixels=32, factors=FactorSpace((Factor("x", 4), Factor("y", 4))))
    with pytest.raises(UnknotError, match="no categorical factor"):
        PartedVAE(plain)
    assert len(PartedVAE(plain, classes="4").priors) == 1


def test_the_labelled_step_comes_first_and_moves_only_the_trunk_and_the_class_heads():
    model = fresh(PartedVAESS)
    labels, unsupervised = model.players()
    assert (labels.name, unsupervised.loss) == ("labels", model.loss)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    moved = [parameter for module in labels.modules for parameter in module.parameters()]
    optimiser = torch.optim.Adam(moved, lr=1e-3)
    for parameter, gradient in zip(
        moved, torch.autograd.grad(sum(labels.loss(BATCH, 0, seeded()).values()), moved), strict=True
    ):
        parameter.grad = gradient
    optimiser.step()
    changed = {
        name.split(".")[1] for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])
    }
    assert changed == {"trunk", "class_heads"}


def test_the_cross_entropy_is_of_the_named_factors():
    model = fresh(PartedVAESS, classes="shape,colour")
    shape, colour = (each.exp() for each in model.class_log_probabilities(IMAGES))
    rows = torch.arange(12)
    expected = -(shape[rows, LABELS[:, 1]].log() + colour[rows, LABELS[:, 2]].log()).mean()
    torch.testing.assert_close(model.label_loss(BATCH, 0, seeded())["cross_entropy"], expected)


def test_classes_that_can_be_seen_are_learned_from_labels():
    images = torch.zeros(12, 1, 32, 32)
    for row, label in enumerate(LABELS[:, 1].tolist()):
        images[row, :, 10 * label : 10 * label + 8] = 1
    batch = Batch(images, labelled=images, labelled_labels=LABELS)
    model = fresh(PartedVAESS)
    (player, _) = model.players()
    optimiser = torch.optim.Adam([p for module in player.modules for p in module.parameters()], lr=1e-3)
    for step in range(40):
        optimiser.zero_grad()
        sum(model.label_loss(batch, step, seeded()).values()).backward()
        optimiser.step()
    assert torch.equal(model.class_log_probabilities(images)[0].argmax(1), LABELS[:, 1])


def test_without_labelled_images_the_step_says_so():
    with pytest.raises(UnknotError, match="no labelled images"):
        fresh(PartedVAESS).label_loss(Batch(IMAGES), 0, seeded())
