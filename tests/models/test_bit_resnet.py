"""The ResNets of Big Transfer, and published weights read from files."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.models import build
from unknot.models._bit_network import BiTNetwork, StandardisedConv, npz_names
from unknot.models._pretrained import fill
from unknot.models.model import Setting
from unknot.models.torchvision import import_timm
from unknot.runs.spec import RunSpec
from unknot.runs.training import load_model, train
from unknot.worlds import open_world

FACTORS = space({f"f{i}": 3 for i in range(7)})
HEAD = 21  # classes of the classifier in the files made here; 21,843 in the published ones


def setting(channels=3, pixels=32):
    return Setting(channels=channels, pixels=pixels, factors=FACTORS)


def narrow(name="bit_resnet50", **options):
    return build(name, setting(), {"width": 0.5, **options})[0]


def drawn(network, seed=0):
    """Random values for every tensor of a network, by its own names."""
    rng = np.random.default_rng(seed)
    return {
        name: torch.from_numpy(rng.normal(size=value.shape).astype(np.float32))
        for name, value in network.state_dict().items()
    }


def write_npz(path, network, tensors):
    """A file as published: other names, channels last, and a classifier."""
    names = npz_names(network)
    arrays = {
        names[name]: (value.permute(2, 3, 1, 0) if value.dim() == 4 else value).numpy()
        for name, value in tensors.items()
    }
    arrays["resnet/head/conv2d/kernel"] = np.zeros((1, 1, network.width, HEAD), np.float32)
    arrays["resnet/head/conv2d/bias"] = np.zeros(HEAD, np.float32)
    np.savez(path, **arrays)
    return str(path)


@pytest.mark.parametrize(("name", "weights"), [("bit_resnet50", 23_514_695), ("bit_resnet101", 381_832_903)])
def test_the_number_of_weights(name, weights):
    with torch.device("meta"):  # the larger one takes 1.5 GB
        model, _ = build(name, setting(pixels=64), {})
    assert sum(parameter.numel() for parameter in model.parameters()) == weights


def test_the_published_file_has_153_arrays_whose_names_are_known():
    with torch.device("meta"):
        names = set(npz_names(BiTNetwork(3, (3, 4, 6, 3), 1.0)).values())
    assert len(names) + 2 == 153  # and the classifier
    assert {
        "resnet/root_block/standardized_conv2d/kernel",
        "resnet/block1/unit01/a/proj/standardized_conv2d/kernel",
        "resnet/block1/unit01/a/group_norm/gamma",
        "resnet/block3/unit06/b/standardized_conv2d/kernel",
        "resnet/block4/unit03/c/group_norm/beta",
        "resnet/group_norm/gamma",
    } <= names


@torch.no_grad()
def test_filters_are_standardised_each_by_itself():
    torch.manual_seed(0)
    layer, x = StandardisedConv(3, 4, 3, padding=1, bias=False), torch.rand(2, 3, 8, 8)
    flat = layer.weight.flatten(1)
    by_hand = (flat - flat.mean(1, keepdim=True)) / flat.std(1, correction=0, keepdim=True)
    expected = functional.conv2d(x, by_hand.view_as(layer.weight), padding=1)
    torch.testing.assert_close(layer(x), expected, rtol=1e-4, atol=1e-5)
    layer.weight.mul_(3).add_(0.5)  # neither scale nor mean of a filter matters
    torch.testing.assert_close(layer(x), expected, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_it_is_the_network_of_timm():
    timm = import_timm()
    theirs = timm.create_model("resnetv2_50x1_bit", num_classes=10).eval()
    ours = BiTNetwork(3, (3, 4, 6, 3), 1.0).eval()
    fill(ours, theirs.state_dict(), model="bit_resnet50", weights="timm", names={}, heads=("head.",))
    x = 2 * torch.rand(2, 3, 64, 64) - 1
    units = theirs.forward_head(theirs.forward_features(x), pre_logits=True).flatten(1)
    torch.testing.assert_close(ours(x), units, rtol=1e-3, atol=1e-4)
    published = set(timm.list_pretrained("resnetv2*bit*"))
    assert {
        "resnetv2_50x1_bit.goog_in21k",
        "resnetv2_101x1_bit.goog_in21k",
        "resnetv2_101x3_bit.goog_in21k",
    } <= published


@torch.no_grad()
def test_grey_images_are_repeated_and_pixels_go_from_minus_one_to_one():
    model, _ = build("bit_resnet50", setting(channels=1), {"width": 0.5})
    grey = torch.rand(2, 1, 32, 32)
    seen = model.body[0](grey)
    torch.testing.assert_close(seen, (2 * grey - 1).expand(-1, 3, -1, -1))
    assert model.body[1].stem.conv.weight.shape[1] == 3


@torch.no_grad()
@pytest.mark.parametrize("kind", ["npz", "safetensors", "pth"])
def test_weights_come_from_a_file_and_leave_the_outputs_alone(kind, tmp_path):
    path = str(tmp_path / f"weights.{kind}")
    model = narrow(weights=path)
    network, head = model.body[1], model.head.weight.clone()
    tensors = drawn(network)
    if kind == "npz":
        write_npz(path, network, tensors)
    elif kind == "safetensors":
        from safetensors.torch import save_file

        save_file({**tensors, "head.fc.weight": torch.zeros(HEAD, network.width, 1, 1)}, path)
    else:
        torch.save({"state_dict": tensors}, path)
    said = model.load_pretrained()
    assert len(said) == 12
    assert all(torch.equal(value, tensors[name]) for name, value in network.state_dict().items())
    assert torch.equal(model.head.weight, head)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda arrays: arrays.pop("resnet/block2/unit03/b/group_norm/gamma"),
            "the first tensor that differs is resnet/block2/unit03/b/group_norm/gamma, which is not in the file; "
            "expected 64",
        ),
        (
            lambda arrays: arrays.update({"resnet/block1/unit02/a/group_norm/beta": np.zeros(7)}),
            "the first tensor that differs is resnet/block1/unit02/a/group_norm/beta, which has shape 7; expected 128",
        ),
        (
            lambda arrays: arrays.update({"resnet/block3/unit07/a/group_norm/beta": np.zeros(512)}),
            r"the tensor resnet/block3/unit07/a/group_norm/beta \(512\) has no place in it",
        ),
    ],
)
def test_a_file_of_another_architecture_is_named_with_its_first_strange_tensor(change, told, tmp_path):
    path = tmp_path / "other.npz"
    model = narrow(weights=str(path))
    write_npz(path, model.body[1], drawn(model.body[1]))
    arrays = dict(np.load(path))
    change(arrays)
    np.savez(path, **arrays)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(UnknotError, match=f"does not fit bit_resnet50: {told}"):
        model.load_pretrained()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_the_deeper_network_s_file_does_not_fit_the_shallower_one(tmp_path):
    deep = narrow("bit_resnet101").body[1]
    path = write_npz(tmp_path / "deep.npz", deep, drawn(deep))
    with pytest.raises(UnknotError, match="resnet/block3/unit07"):
        narrow(weights=path).load_pretrained()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("none.npz", None, "there is no such file of weights"),
        ("bad.npz", b"no archive", "cannot be read as "),
        ("bad.safetensors", b"no tensors", "cannot be read as "),
        ("bad.pth", b"no pickle", "cannot be read as "),
    ],
)
def test_files_that_cannot_be_read_are_named(name, content, told, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UnknotError, match=told):
        narrow(weights=str(tmp_path / name)).load_pretrained()


def test_weights_are_a_file_or_timm_and_only_for_published_widths():
    with pytest.raises(UnknotError, match=r"weights is 'BiT-M-R50x1[.]ckpt'; expected a file"):
        narrow(weights="BiT-M-R50x1.ckpt")
    with pytest.raises(UnknotError, match="no weights of this width are published"):
        narrow(weights="timm").load_pretrained()
    with pytest.raises(UnknotError, match="not 4 channels"):
        build("bit_resnet50", setting(channels=4), {"weights": "timm"})
    assert narrow().load_pretrained() == ""


def test_a_run_starts_from_the_file_and_can_be_read_without_it(tmp_path):
    spec = RunSpec(
        world="dsprites_rendered",
        model="bit_resnet50",
        options={"width": 0.5, "weights": str(tmp_path / "start.npz")},
        image_size=32,
        steps=1,
        batch_size=2,
        lr=1e-9,
    )
    network = narrow().body[1]
    tensors = drawn(network)
    with pytest.raises(UnknotError, match="there is no such file"):
        train(spec, tmp_path / "runs")
    write_npz(tmp_path / "start.npz", network, tensors)
    run = train(spec, tmp_path / "runs")
    (tmp_path / "start.npz").rename(tmp_path / "moved.npz")
    trained = load_model(run, world=open_world(spec.world)).body[1].state_dict()
    assert all(torch.allclose(trained[name], value, atol=1e-6) for name, value in tensors.items())
    write_npz(tmp_path / "start.npz", network, drawn(network, seed=1))
    with pytest.raises(UnknotError, match="has changed since this run was started"):
        train(spec, tmp_path / "runs")


def test_weights_that_would_unfold_to_more_than_a_file_may_are_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "large.npz", a=np.zeros(1000))
    monkeypatch.setenv("UNKNOT_MAX_BYTES", "4KB")
    with pytest.raises(UnknotError, match=r"large\.npz: would take 8\.0 KB of memory"):
        narrow(weights=str(tmp_path / "large.npz")).load_pretrained()
