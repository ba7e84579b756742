from pathlib import Path

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

import unknot
from unknot.errors import UnknotError
from unknot.integrations.hub import model_card, write_eval_results


@pytest.fixture(scope="module")
def card() -> unknot.Scorecard:
    return unknot.score(*unknot.examples.toy_m1(), metrics=["mig", "sap"])


def test_the_hub_reads_the_scores_of_a_card(card: unknot.Scorecard, tmp_path: Path) -> None:
    parsed = ModelCard(model_card(card, "mine", "toy")).data
    assert parsed.model_name == "mine"
    assert {result.metric_type: result.metric_value for result in parsed.eval_results} == card.values()
    path = write_eval_results(card, tmp_path / ".eval_results" / "toy.yaml", "me/toy")
    entries = parse_eval_result_entries(yaml.safe_load(path.read_text()))
    assert {entry.task_id: entry.value for entry in entries} == card.values()


def test_no_card_is_refused() -> None:
    with pytest.raises(UnknotError, match="hub: expected a scorecard"):
        model_card({"mig": 1.0}, "mine", "toy")


def test_a_representation_goes_through_safetensors(tmp_path: Path) -> None:
    words = unknot.Representation(np.eye(3), [["a", 1], ["b", 2], ["a", 3]], ("word", "n"), source={"world": "w"})
    again = unknot.read_representation(words.write(tmp_path / "latents.safetensors"))
    np.testing.assert_array_equal(again.latents, words.latents)
    np.testing.assert_array_equal(again.factors, words.factors)
    assert (again.words, again.factor_names, again.source) == (words.words, words.factor_names, words.source)


def test_a_dataset_without_the_column_is_told_which_there_are() -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"embedding": [[0.0, 1.0], [1.0, 0.0]], "label": [0, 1]})
    with pytest.raises(UnknotError, match=r"unknown column of .* 'labels'; did you mean 'label'"):
        unknot.from_table(rows, latents="embedding", factors="labels")
    with pytest.raises(UnknotError, match=r"unknown column of table 'hidden'\. Known: embedding, label"):
        unknot.from_table(rows, latents="hidden", factors="label")


def test_streams_and_several_splits_are_refused_with_what_to_do() -> None:
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict({"z": [[0.1, 0.2], [0.3, 0.4]], "kind": ["a", "b"]})
    with pytest.raises(UnknotError, match=r"streamed, which has no rows .*\(list\(stream.take\(1000\)\)"):
        unknot.from_table(whole.to_iterable_dataset(), latents="z", factors="kind")
    with pytest.raises(UnknotError, match=r"several datasets, train, test; choose one: \['train'\]"):
        unknot.from_table(datasets.DatasetDict(train=whole, test=whole), latents="z", factors="kind")
