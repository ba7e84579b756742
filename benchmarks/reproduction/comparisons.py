"""How often `unknot compare` sees a difference where there is none, and whether its gate sees a loss of 0.02.

Equal representations are two draws of the same noise about the same factors, 500 rows of each. For the gate, noise is
added to a code until a metric has lost 0.02, or its noise is drawn again; 10,000 rows. The votes of FactorVAE take
as long as all else together, so that every second pair is judged by it, with more noise: else all votes are right.

What is kept of a pair are its scores and those of parts of its rows: how differences are judged can change without
drawing them again. Seeds below FRESH were looked at while that was chosen, so that alarms are counted from there on.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reproduce import table, workers

from reproduction import pairing

PAIRS, GATES, RESAMPLES, ROWS = 2_000, 100, 60, 500
FRESH = 12_000  # first seed that is counted
SIZES = (3, 6, 8)
GATED, LOSS = ("mcc", "mig"), 0.02
VOTES, EVERY = "factor_vae_score", 2
WAY = "orders"  # how rows are drawn and gates judged; results of each way lie in a folder of their own


def code(factors: NDArray[np.int64], noise: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """A latent for each factor with noise, and one that knows nothing."""
    known = factors / np.array(SIZES) + noise * rng.normal(size=factors.shape)
    return np.hstack([known, rng.normal(size=(len(factors), 1))])


def run(folder: Path, jobs: int, pairs: int = PAIRS) -> str:
    """Tables of false alarms by metric, of what the gate did, and of what pairing gives."""
    with workers(jobs) as pool:
        gates = list(pool.map(gate, [folder] * GATES, range(GATES)))
        list(pool.map(measure, [folder] * pairs, range(FRESH, FRESH + pairs)))
    return f"{report(folder, pairs, gates)}\n{pairing.report()}"


def _file(folder: Path, kind: str, seed: int) -> Path:
    return folder / WAY / kind / f"{seed}.json"


def measure(folder: Path, seed: int) -> None:
    """Scores of one pair on parts of its rows, kept as two baselines, or four."""
    from unknot import Representation, score
    from unknot.metrics import METRICS
    from unknot.scoring.baselines import baseline, write_baseline

    if _done(folder, seed):
        return
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, 3])
    factors = rng.integers(0, SIZES, size=(ROWS, 3))
    instant = [
        name for name, metric in METRICS.items() if metric.facts.cost == "instant" and not metric.facts.asked
    ]
    asked = [(0.12, [name for name in instant if name != VOTES])] + [(0.4, [VOTES])] * (seed % EVERY == 0)
    codes = [(name, metrics, code(factors, noise, rng)) for noise, metrics in asked for name in "ba"]
    for name, metrics, latents in reversed(codes):
        card = score(Representation(latents, factors), metrics=metrics, seed=seed, null=0)
        path = _file(folder, f"pairs/{name}{'-votes' * (metrics == [VOTES])}", seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_baseline(baseline(card, RESAMPLES), path)


def _done(folder: Path, seed: int) -> bool:
    return _file(folder, "pairs/b", seed).is_file()  # which is written last


def alarms(folder: Path, seed: int) -> dict[str, float]:
    """p of each metric for one pair, as `unknot compare` gives it for two baselines and their rows."""
    from unknot.scoring.baselines import read_baseline
    from unknot.scoring.judging import judged

    ps = {}
    for kind in ("", "-votes"):
        if _file(folder, f"pairs/b{kind}", seed).is_file():
            kept = {name: read_baseline(_file(folder, f"pairs/{name}{kind}", seed)).scores for name in "ab"}
            of_each = {id_: {name: [scores[id_]] for name, scores in kept.items()} for id_ in kept["a"]}
            ps |= {each.metric: each.p for each in judged(of_each, ("a", "b"))}
    return ps


def gate(folder: Path, seed: int) -> dict[str, bool]:
    """Whether the gate fails on a planted loss of 0.02, and on the same noise drawn again."""
    from unknot import Representation, compare
    from unknot.metrics import METRICS

    path = _file(folder, "gates", seed)
    if path.is_file():
        kept: dict[str, bool] = json.loads(path.read_text())
        return kept
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, 4])
    factors = rng.integers(0, SIZES, size=(10_000, 3))
    base = code(factors, 0.05, rng)
    metric = GATED[seed % len(GATED)]
    before = METRICS[metric](base, factors).value
    more = rng.normal(size=base.shape)
    low, high = 0.0, 1.0
    for _ in range(30):  # how much more noise takes 0.02
        middle = (low + high) / 2
        lost = before - METRICS[metric](base + middle * more, factors).value
        low, high = (middle, high) if lost < LOSS else (low, middle)
    others = {"loss": base + high * more, "noise": code(factors, 0.05, rng)}
    result = {}
    for name, latents in others.items():
        pair = {"base": Representation(base, factors), "new": Representation(latents, factors)}
        differences = compare(pair, metrics=[metric], resamples=RESAMPLES, seed=seed).differences
        result[name] = any(each.loses(LOSS) for each in differences)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result))
    return result


def report(folder: Path, pairs: int, gates: list[dict[str, bool]]) -> str:
    """Both tables."""
    ps = [alarms(folder, seed) for seed in range(FRESH, FRESH + pairs) if _done(folder, seed)]
    own = {metric: np.array([p[metric] for p in ps if metric in p]) < 0.05 for metric in max(ps, key=len)}
    rows: list[dict[str, Any]] = [
        {
            "metric": f"`{metric}`",
            "pairs": len(each),
            "false alarms": f"{each.mean():.1%}",
            "standard error": f"{np.sqrt(0.05 * 0.95 / len(each)):.1%}",
        }
        for metric, each in own.items()
    ]
    rows.append(
        {"metric": "all", "pairs": len(ps), "false alarms": f"{np.concatenate(list(own.values())).mean():.1%}"}
    )
    failed = {name: sum(each[name] for each in gates) for name in ("loss", "noise")}
    text = f"Of {len(gates)} each, the gate failed on {failed['loss']} losses of {LOSS} and {failed['noise']} of noise."
    return f"Equal representations, {RESAMPLES} paired parts of the rows:\n\n{table(rows)}\n{text}\n"
