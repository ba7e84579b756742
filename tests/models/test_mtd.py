import math

import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.models.model import Batch, Posterior, Setting
from unknot.models.mtd import MTD
from unknot.models.networks import initialise

GRID = space({"shape": 3, "still": 1, "x": 4, "y": 5}, categorical=["shape"])
SMALL = Setting(pixels=32, latents=7, factors=GRID)
NOISE = torch.Generator().manual_seed(0)
LABELS = torch.stack([torch.randint(0, size, (40,), generator=NOISE) for size in GRID.shape], 1)
BATCH = Batch(torch.rand(40, 1, 32, 32, generator=NOISE), labels=LABELS)
SEEN = LABELS[:, [0, 2, 3]]


def fresh(setting: Setting = SMALL, **options: float) -> MTD:
    model = MTD(setting, **options)
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def prototypes(model: MTD, labels: torch.Tensor = SEEN) -> torch.Tensor:
    held = torch.cat([table.weight[labels[:, f]] for f, table in enumerate(model.tables)], 1)
    return torch.nn.functional.pad(held, (0, model.content)).detach()


def code(model: MTD) -> torch.Tensor:
    return torch.randn(40, sum(model.widths) + model.content, generator=torch.Generator().manual_seed(3))


def test_it_says_that_it_is_not_the_authors_model():
    for text in (MTD.__doc__.partition("\n")[0], MTD.presets["mahon2024"].source):
        assert "MTD-style reimplementation, not the authors' model" in text


def test_factors_that_vary_share_the_latents_as_evenly_as_can_be():
    assert fresh().widths == [3, 2, 2]
    model = fresh(content=2)
    assert model.widths == [2, 2, 1]
    assert [block.shape[1] for block in model.blocks(code(model))] == [2, 2, 1, 2]
    assert torch.equal(torch.cat(model.blocks(code(model)), 1), code(model))


def test_each_block_gets_gradient_from_the_labels_of_its_own_factor_alone():
    model = fresh(content=1)
    z = code(model).requires_grad_()
    for f, term in enumerate(model.label_terms(z, SEEN)):
        (gradient,) = torch.autograd.grad(term, z, retain_graph=True)
        touched = [bool(block.any()) for block in model.blocks(gradient)]
        assert touched == [g == f for g in range(4)]


def test_relabelling_one_factor_changes_its_own_term_alone():
    model, z = fresh(), code(fresh())
    other = SEEN.clone()
    other[:, 1] = (other[:, 1] + 1) % 4
    before, after = model.label_terms(z, SEEN), model.label_terms(z, other)
    assert (before != after).tolist() == [False, True, False]


def test_codes_midway_between_all_prototypes_cost_ln_n_values():
    model = fresh()
    with torch.no_grad():
        for table in model.tables:
            table.weight.fill_(0.5)
    expected = [math.log(3), math.log(4), math.log(5)]
    assert model.label_terms(code(model), SEEN).tolist() == pytest.approx(expected, rel=1e-5)


def test_label_logits_are_those_of_gaussians_of_variance_one():
    model, z = fresh(), code(fresh())
    normal = torch.distributions.MultivariateNormal
    for block, table, logits in zip(model.blocks(z), model.tables, model.value_logits(z), strict=True):
        width = block.shape[1]
        density = normal(table.weight, torch.eye(width)).log_prob(block[:, None, :])
        torch.testing.assert_close(density.softmax(1), logits.softmax(1))


def test_a_code_on_its_prototypes_has_no_residual():
    model = fresh(content=1)
    z = prototypes(model)
    z[:, -1] = 2.0
    rest = model.residuals(z, SEEN)
    assert not rest[:, :-1].any()
    assert (rest[:, -1] == 2).all()  # content has no prototype


def test_the_prototype_term_is_half_the_squared_residual():
    model = fresh(prototypes=3.0)
    z = model.represent(BATCH.images)
    expected = 3 * 0.5 * (z - prototypes(model)).pow(2).sum(1).mean().item()
    terms = model.loss(BATCH, 0, torch.Generator().manual_seed(1))
    assert terms["prototypes"].item() == pytest.approx(expected, rel=1e-5)


def explained(values: torch.Tensor, labels: torch.Tensor) -> float:
    """The share of the variance of values that labels explain, less what they would by chance; slowly."""
    groups = [values[labels == v] for v in labels.unique()]
    between = sum(len(group) / len(values) * (group.mean() - values.mean()) ** 2 for group in groups)
    return float(between - (len(groups) - 1) / (len(values) - 1) * values.var(correction=0))


