"""DenseNet-121, and published weights read from files."""

from pathlib import Path
from zipfile import ZipFile

import pytest
import torch
from safetensors.torch import save_file

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.models import build
from unknot.models._pretrained import fill
from unknot.models.densenet import PUBLISHED, DenseNetwork, renamed
from unknot.models.model import Setting
from unknot.models.torchvision import import_timm
from unknot.runs import meters, trainer
from unknot.runs.spec import RunSpec
from unknot.runs.training import load_model, train
from unknot.worlds import open_world

FACTORS = space({f"f{i}": 3 for i in range(7)})


def thin(**options):
    return build("densenet121", Setting(channels=3, pixels=32, factors=FACTORS), {"growth": 4, **options})[0]


def test_the_number_of_weights():
    model, _ = build("densenet121", Setting(channels=3, factors=FACTORS), {})
    assert sum(parameter.numel() for parameter in model.parameters()) == 6_961_031
    assert model.head.in_features == 1024


def test_tensors_have_the_names_of_torchvision():
    names = list(DenseNetwork(3, 32).state_dict())
    assert len(names) == 725  # 727 with the classifier
    assert {
        "features.conv0.weight",
        "features.norm0.running_mean",
        "features.denseblock1.denselayer1.norm1.weight",
        "features.denseblock3.denselayer24.conv2.weight",
        "features.transition3.conv.weight",
        "features.norm5.bias",
    } <= set(names)


@torch.no_grad()
def test_it_is_the_network_of_timm():
    timm = import_timm()
    theirs = timm.create_model("densenet121", num_classes=10).eval()
    ours = DenseNetwork(3, 32).eval()
    fill(ours, theirs.state_dict(), model="densenet121", weights="timm", names={}, heads=("classifier.",))
    x = torch.randn(2, 3, 64, 64)
    units = theirs.forward_head(theirs.forward_features(x), pre_logits=True)
    torch.testing.assert_close(ours(x), units, rtol=1e-3, atol=1e-4)
    assert PUBLISHED in timm.list_pretrained("densenet*")


@torch.no_grad()
@pytest.mark.parametrize("kind", ["safetensors", "pth", "old pth"])
def test_weights_come_from_a_file(kind, tmp_path):
    path = str(tmp_path / f"weights.{kind.split()[-1]}")
    model = thin(weights=path)
    network, head = model.body[1], model.head.weight.clone()
    torch.manual_seed(0)
    tensors = {
        name: torch.randn(value.shape) if value.is_floating_point() else torch.tensor(3)
        for name, value in network.state_dict().items()
    }
    file = {**tensors, "classifier.weight": torch.zeros(1000, network.width), "classifier.bias": torch.zeros(1000)}
    if kind == "safetensors":
        save_file(file, path)
    elif kind == "pth":
        torch.save(file, path)
    else:  # dots inside names, no counters
        old = {
            name.replace(".norm1.", ".norm.1.").replace(".conv2.", ".conv.2."): value
            for name, value in file.items()
            if not name.endswith("num_batches_tracked")
        }
        assert set(old) != set(file)
        torch.save(old, path)
    assert len(model.load_pretrained()) == 12
    for name, value in network.state_dict().items():
        assert torch.equal(value, tensors[name]) or (kind == "old pth" and name.endswith("num_batches_tracked"))
    assert torch.equal(model.head.weight, head)


def test_a_file_of_another_architecture_is_named_with_its_first_strange_tensor(tmp_path):
    path = str(tmp_path / "wide.pth")
    torch.save(DenseNetwork(3, 6).state_dict(), path)
    told = r"does not fit densenet121: .* features.denseblock1.denselayer1.conv1.weight, which has shape 24 x 64"
    with pytest.raises(UnknotError, match=told):
        thin(weights=path).load_pretrained()
    wrongs = [
        ([torch.zeros(2)], "a list"),
        ({"state_dict": [1, 2]}, "a list"),
        ({"state_dict": None}, "a NoneType"),
        ({"epoch": 3}, "no tensors"),
        ({"state_dict": {}}, "no tensors"),
        ({}, "no tensors"),
    ]
    for content, what in wrongs:
        torch.save(content, path)
        with pytest.raises(UnknotError, match=f"holds {what}; expected a state_dict, tensors by name"):
            thin(weights=path).load_pretrained()
    for text in ("hello world", "epoch,loss\n1,2\n", ""):
        Path(path).write_text(text)
        with pytest.raises(
            UnknotError, match=r"cannot be read as a file of weights \(torch.save writes none that"
        ):
            thin(weights=path).load_pretrained()
    with ZipFile(path, "w") as archive:  # as torch.jit.save writes them
        archive.writestr("network/constants.pkl", b"")
    with pytest.raises(UnknotError, match=r"wide\.pth: is a program of TorchScript, .* Keep tensors alone"):
        thin(weights=path).load_pretrained()
    save_file({}, tmp_path / "empty.safetensors")
    with pytest.raises(UnknotError, match="holds no tensors; expected a state_dict, tensors by name"):
        thin(weights=str(tmp_path / "empty.safetensors")).load_pretrained()
    with pytest.raises(UnknotError, match=r"weights is 'BiT\.npz'"):
        thin(weights="BiT.npz")


def test_names_of_old_files_are_told_from_new_ones():
    assert renamed("features.denseblock4.denselayer16.conv.2.weight").endswith("denselayer16.conv2.weight")
    assert renamed("features.transition1.norm.weight") == "features.transition1.norm.weight"


@torch.no_grad()
def test_read_in_evaluation_mode_an_image_does_not_depend_on_its_company():
    model = thin().eval()
    x = torch.rand(4, 3, 32, 32)
    torch.testing.assert_close(model.predict(x)[:1], model.predict(x[:1]), rtol=1e-4, atol=1e-5)


def test_a_run_stopped_half_way_has_the_running_statistics_of_one_that_was_not(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "LOG_EVERY", 2)
    monkeypatch.setattr(meters, "KL_IMAGES", 4)
    spec = RunSpec(
        world="dsprites_rendered", model="densenet121", options={"growth": 4}, image_size=32, steps=4, batch_size=4
    )

    def stop(stage: str, done: int, total: int, **facts: object) -> None:
        if done:
            raise KeyboardInterrupt

    world = open_world(spec.world)
    whole = load_model(train(spec, tmp_path / "whole"), world=world).state_dict()
    with pytest.raises(KeyboardInterrupt):
        train(spec, tmp_path / "halves", checkpoint_every=1, progress=stop)
    halves = load_model(train(spec, tmp_path / "halves"), world=world).state_dict()
    assert all(torch.equal(whole[name], halves[name]) for name in whole)
