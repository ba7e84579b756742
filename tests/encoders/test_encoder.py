"""Encoders by name: functions, timm and Hugging Face networks. Nothing is fetched: weights are made here."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

import unknot
from unknot.cli import app
from unknot.encoders.encoder import as_path, find_encoder
from unknot.encoders.encoding import encode
from unknot.errors import UnknotError, UnknotWarning
from unknot.models.torchvision import import_timm, import_torchvision
from unknot.runs.run import Run
from unknot.worlds import ArrayWorld

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
GREY = np.random.default_rng(0).integers(0, 256, (6, 32, 32), dtype=np.uint8)
COLOR = np.random.default_rng(1).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of a small network with a classifier, as published ones have."""
    path = tmp_path_factory.mktemp("timm") / "weights.safetensors"
    with torch.random.fork_rng():
        torch.manual_seed(5)
        save_file(import_timm().create_model("resnet10t", num_classes=3).state_dict(), path)
    return path


@pytest.fixture(scope="module")
def vit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny vision transformer as a folder of transformers: 16 patches and a class token."""
    import_torchvision()  # transformers loads it too, and cannot make up for a pair that does not fit
    from transformers import ViTConfig, ViTModel

    folder = tmp_path_factory.mktemp("hf") / "vit"
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    with torch.random.fork_rng():
        torch.manual_seed(6)
        ViTModel(ViTConfig(image_size=32, patch_size=8, **size)).save_pretrained(folder)
    statistics = {"image_processor_type": "ViTImageProcessor", "image_mean": [0.5] * 3, "image_std": [0.25] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(statistics))
    return folder


def _latents(name: str, images: np.ndarray = GREY, **options: Any) -> np.ndarray:
    return encode(name, ArrayWorld(images, name="pictures"), **options).latents


def _source(name: str, images: np.ndarray = GREY, **options: Any) -> dict[str, Any]:
    return encode(name, ArrayWorld(images, name="pictures"), **options).source["encoder"]


def test_a_function_is_found_beside_the_place_the_command_is_run_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_encoder.py").write_text("def corner(images):\n    return images[:, 0, 0]\n")
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(_latents("own_encoder:corner"), GREY[:, 0, 0, None])
    assert _source("own_encoder:corner") == {"kind": "function", "name": "own_encoder:corner"}
    assert "" not in sys.path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("corner", "unknown encoder 'corner'; expected the folder of a run"),
        ("no_such_module:corner", "cannot be imported .*no_such_module"),
        ("numpy:no_such_function", "cannot be imported .*no_such_function"),
        ("numpy:", "unknown encoder 'numpy:'"),
        ("timm:resnet188", "unknown timm network 'resnet188'; did you mean 'resnet18'"),
        ("timm:resnet18.no_such_tag", "no weights of 'resnet18.no_such_tag' are published; .* resnet18.tv_in1k"),
        ("timm:resnet18@nowhere.safetensors", "no such file of weights"),
        ("hf:no/such/folder", "hf:no/such/folder: cannot be loaded"),
    ],
)
def test_a_wrong_name_is_explained(name: str, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        _latents(name)


class _LikeKeras(torch.nn.Module):
    """As a model of Keras whose weights are of torch."""

    def forward(self, images: np.ndarray) -> np.ndarray:
        assert images.dtype == np.uint8
        return images[:, 0, 0]


def test_a_model_of_keras_sees_images_as_they_are_though_its_weights_are_of_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_LikeKeras, "__module__", "keras.src.models.sequential")
    np.testing.assert_array_equal(find_encoder(_LikeKeras(), (32, 32, 1)).encode(GREY[..., None]), GREY[:, 0, :1])


def test_weights_without_a_network_are_no_encoder(tmp_path: Path) -> None:
    (tmp_path / "net.pth").touch()
    with pytest.raises(UnknotError, match=r"net\.pth: holds weights, which are no network; name a function"):
        unknot.encode(str(tmp_path / "net.pth"), "dsprites_rendered", rows=10)


def test_weights_that_are_not_there_and_folders_called_like_some_hold_none(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"missing\.pth: no such file or folder"):
        as_path("missing.pth")
    folder = tmp_path / "myrun.ckpt"
    shutil.copytree(Run("zoo:beta_vae_dsprites").folder, folder)
    assert as_path(str(folder)) == folder
    result = CliRunner().invoke(app, ["score", str(folder), "--metrics", "mig", "--json", "-"])
    assert result.exit_code == 0 and '"mig[' in result.stdout, result.output


def test_a_timm_network_gives_what_its_classifier_reads(resnet: Path) -> None:
    made = _latents(f"timm:resnet10t@{resnet}")
    network = import_timm().create_model("resnet10t", num_classes=3)
    network.load_state_dict(load_file(resnet))
    pixels = torch.from_numpy(GREY).float()[:, None].repeat(1, 3, 1, 1) / 255
    pixels = torch.stack([(pixels[:, c] - MEAN[c]) / STD[c] for c in range(3)], dim=1)
    with torch.no_grad():
        features = network.eval().forward_features(pixels)
    np.testing.assert_allclose(made, features.mean((2, 3)).numpy(), rtol=1e-3, atol=1e-5)


def test_what_a_network_was_given_and_how_it_was_pooled_is_recorded(resnet: Path) -> None:
    record = _source(f"timm:resnet10t@{resnet}", pool="slots", image_size=64)
    assert record["pool"] == "slots"
    assert record["title"] == f"timm:resnet10t@{resnet.name}"
    assert record["preprocessing"] == {"image_size": 64, "mean": list(MEAN), "std": list(STD), "grey": True}
    assert len(record["weights"]) == 32
    assert _source(f"timm:resnet10t@{resnet}", COLOR)["preprocessing"]["grey"] is False


def test_slots_are_the_positions_whose_mean_is_the_mean(resnet: Path) -> None:
    slots = _latents(f"timm:resnet10t@{resnet}", pool="slots", image_size=64)
    assert slots.shape == (6, 4, 512)
    np.testing.assert_allclose(
        slots.mean(1), _latents(f"timm:resnet10t@{resnet}", pool="mean", image_size=64), atol=1e-5
    )


def test_a_file_of_another_network_is_refused(resnet: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"does not fit resnet18 \(size mismatch for "):
        _latents(f"timm:resnet18@{resnet}")
    weights = load_file(resnet)
    less = {key: value for key, value in weights.items() if key != "layer4.0.conv1.weight"}
    save_file(less, tmp_path / "less.safetensors")
    with pytest.raises(
        UnknotError, match=r"1 weights are missing and 0 are strange to it, such as layer4\.0\.conv1"
    ):
        _latents(f"timm:resnet10t@{tmp_path / 'less.safetensors'}")
    save_file(weights | {"head.extra": torch.zeros(1)}, tmp_path / "more.safetensors")
    with pytest.raises(UnknotError, match=r"1 are strange to it, such as head\.extra"):
        _latents(f"timm:resnet10t@{tmp_path / 'more.safetensors'}")
    torch.save(weights, tmp_path / "weights.pth")
    with pytest.raises(UnknotError, match=r"is not a \.safetensors file"):
        _latents(f"timm:resnet10t@{tmp_path / 'weights.pth'}")


def test_an_untrained_network_is_the_same_every_time_and_draws_from_nobody() -> None:
    before = torch.random.get_rng_state()
    first, second = (_latents("timm:resnet10t@untrained") for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_network_that_takes_one_size_gets_it() -> None:
    name = "timm:vit_tiny_patch16_224@untrained"
    record = _source(name, GREY[:1], pool="class")
    assert record["preprocessing"]["image_size"] == 224
    with pytest.raises(UnknotError, match="takes images of 224 pixels alone, not 64"):
        _latents(name, image_size=64)


def test_a_network_without_a_class_token_says_so(resnet: Path) -> None:
    with pytest.raises(UnknotError, match="has no class token"):
        _latents(f"timm:resnet10t@{resnet}", pool="class")
    with pytest.raises(UnknotError, match="did you mean 'mean'"):
        _latents(f"timm:resnet10t@{resnet}", pool="means")


def test_images_with_two_channels_are_refused(resnet: Path) -> None:
    with pytest.raises(UnknotError, match="2 channels; expected 3, or 1"):
        _latents(f"timm:resnet10t@{resnet}", COLOR[..., :2])


def test_published_weights_that_cannot_be_fetched_are_asked_for_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    timm = import_timm()
    created = timm.create_model

    def offline(name: str, *, pretrained: bool, **options: Any) -> Any:
        if pretrained:
            raise OSError("no route to host")
        return created(name, pretrained=False, **options)

    monkeypatch.setattr(timm, "create_model", offline)
    with pytest.raises(UnknotError, match=r"could not be fetched .* timm:resnet10t@weights\.safetensors"):
        _latents("timm:resnet10t")


def test_a_folder_of_transformers_gives_the_mean_of_its_patches(vit: Path) -> None:
    from transformers import AutoModel

    pixels = (torch.from_numpy(COLOR).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.25
    with torch.no_grad():
        output = AutoModel.from_pretrained(vit)(pixel_values=pixels)
    tokens = output.last_hidden_state.numpy()
    assert tokens.shape == (6, 17, 16)
    np.testing.assert_allclose(_latents(f"hf:{vit}", COLOR), tokens[:, 1:].mean(1), atol=1e-5)
    np.testing.assert_allclose(_latents(f"hf:{vit}", COLOR, pool="class"), tokens[:, 0], atol=1e-5)
    np.testing.assert_allclose(_latents(f"hf:{vit}", COLOR, pool="slots"), tokens[:, 1:], atol=1e-5)
    np.testing.assert_allclose(_latents(f"hf:{vit}", COLOR, pool="own"), output.pooler_output.numpy(), atol=1e-5)
    assert _source(f"hf:{vit}", COLOR)["preprocessing"]["std"] == [0.25] * 3


def _without(folder: Path, target: Path, part: str) -> Path:
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    weights = {key: value for key, value in load_file(folder / "model.safetensors").items() if part not in key}
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    return target


def test_a_pooler_that_was_never_trained_is_not_read(vit: Path, tmp_path: Path) -> None:
    folder = _without(vit, tmp_path / "vit", "pooler")
    np.testing.assert_allclose(_latents(f"hf:{folder}"), _latents(f"hf:{vit}"))
    with pytest.raises(UnknotError, match=r"no weights for pooler.* use pool mean or class"):
        _latents(f"hf:{folder}", pool="own")


def test_a_checkpoint_with_holes_is_refused(vit: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"no weights for .*layernorm.* so it cannot be used"):
        _latents(f"hf:{_without(vit, tmp_path / 'vit', 'layernorm')}")


def test_a_checkpoint_that_does_not_say_how_to_scale_images_is_a_warning(vit: Path, tmp_path: Path) -> None:
    folder = _without(vit, tmp_path / "vit", "nothing of this name")
    (folder / "preprocessor_config.json").unlink()
    with pytest.warns(UnknotWarning, match=r"images are given in \[0, 1\]"):
        assert _source(f"hf:{folder}")["preprocessing"]["mean"] == [0.0] * 3


def test_an_image_size_that_does_not_fit_is_an_error_of_the_network(vit: Path) -> None:
    with pytest.raises(UnknotError, match=r"failed on images of shape \(6, 32, 32, 1\) .*64"):
        _latents(f"hf:{vit}", image_size=64)


@pytest.mark.parametrize(
    ("package", "name", "extra"), [("timm", "timm:resnet18", "timm"), ("transformers", "hf:x", "hf")]
)
def test_a_missing_extra_is_named(package: str, name: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnknotError, match=rf"pip install unknot\[{extra}\]"):
        find_encoder(name, (32, 32, 1))


def test_a_torch_module_is_read_in_evaluation_mode_and_left_as_it_was() -> None:
    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.drop = torch.nn.Dropout(0.9)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.drop(images[:, 0, 0, :3])

    network = Network().train()
    made = encode(network, ArrayWorld(GREY, name="pictures")).latents
    np.testing.assert_allclose(made, GREY[:, 0, :3] / 255, rtol=1e-6)
    assert network.training


def test_torchvision_is_imported_whatever_torch_it_was_built_for() -> None:
    code = "from unknot.models.torchvision import *; "
    code += "assert import_torchvision() is import_torchvision(); import_timm()"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["timm:test_resnet.r160_in1k", "hf:facebook/dinov2-small"])
def test_without_a_way_to_the_hub_one_error_comes_at_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("unknot.models.hub._reachable", lambda address: False)
    with pytest.raises(UnknotError, match=r"could not be fetched|cannot be loaded"):
        _latents(name)
    assert "Retrying" not in capfd.readouterr().err
    assert before == constants.HF_HUB_OFFLINE
