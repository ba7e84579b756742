import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.heads import RECIPES, find_recipe, train_head
from unknot.metrics.linear_head import fit_linear
from unknot.metrics.net import CHUNK, Adam, Net
from unknot.metrics.probes import linear_accuracy, mlp_accuracy

METRICS = [mlp_accuracy, linear_accuracy]


def batch(rows, n_inputs, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    x = np.ones((rows, n_inputs + 1), dtype=np.float32)
    x[:, :-1] = rng.normal(size=(rows, n_inputs))
    return x, rng.integers(0, n_classes, rows)


def cross_entropy(theta, net, x, y):
    """The loss in double precision, written from its definition."""
    w1, w2, b2 = net._views(theta)
    scores = np.maximum(x @ w1, 0) @ w2.T + b2 if w1.size else x @ w2.T
    return np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y])


def torch_twin(net, hidden):
    """A torch model with the same weights."""
    import torch

    first, *second = net.layers()
    layers = []
    for weights in (first, *second):
        layer = torch.nn.Linear(weights.shape[1] - 1, weights.shape[0])
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weights[:, :-1]))
            layer.bias.copy_(torch.tensor(weights[:, -1]))
        layers.append(layer)
    return torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1]) if hidden else layers[0]


@pytest.mark.parametrize("hidden", [0, 7])
@pytest.mark.parametrize("rows", [5, CHUNK + 300])
def test_the_gradient_is_that_of_finite_differences(hidden, rows):
    x, y = batch(rows, 3, 4)
    net = Net(3, 4, hidden, np.random.default_rng(1), rows)
    net.backward(x, y)
    theta = net.theta.astype(np.float64)
    numeric = np.empty_like(theta)
    for i in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        difference = cross_entropy(up, net, x.astype(float), y) - cross_entropy(down, net, x.astype(float), y)
        numeric[i] = difference / 2e-6
    assert np.abs(numeric).max() > 0.05
    np.testing.assert_allclose(net.grad, numeric, atol=2e-6)


