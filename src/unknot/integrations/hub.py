"""Scores for a model's page on the Hugging Face hub: `model_card(card, "me/my-model", "dsprites")`."""

from pathlib import Path
from typing import Any

from unknot.errors import UnknotError, must_have
from unknot.files import written_whole
from unknot.metrics import METRICS
from unknot.scoring.scorecard import Scorecard

TASK = "feature-extraction"


def model_card(card: Scorecard, model: str, dataset: str) -> str:
    """The text of a README with the scores as `model-index`, which the hub shows beside the model.

    Args:
        card: of the model's representation.
        model: its name.
        dataset: what was encoded.
    """
    from huggingface_hub import EvalResult, ModelCardData

    results = [
        EvalResult(
            task_type=TASK,
            dataset_type=dataset,
            dataset_name=dataset,
            metric_type=id_,
            metric_name=METRICS[card.records[id_].name].facts.title,
            metric_value=value,
        )
        for id_, value in _values(card).items()
    ]
    data = ModelCardData(model_name=model, eval_results=results, tags=["disentanglement", "unknot"])
    rows = [f"| {id_} | {value:.3f} |" for id_, value in _values(card).items()]
    table = "\n".join(["| metric | value |", "|---|---|", *rows])
    return f"---\n{data.to_yaml()}\n---\n\n# {model}\n\nScored with Unknot on {dataset}.\n\n{table}\n"


def write_eval_results(card: Scorecard, path: Path | str, dataset: str) -> Path:
    """Write `.eval_results/NAME.yaml` of a model's repository, an entry for each metric.

    Args:
        card: of the model's representation.
        path: of the file.
        dataset: its name on the hub.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries = [
        EvalResultEntry(dataset_id=dataset, task_id=id_, value=value) for id_, value in _values(card).items()
    ]
    with written_whole(path) as beside:
        beside.write_text(yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False), encoding="utf-8")
    return Path(path)


def _values(card: Any) -> dict[str, float]:
    must_have("unknot.integrations.hub", "huggingface_hub")
    if not isinstance(card, Scorecard) or not card.values():
        raise UnknotError(f"hub: expected a scorecard with at least one score, and was given {card!r:.80}.")
    return card.values()
