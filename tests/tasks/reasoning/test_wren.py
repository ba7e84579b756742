"""WReN: shared pairs give the scores and gradients of the formula as it is written."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.tasks.reasoning.options import WReNSetting
from unknot.tasks.reasoning.wren import Paired, PanelCNN, Pooled, WReN, initialise


def _naive(model: WReN, context: Tensor, answers: Tensor) -> Tensor:
    """Score by score: the sum of g over all 81 pairs of the context and one candidate, each with its place."""
    scores = []
    for candidate in range(answers.shape[1]):
        panels = torch.cat([context, answers[:, candidate : candidate + 1]], dim=1)
        places = torch.eye(9, dtype=panels.dtype).expand(len(panels), 9, 9)
        tagged = torch.cat([panels, places], dim=2)
        total = torch.zeros(len(panels), model.setting.g_width, dtype=panels.dtype)
        for i in range(9):
            for j in range(9):
                hidden = torch.cat([tagged[:, i], tagged[:, j]], dim=1)
                for layer in (model.first, *model.g):
                    hidden = functional.relu(layer(hidden))
                total = total + hidden
        if model.setting.norm:  # (x - mean) / deviation
            total = (total - total.mean(1, keepdim=True)) / (
                total.var(1, unbiased=False, keepdim=True) + 1e-5
            ).sqrt()
            total = total * model.norm.weight + model.norm.bias
        for layer in model.f:
            total = functional.relu(layer(total))
        scores.append(model.score(total)[:, 0])
    return torch.stack(scores, dim=1)


def _case(depth: int, dtype: torch.dtype = torch.float64, *, norm: bool = True) -> tuple[WReN, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(depth)
    setting = WReNSetting(g_width=12, g_depth=depth, f_width=7, f_depth=depth - 1, norm=norm)
    model = WReN(5, setting).to(dtype)
    initialise(model, generator)
    for parameter in model.parameters():  # biases of nothing would hide mistakes
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=dtype)
    context = torch.randn(3, 8, 5, generator=generator, dtype=dtype, requires_grad=True)
    answers = torch.randn(3, 6, 5, generator=generator, dtype=dtype, requires_grad=True)
    return model, context, answers


@pytest.mark.parametrize("norm", (True, False))
@pytest.mark.parametrize("depth", (2, 3, 4))
def test_shared_pairs_score_as_all_pairs_do(depth: int, norm: bool) -> None:
    model, context, answers = _case(depth, norm=norm)
    torch.testing.assert_close(model(context, answers), _naive(model, context, answers), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", (True, False))
@pytest.mark.parametrize("depth", (2, 3, 4))
def test_shared_pairs_have_the_gradients_of_all_pairs(depth: int, norm: bool) -> None:
    model, context, answers = _case(depth, norm=norm)
    wanted = [context, answers, *model.parameters()]
    weights = torch.randn(3, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ours = torch.autograd.grad((model(context, answers) * weights).sum(), wanted)
    theirs = torch.autograd.grad((_naive(model, context, answers) * weights).sum(), wanted)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_in_float32_the_two_differ_by_rounding_alone() -> None:
    model, context, answers = _case(3, torch.float32)
    difference = (model(context, answers) - _naive(model, context, answers)).abs().max()
    assert 0 <= difference < 1e-4 * _naive(model, context, answers).abs().max()


def test_the_gradients_written_by_hand_are_those_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    left, right = (
        torch.randn(2, 14, 3, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(2)
    )
    assert torch.autograd.gradcheck(Paired.apply, (left, right))
    rows = torch.randn(2, 166, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    # A copy, because rows are rectified in place.
    assert torch.autograd.gradcheck(lambda x: Pooled.apply(x * 1), (rows,))


def test_bfloat16_scores_are_near_those_of_float32() -> None:
    model, context, answers = _case(2, torch.float32)
    plain = model(context, answers)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = model(context, answers)
    assert (rough.float() - plain).abs().max() < 0.05 * plain.abs().max()


def test_scores_follow_the_candidates_and_depend_on_the_places_of_the_context() -> None:
    model, context, answers = _case(2)
    scores = model(context, answers)
    torch.testing.assert_close(model(context, answers.flip(1)), scores.flip(1))
    assert not torch.allclose(model(context.flip(1), answers), scores)


def test_without_places_rows_could_not_be_told_apart() -> None:
    model, context, answers = _case(2)
    with torch.no_grad():
        model.first.weight[:, 5:14] = 0
        model.first.weight[:, 19:28] = 0
    torch.testing.assert_close(model(context.flip(1), answers), model(context, answers))


def test_dropout_drops_its_share_in_training_only() -> None:
    model = WReN(5, WReNSetting(g_width=8, f_width=4000, dropout=0.75))
    initialise(model, torch.Generator().manual_seed(0))
    seen: list[Tensor] = []
    model.score.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    context, answers = torch.randn(1, 8, 5), torch.randn(1, 6, 5)
    model.eval()
    model(context, answers)
    model.train()
    model(context, answers)
    on = seen[0] > 0
    assert (seen[1][on] == 0).float().mean() == pytest.approx(0.75, abs=0.03)


def test_weights_have_the_variance_of_lecun_and_no_tails() -> None:
    layer = torch.nn.Linear(400, 500)
    initialise(layer, torch.Generator().manual_seed(0))
    assert float(layer.weight.detach().std()) == pytest.approx(400**-0.5, rel=0.02)
    assert float(layer.weight.detach().abs().max()) <= 2.28 * 400**-0.5
    assert not layer.bias.any()


def test_the_cnn_turns_64_pixels_into_1024_numbers() -> None:
    cnn = PanelCNN((64, 64, 3))
    assert cnn.width == 1024 and cnn(torch.zeros(2, 14, 3, 64, 64)).shape == (2, 14, 1024)
    with pytest.raises(UnknotError, match="too small for four convolutions"):
        PanelCNN((8, 8, 1))