@pytest.mark.parametrize("hidden", [0, 32])
def test_training_follows_torch_step_for_step(hidden):
    torch = pytest.importorskip("torch")
    net = Net(6, 5, hidden, np.random.default_rng(0), 2 * CHUNK)
    model = torch_twin(net, hidden)
    theirs = torch.optim.Adam(model.parameters(), lr=0.01)
    ours = Adam(net.theta.size)
    for step in range(25):
        x, y = batch(CHUNK + 200 * (step % 3), 6, 5, seed=step)
        theirs.param_groups[0]["lr"] = rate = 0.01 * 0.65 ** (step // 5)
        loss = torch.nn.functional.cross_entropy(model(torch.tensor(x[:, :-1])), torch.tensor(y))
        theirs.zero_grad()
        loss.backward()
        theirs.step()
        hits = net.backward(x, y)
        ours.step(net.theta, net.grad, rate)
        assert 0 < hits < len(x)
        expected = torch_twin_weights(model, hidden)
        for mine, other in zip(net.layers(), expected, strict=True):
            np.testing.assert_allclose(mine, other, atol=2e-5)


def torch_twin_weights(model, hidden):
    layers = [model[0], model[2]] if hidden else [model]
    return [np.hstack([x.weight.detach().numpy(), x.bias.detach().numpy()[:, None]]) for x in layers]


def test_first_weights_are_drawn_as_torch_draws_them():
    torch = pytest.importorskip("torch")
    ours = Net(10, 40, 256, np.random.default_rng(0), 8).layers()
    for mine, (n_in, n_out) in zip(ours, [(10, 256), (256, 40)], strict=True):
        theirs = torch.nn.Linear(n_in, n_out)
        bound = 1 / np.sqrt(n_in)
        assert theirs.weight.abs().max() <= bound and np.abs(mine).max() <= bound
        assert mine[:, :-1].std() == pytest.approx(theirs.weight.std().item(), rel=0.05)
        assert mine[:, -1].std() == pytest.approx(bound / np.sqrt(3), rel=0.3)


def test_hits_are_the_rows_whose_class_scores_highest():
    x, y = batch(3000, 4, 3)
    net = Net(4, 3, 16, np.random.default_rng(0), 100)
    first, second = net.layers()
    hidden = np.maximum(x @ first.T, 0)
    expected = int(np.sum((hidden @ second[:, :-1].T + second[:, -1]).argmax(axis=1) == y))
    assert net.hits(x, y) == expected
    assert Net(4, 3, 16, np.random.default_rng(0), 3000).backward(x, y) == expected


def test_the_published_schedule_multiplies_the_rate_before_epochs_that_are_powers_of_two(monkeypatch):
    rates = []
    monkeypatch.setattr(Adam, "step", lambda self, theta, grad, rate: rates.append(rate))
    z = np.random.default_rng(0).normal(size=(50, 2))
    train_head(z, np.arange(50) % 2, 2, RECIPES["paper"], np.random.default_rng(0))
    decays = [i for i in range(1, 75) if rates[i] != rates[i - 1]]
    assert len(rates) == 75 and decays == [1, 2, 4, 8, 16, 32, 64]
    assert rates[-1] == pytest.approx(0.01 * 0.65**7)


def test_the_converged_schedule_runs_along_a_cosine_for_at_least_3000_steps(monkeypatch):
    rates = []
    monkeypatch.setattr(Adam, "step", lambda self, theta, grad, rate: rates.append(rate))
    z = np.random.default_rng(0).normal(size=(500, 2))
    train_head(z, np.arange(500) % 2, 2, RECIPES["converged"], np.random.default_rng(0))
    assert len(rates) == 3000
    np.testing.assert_allclose(np.array(rates)[[0, 1500]], [0.02, 0.01])
    assert rates[-1] < 1e-7


@pytest.mark.parametrize("case", ["sncnk", "m1"])
def test_the_paper_recipe_gives_the_published_codes_accuracy(golden, case):
    arrays, values = golden(case)
    score = mlp_accuracy(**arrays, recipe="paper")
    assert score.value == pytest.approx(values["snk_mlp_acc"], abs=0.02)


def test_the_paper_recipe_gives_the_published_codes_linear_accuracy(golden):
    arrays, values = golden("sncnk")
    score = linear_accuracy(**arrays, recipe="paper", restarts=3)
    assert score.value == pytest.approx(values["snk_linear_acc"], abs=0.02)


def test_the_converged_recipe_reads_far_more_from_real_latents(golden):
    arrays, _ = golden("sncnk")
    one = {name: array[:, :1] if name.startswith("factors") else array for name, array in arrays.items()}
    assert mlp_accuracy(**one).value > 0.97  # the published schedule gets 0.53
    assert linear_accuracy(**one).value > 0.6  # and 0.12


def test_exclusive_or_needs_the_hidden_layer():
    z = np.random.default_rng(0).choice([-1.0, 1.0], size=(900, 3))
    y = (z[:, :1] * z[:, 1:2] > 0).astype(int)
    assert mlp_accuracy(z, y).value == 1.0
    assert linear_accuracy(z, y).value < 0.6


def test_an_ordinal_code_is_linear():
    y = np.random.default_rng(0).integers(0, [10, 4], size=(3000, 2))
    assert linear_accuracy(y * 1.0, y).value > 0.99


@pytest.mark.parametrize("penalty", [1.0, 1e-3])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_linear_head_is_the_logistic_regression_of_scikit_learn(penalty, n_classes):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 5000)
    z = rng.normal(size=(n_classes, 3))[y] + rng.normal(size=(5000, 3)) * [1.0, 2.0, 0.5]
    head, converged = fit_linear(z, y, n_classes, penalty=penalty)
    x = (z - z.mean(axis=0)) / z.std(axis=0)
    theirs = LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=5000).fit(x, y)
    ours = head.logits(z)
    ours = np.exp(ours) / np.exp(ours).sum(axis=1, keepdims=True)
    # scikit-learn has one row of weights for two classes, so that the same function costs twice the penalty.
    assert converged
    np.testing.assert_allclose(ours, theirs.predict_proba(x), atol=1e-3)
    np.testing.assert_array_equal(head.predict(z) == y, ours.argmax(axis=1) == y)