def test_independence_measures_the_variance_that_other_labels_explain():
    model = fresh(content=1)
    z = prototypes(model)
    leak = torch.tensor([-1.0, 0.5, 2.0, 0.0])[SEEN[:, 1]]
    z[:, 0] += leak  # the block of shape tells x
    z[:, -1] = SEEN[:, 2]  # content tells y
    expected = sum(explained(leak, SEEN[:, g]) for g in (1, 2))
    expected += sum(explained(SEEN[:, 2].float(), SEEN[:, g]) for g in (0, 1, 2))
    assert model.independence_term(z, SEEN).item() == pytest.approx(expected, rel=1e-4)
    assert expected > 0.7 * (leak.var() + SEEN[:, 2].float().var())


def test_independence_is_zero_on_average_for_what_no_other_label_explains():
    model, noise = fresh(), torch.Generator().manual_seed(0)
    found, told = [], []
    for _ in range(300):
        labels = torch.stack([torch.randint(0, n, (40,), generator=noise) for n in (3, 4, 5)], 1)
        z = prototypes(model, labels) + torch.randn(40, 7, generator=noise)
        z[:, 0] += labels[:, 0]  # off its prototypes, by its own label
        found.append(model.independence_term(z, labels).item())
        z[:, 0] += labels[:, 1]
        told.append(model.independence_term(z, labels).item())
    assert sum(found) / 300 == pytest.approx(0, abs=0.1)
    assert sum(told) / 300 == pytest.approx(torch.arange(4.0).var(correction=0).item(), abs=0.25)


def test_independence_stays_at_zero_when_factors_are_correlated():
    model = fresh()
    together = torch.tensor([[0, 0, 0], [1, 1, 1], [2, 2, 2]]).repeat(5, 1)
    assert model.independence_term(prototypes(model, together), together).item() == pytest.approx(0, abs=1e-9)


class ToyEncoder(nn.Module):
    def forward(self, images: torch.Tensor) -> Posterior:
        return Posterior(images.flatten(1).logit())


class ToyDecoder(nn.Module):
    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        return latents[:, None, None, :]


def test_swapping_a_block_changes_the_prediction_of_its_factor_alone():
    model = fresh()
    model.encoder, model.decoder = ToyEncoder(), ToyDecoder()  # the code is read back from the image exactly
    z = prototypes(model)
    swapped = model.swapped(z, torch.Generator().manual_seed(0))
    read = model.represent(model.decode(swapped))
    predicted = torch.stack([logits.argmax(1) for logits in model.value_logits(read)], 1)
    changed = torch.stack(
        [(a != b).any(1) for a, b in zip(model.blocks(z), model.blocks(swapped), strict=True)], 1
    )
    assert torch.equal(predicted != SEEN, changed)
    assert set(changed.sum(1).tolist()) == {0, 1}  # 0 where the other image has the same value
    assert changed.any(0).all()
    assert model.swap_term(z, torch.Generator().manual_seed(0)).item() == pytest.approx(0, abs=1e-8)


def test_swapping_never_moves_content():
    model = fresh(content=3)
    z = code(model)
    swapped = model.swapped(z, torch.Generator().manual_seed(0))
    assert torch.equal(z[:, -3:], swapped[:, -3:])
    assert (z != swapped).any(1).all()


def test_terms_carry_their_weights_and_zero_weights_leave_an_autoencoder():
    def terms(**options):
        return {k: v.item() for k, v in fresh(**options).loss(BATCH, 0, torch.Generator().manual_seed(1)).items()}

    ones = terms(labels=1.0, prototypes=1.0, independence=1.0, swap=1.0)
    assert all(value != 0 for value in ones.values())
    for name in ("labels", "prototypes", "independence", "swap"):
        others = {other: 1.0 for other in ones if other not in (name, "reconstruction")}
        assert terms(**others, **{name: 5.0})[name] == pytest.approx(5 * ones[name], rel=1e-6)
    plain = terms(labels=0.0, prototypes=0.0, independence=0.0, swap=0.0)
    assert sum(plain.values()) == ones["reconstruction"]


def test_prototypes_are_drawn_from_the_seed():
    one, two = fresh(), fresh()
    assert torch.equal(one.tables[0].weight, two.tables[0].weight)
    assert one.tables[0].weight.any()


def test_mistakes_are_named():
    with pytest.raises(UnknotError, match="2 latents, 0 of them content, for 3 factors"):
        MTD(Setting(pixels=32, latents=2, factors=GRID))
    with pytest.raises(UnknotError, match="no factors"):
        MTD(Setting(pixels=32))
    with pytest.raises(UnknotError, match="swap is -1"):
        MTD(SMALL, swap=-1.0)
    with pytest.raises(UnknotError, match="mtd: the batch has no labels"):
        fresh().loss(Batch(BATCH.images), 0, torch.Generator())
