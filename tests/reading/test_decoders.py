"""Decoders by the published layouts of the files, and what is said of files that are none."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

from unknot.errors import UnknotError
from unknot.reading.decoders import read_decoder

DECODER = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)


def _sae_lens(folder: Path, **settings: object) -> Path:
    arrays = {"W_dec": DECODER, "W_enc": DECODER.T.copy(), "b_dec": np.zeros(5, np.float32)}
    save_file({**arrays, "b_enc": np.zeros(12, np.float32)}, folder / "sae_weights.safetensors")
    (folder / "cfg.json").write_text(json.dumps({"d_in": 5, "d_sae": 12, "architecture": "standard", **settings}))
    return folder


def _dictionary_learning(folder: Path, **trainer: object) -> Path:
    weight = torch.from_numpy(DECODER)
    state = {"bias": torch.zeros(5), "encoder.weight": weight, "encoder.bias": torch.zeros(12)}
    torch.save({**state, "decoder.weight": weight.T}, folder / "ae.pt")
    settings = {"trainer": {"dict_class": "AutoEncoder", "activation_dim": 5, "dict_size": 12, **trainer}}
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


def test_a_folder_of_sae_lens_and_its_file_are_one(tmp_path: Path) -> None:
    folder = _sae_lens(tmp_path)
    np.testing.assert_array_equal(read_decoder(folder), DECODER)
    np.testing.assert_array_equal(read_decoder(folder / "sae_weights.safetensors"), DECODER)


def test_dictionary_learning_has_the_decoder_the_other_way_round(tmp_path: Path) -> None:
    np.testing.assert_array_equal(read_decoder(_dictionary_learning(tmp_path)), DECODER)


def test_what_has_one_array_called_w_dec_is_read_from_any_file(tmp_path: Path) -> None:
    torch.save({"W_dec": torch.from_numpy(DECODER), "threshold": torch.zeros(12)}, tmp_path / "jump.pt")
    np.savez(tmp_path / "params.npz", W_dec=DECODER, W_enc=DECODER.T)
    np.save(tmp_path / "plain.npy", DECODER)
    for name in ("jump.pt", "params.npz", "plain.npy"):
        np.testing.assert_array_equal(read_decoder(tmp_path / name), DECODER)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_half_precision_is_read_as_it_is(tmp_path: Path, kind: torch.dtype) -> None:
    half = torch.from_numpy(DECODER).to(kind)
    save_torch({"b_dec": torch.zeros(5, dtype=kind), "W_dec": half}, tmp_path / "sae.safetensors")
    np.testing.assert_array_equal(read_decoder(tmp_path / "sae.safetensors"), half.float().numpy())


def test_a_transcoder_decodes_to_another_width_than_it_encodes(tmp_path: Path) -> None:
    save_file({"W_dec": DECODER, "W_enc": np.zeros((7, 12), np.float32)}, tmp_path / "sae_weights.safetensors")
    (tmp_path / "cfg.json").write_text(json.dumps({"d_in": 7, "d_out": 5, "d_sae": 12}))
    assert read_decoder(tmp_path).shape == (12, 5)


class _Anything:
    """What a pickle may hold."""


def _bad_files(folder: Path) -> dict[str, str]:
    """File -> what is said of it."""
    save_file({"weight": DECODER}, folder / "other.safetensors")
    save_file({"W_dec": DECODER, "W_enc": np.zeros((5, 9), np.float32)}, folder / "mixed.safetensors")
    save_file({"W_dec": DECODER[None]}, folder / "layers.safetensors")
    save_file({"W_dec": np.full((3, 2), np.nan, np.float32)}, folder / "nan.safetensors")
    (folder / "cut.safetensors").write_bytes((folder / "other.safetensors").read_bytes()[:40])
    (folder / "pickle.pt").write_bytes(pickle.dumps({"decoder.weight": _Anything()}))
    torch.save([1, 2], folder / "list.pt")
    torch.save({"decoder.weight": torch.zeros(3, 4)}, folder / "whole.pt")
    (folder / "cut.pt").write_bytes((folder / "whole.pt").read_bytes()[:200])
    np.savez(folder / "empty.npz", other=DECODER)
    np.save(folder / "objects.npy", np.array([{}], dtype=object))
    (folder / "sae.onnx").write_bytes(b"")
    (folder / "bare").mkdir()
    return {
        "other.safetensors": "holds no decoder; expected W_dec or decoder.weight, and there are weight",
        "mixed.safetensors": "expected both to be of the same latents",
        "layers.safetensors": "expected two axes",
        "nan.safetensors": "NaN or infinite entries, first those of latent 0",
        "cut.safetensors": "cannot be read as a safetensors file",
        "pickle.pt": "only tensors are read",
        "list.pt": "holds a list; expected a state_dict",
        "cut.pt": "cannot be read as a file of tensors",
        "empty.npz": "holds no decoder",
        "objects.npy": "pickled array",
        "sae.onnx": "is no decoder; expected .safetensors",
        "bare": "a folder without a decoder",
        "nowhere.pt": "no such file",
    }


def test_what_is_no_decoder_is_refused_by_its_name(tmp_path: Path) -> None:
    for name, words in _bad_files(tmp_path).items():
        with pytest.raises(UnknotError, match=words) as refused:
            read_decoder(tmp_path / name)
        assert str(tmp_path / name) in str(refused.value)


def test_settings_of_another_autoencoder_are_noticed(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"12 latents and width 5, but cfg.json beside it says latents 24"):
        read_decoder(_sae_lens(tmp_path, d_sae=24))
    (tmp_path / "cfg.json").unlink()
    (tmp_path / "sae_weights.safetensors").unlink()
    with pytest.raises(UnknotError, match=r"config.json beside it says width 6"):
        read_decoder(_dictionary_learning(tmp_path, activation_dim=6))


@pytest.mark.parametrize(
    "tensor", [torch.ones(3, 2).to_sparse(), torch.ones(3, 2) * 1j, torch.ones(3, 2, device="meta")]
)
def test_a_tensor_that_is_no_plain_numbers_is_refused(tmp_path: Path, tensor: torch.Tensor) -> None:
    torch.save({"W_dec": tensor}, tmp_path / "ae.pt")
    with pytest.raises(UnknotError, match=r"ae\.pt: cannot be read as a file of tensors \(W_dec is of type"):
        read_decoder(tmp_path / "ae.pt")


def test_parameters_are_read_as_they_are(tmp_path: Path) -> None:
    torch.save({"W_dec": torch.nn.Parameter(torch.from_numpy(DECODER))}, tmp_path / "ae.pt")
    np.testing.assert_array_equal(read_decoder(tmp_path / "ae.pt"), DECODER)


def test_one_number_that_stands_for_terabytes_is_refused_before_they_are_made(tmp_path: Path) -> None:
    torch.save({"W_dec": torch.ones(1, 1).expand(10**6, 10**6)}, tmp_path / "ae.pt")
    with pytest.raises(UnknotError, match=r"ae\.pt: would take 4\.0 TB of memory"):
        read_decoder(tmp_path / "ae.pt")


def test_an_encoder_that_is_one_number_says_nothing_of_the_decoder(tmp_path: Path) -> None:
    np.savez(tmp_path / "ae.npz", W_dec=DECODER, W_enc=np.array(5.0))
    with pytest.raises(UnknotError, match=r"W_enc \(\); expected both"):
        read_decoder(tmp_path / "ae.npz")