def test_whitening_does_not_move_the_optimum_of_correlated_latents():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    z = (rng.normal(size=(4, 5))[y] + rng.normal(size=(3000, 5))) @ rng.normal(size=(5, 5))
    plain, _ = fit_linear(z, y, 4, penalty=1e-3)
    white, _ = fit_linear(z, y, 4, penalty=1e-3, whiten=True)
    difference = plain.logits(z) - white.logits(z)
    np.testing.assert_allclose(difference - difference.mean(axis=1, keepdims=True), 0, atol=0.01)


@pytest.mark.parametrize("metric", METRICS)
def test_probes_of_noise_are_at_chance(metric):
    rng = np.random.default_rng(0)
    y = (rng.random((3000, 1)) < 0.2).astype(int)
    score = metric(rng.normal(size=(3000, 4)), y)
    assert score.value == pytest.approx(0.8, abs=0.04), "as often right as the most common class"
    assert score.parts["adjusted"] == pytest.approx((score.value - 0.68) / 0.32, abs=0.06)


@pytest.mark.parametrize("metric", METRICS)
def test_test_values_unseen_in_training_are_errors(metric):
    y = np.tile(np.arange(2), 60)[:, None]
    test = np.array([[0], [1], [7], [7]])
    score = metric(y * 1.0, y, latents_test=test * 1.0, factors_test=test)
    assert score.value == 0.5


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_same_seed_gives_the_same_score(metric, recipe):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=(200, 1))
    z = y + rng.normal(size=(200, 2))
    first = metric(z, y, recipe=recipe, rng=3)
    assert metric(z, y, recipe=recipe, rng=3).value == first.value
    assert metric(z, y, recipe=recipe, rng=np.random.default_rng(3)).parts["n_test_rows"] == 66


def test_restarts_are_averaged_and_their_spread_is_told():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=(400, 1))
    z = y + rng.normal(size=(400, 2))
    score = mlp_accuracy(z, y, restarts=2, recipe="paper")
    assert mlp_accuracy(z, y, recipe="paper").parts["sd_over_restarts"].tolist() == [0.0]
    assert score.parts["sd_over_restarts"].shape == (1,)
    assert 0.4 < score.value < 0.9


def test_many_latents_train_as_well_as_few():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(1500, 1))
    wide = y @ rng.normal(size=(1, 200)) + rng.normal(size=(1500, 200))
    assert mlp_accuracy(wide, y).value > 0.97


@pytest.mark.parametrize("metric", METRICS)
def test_wrong_options_are_refused(metric):
    y = np.tile(np.arange(2), 10)[:, None]
    with pytest.raises(UnknotError, match="did you mean 'paper'"):
        metric(y * 1.0, y, recipe="papers")
    with pytest.raises(UnknotError, match="restarts is 0"):
        metric(y * 1.0, y, restarts=0)
    with pytest.raises(UnknotError, match="unknown chance"):
        metric(y * 1.0, y, chance="luck")


def test_latents_beyond_single_precision_are_refused_where_they_are_not_scaled():
    y = np.tile(np.arange(2), 30)[:, None]
    assert mlp_accuracy(y * 1e100, y).value == 1.0
    with pytest.raises(UnknotError, match="single precision"):
        mlp_accuracy(y * 1e100, y, recipe="paper")


def test_recipes_are_found_by_name():
    assert find_recipe("paper").batch == 4096
