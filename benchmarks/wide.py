"""Wide and sparse codes, beside the straightforward way on the same job, or on a smaller one where that is impossible.

    python benchmarks/wide.py                  a tenth of the rows of each job, and 768 latents
    python benchmarks/wide.py --full           a million rows, and 4,096 latents; needs 8 GB and an hour
    python benchmarks/wide.py --full gaps      some of the jobs, by name

Ratios are of CPU time. Each job runs in a process of its own, which says how much memory it took at most.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

BINS = 20


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of an action, and its result."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def gigabytes() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)


def sparse_code(n: int, d: int, active: int, seed: int = 0) -> Any:
    """About `active` latents of each row fire."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, d, size=n * active, dtype=np.int32)
    values = rng.exponential(size=n * active).astype(np.float32)
    matrix = sparse.csr_matrix((values, columns, np.arange(0, n * active + 1, active)), shape=(n, d))
    matrix.sum_duplicates()
    return matrix.tocsc()


def loop(columns: Any, factors: np.ndarray) -> np.ndarray:
    """The usual way: one dense column and one scikit-learn call at a time."""
    from sklearn.metrics import mutual_info_score

    codes = [np.digitize(z, np.histogram(z, BINS)[1][:-1]) for z in columns]
    return np.array([[mutual_info_score(y, code) for y in factors.T] for code in codes])


def information(kind: str, n: int, folder: str) -> list[str]:
    """Mutual information of sparse latents, or of dense ones on disk."""
    from unknot.metrics.kernels.columns import column_information
    from unknot.metrics.latents import column

    rng = np.random.default_rng(1)
    d, k = (65_536, 100) if kind == "sparse" else (768, 40)
    factors, sizes = rng.integers(0, 10, size=(n, k)), np.full(k, 10)
    if kind == "sparse":
        latents = sparse_code(n, d, 64)
    else:
        latents = np.load(Path(folder) / "latents.npy", mmap_mode="r")
    column_information(latents[:100, :2], factors[:100], sizes)  # compiles, or loads what was compiled before
    fast, result = seconds(lambda: column_information(latents, factors, sizes))
    held = gigabytes()
    few = [column(latents, i) for i in range(3)]
    slow, expected = seconds(lambda: loop(few, factors))
    apart = float(np.abs(result.mutual[:3] - expected).max())
    whole = slow / len(few) * d
    return [
        f"information, {kind}, {n} x {d} x {k}: {fast:.1f} s here, {whole:.0f} s by a loop over dense columns (from "
        f"{len(few)} of them), {whole / fast:.0f} x, {held:.1f} GB; largest difference {apart:.0e} nats"
    ]


def thresholds(n: int) -> list[str]:
    """ROC areas and cuts of sparse latents for 151 classes."""
    from sklearn.metrics import roc_auc_score

    from unknot.metrics.single_latents import single_latents

    d, active, n_classes = 32_768, 230, 151
    latents = sparse_code(n, d, active)
    classes, sizes = np.random.default_rng(1).integers(0, n_classes, size=(n, 1)), np.array([n_classes])
    single_latents(latents[:100, :2], classes[:100], sizes)
    column = latents[:, [0]].toarray()[:, 0]
    slow, expected = seconds(lambda: [roc_auc_score(classes[:, 0] == c, column) for c in range(10)])
    fast, (result,) = seconds(lambda: single_latents(latents, classes, sizes))
    whole = slow / 10 * d * n_classes
    apart = float(np.abs(result.area[0, :10] - expected).max())
    return [
        f"ROC areas and cuts, {latents.nnz:.2g} entries of {n} x {d}, {n_classes} classes: {fast:.0f} s here, "
        f"{whole:.0f} s by a loop over pairs (areas alone, from 10 of them), {whole / fast:.0f} x, "
        f"{gigabytes():.1f} GB; largest difference {apart:.0e}"
    ]


def dense_code(n: int, d: int, sizes: Sequence[int], noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Rectified random features of factors, with noise of their own and in common."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, sizes, size=(n, len(sizes)))
    own = np.hstack([np.eye(size)[column] for size, column in zip(sizes, y.T, strict=True)])
    hidden = np.tanh(own @ rng.normal(size=(own.shape[1], 64)) / 2)
    apart = rng.normal(size=(n, 32)) @ rng.normal(size=(32, d)) / 3 + noise * rng.normal(size=(n, d))
    return np.maximum(hidden @ rng.normal(size=(64, d)) / 4 + apart, 0), y


def timed(todo: Any) -> tuple[dict[str, float], list[Any]]:
    """CPU seconds of each metric of a plan, one at a time, and their records."""
    from unknot.scoring.scoring import run

    times, records, start = {}, [], time.process_time()
    for record in run(todo):
        times[record.id] = time.process_time() - start
        records.append(record)
        start = time.process_time()
    return times, records


def five_factors(d: int) -> Callable[..., Any]:
    """A plan of the default suite, or of some metrics, on some of 15,000 rows and d latents of five factors."""
    import unknot
    from unknot.scoring.scoring import plan

    z, y = dense_code(15_000, d, (10, 10, 10, 8, 4), 1.0)
    z = z.astype(np.float32)

    def planned(first: int, second: int, width: int, **options: Any) -> Any:
        train, test = slice(0, first), slice(first, second)
        rows = unknot.Representation(
            z[train, :width], y[train], latents_test=z[test, :width], factors_test=y[test]
        )
        return plan(rows, **options)

    timed(planned(300, 500, 120))  # compiles, or loads what was compiled before
    return planned


def suite(d: int) -> list[str]:
    """Each metric of the default suite on 10,000 + 5,000 rows of d latents and five factors, one after the other."""
    todo = five_factors(d)(10_000, 15_000, d)
    times, _ = timed(todo)
    lines = [f"  {name:40} {spent:6.1f} s" for name, spent in times.items()]
    whole = f"the default suite of {len(times)} metrics at {d} latents: {sum(times.values()):.0f} s of one core"
    return [whole, *lines, *todo.notes]


def alone(d: int) -> list[str]:
    """The same metrics, none of which finds what another made of the latents."""
    planned = five_factors(d)
    lines = [
        f"each metric of the default suite alone at {d} latents, CPU and clock (load {os.getloadavg()[0]:.0f})"
    ]
    for task in planned(10_000, 15_000, d).tasks:
        todo, start = replace(planned(10_000, 15_000, d), tasks=(task,)), time.perf_counter()
        times, _ = timed(todo)
        wall = time.perf_counter() - start
        lines += [f"  {name:40} {spent:6.1f} s {wall:6.1f} s" for name, spent in times.items()]
    return lines


def trees(n: int, rounds: int) -> list[str]:
    """`dci[gbt]` of 768 latents and ten factors; of two, in a fifth of the rounds, beside a look at all latents."""
    from every_latent import all_latents

    from unknot.metrics.dci import dci

    z, y = dense_code(n + 5_000, 768, [10] * 10, 1.0)

    def scored(rows: int, factors: int, some: int) -> tuple[float, np.ndarray]:
        test = {"latents_test": z[n:], "factors_test": y[n:, :factors]}
        spent, score = seconds(lambda: dci(z[:rows], y[:rows, :factors], rounds=some, **test))
        return spent, np.array([score.value, score.parts["completeness"], score.parts["informativeness"]])

    scored(300, 2, 2)
    start = time.perf_counter()
    spent, whole = scored(n, 10, rounds)
    wall = time.perf_counter() - start
    some, screened = scored(n, 2, rounds // 5)
    with all_latents():
        scored(300, 2, 2)
        slow, every = scored(n, 2, rounds // 5)
    return [
        f"dci[gbt], {n} x 768 x 10 factors of 10 values, {rounds} rounds: {spent:.0f} s of CPU, {wall:.0f} s by the "
        f"clock (load {os.getloadavg()[0]:.0f}); D, C, I {', '.join(f'{value:.4f}' for value in whole)}",
        f"two factors, {rounds // 5} rounds: {some:.1f} s, {slow:.1f} s looking at every cut of every latent, "
        f"{slow / some:.0f} x; D, C, I {', '.join(f'{value:.4f}' for value in screened)}, "
        f"apart by {', '.join(f'{value:.0e}' for value in np.abs(screened - every))}",
    ]


def noise(n: int, d: int, active: int = 0) -> list[str]:
    """What latents without information score above chance, by metrics that have such a level: dense or sparse ones."""
    from unknot import UnknotError
    from unknot.metrics import METRICS

    rng = np.random.default_rng(0)
    z = sparse_code(n, d, active) if active else rng.normal(size=(n, d)).astype(np.float32)
    y = rng.integers(0, (10, 8, 4), size=(n, 3))
    options: dict[str, Any] = {"med": {"informativeness": False}, "r2": {"readout": "ridge"}}
    names = ("mig", "mig_sup", "conditional_mig", "dcimig", "sap", "snc", "best_auroc", "med", "r2")
    lines, refused = [], []
    for name in (*names, *(("nk", "dci") if active else ())):
        try:
            spent, score = seconds(lambda name=name: METRICS[name](z, y, **options.get(name, {})))
        except UnknotError as error:
            refused.append(f"  {error}")
            continue
        lines.append(f"{name} {score.value - 0.5 * (name == 'best_auroc'):.5f} ({spent:.0f} s)")
    kind = f"{active} active" if active else "dense"
    return [f"noise, {n} x {d}, {kind}, above chance: {', '.join(lines)}; {gigabytes():.1f} GB", *refused]


def gaps(n: int) -> list[str]:
    """Metrics that train nothing, of 512 latents and 40 factors whose labels are missing in 30 % of the rows."""
    import unknot
    from unknot.scoring.scoring import plan

    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, size=(n, 40)).astype(np.float64)
    z = rng.normal(size=(n, 512)).astype(np.float32)
    z[:, :40] += y
    y[rng.random(y.shape) < 0.3] = np.nan
    unknot.score(z[:400, :120], y[:400, :3], metrics="quick")
    start = time.perf_counter()
    spent, (times, records) = seconds(lambda: timed(plan(unknot.Representation(z, y), metrics="quick")))
    wall, there = time.perf_counter() - start, ~np.isnan(y[:, 0])
    firsts = {
        record.id: record.score.parts["per_factor"][0]
        for record in records
        if record.score and "per_factor" in record.score.parts
    }
    names = [*firsts]
    slow, alone = seconds(lambda: unknot.score(z[there], y[there, 0], metrics=names))
    apart = max(abs(first - alone.records[name].score.value) for name, first in firsts.items())
    scored = ", ".join(f"{record.id} {times[record.id]:.1f}" for record in records if record.score)
    left_out = ", ".join(record.id for record in records if record.refused)
    return [
        f"the quick suite, {n} x 512 x 40 factors, 30 % of labels missing: {spent:.0f} s of CPU, {wall:.0f} s by the "
        f"clock, {gigabytes():.1f} GB",
        f"  in seconds of CPU: {scored}; refused, as no row has all labels: {left_out}",
        f"  {', '.join(names)} of one factor on its known rows: {slow:.0f} s; largest difference {apart:.0e}",
    ]


def probes(n: int, d: int) -> list[str]:
    """Linear probes with a penalty chosen by cross-validation, beside scikit-learn's."""
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV

    from unknot.metrics.probes import linear_accuracy
    from unknot.metrics.r2 import full_variance, r2, r2_per_factor

    sizes = np.array([10, 8, 4])
    z, y = dense_code(n + 2_000, d, tuple(sizes), 5.0)
    train, test = (z[:n], y[:n]), {"latents_test": z[n:], "factors_test": y[n:]}
    x, x_test = ((a - z[:n].mean(axis=0)) / z[:n].std(axis=0) for a in (z[:n], z[n:]))
    scaled = y / (sizes - 1)

    def ridge() -> float:
        models = [RidgeCV(alphas=np.logspace(-3, 5, 17)).fit(x, column[:n]) for column in scaled.T]
        guesses = np.stack([model.predict(x_test) for model in models], axis=1)
        return float(r2_per_factor(guesses, scaled[n:], full_variance(scaled)).mean())

    def logistic() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = [LogisticRegressionCV(Cs=10, cv=5, max_iter=200).fit(x, column[:n]) for column in y.T]
            return float(np.mean([np.mean(m.predict(x_test) == c[n:]) for m, c in zip(models, y.T, strict=True)]))

    lines, ours_of_all, theirs_of_all = [], 0.0, 0.0
    for name, mine, peer in (
        ("R²", lambda: r2(*train, readout="ridge", **test).value, ridge),
        ("accuracy", lambda: linear_accuracy(*train, recipe="penalised", **test).value, logistic),
    ):
        (fast, ours), (slow, theirs) = seconds(mine), seconds(peer)
        ours_of_all, theirs_of_all = ours_of_all + fast, theirs_of_all + slow
        lines.append(
            f"linear {name}, {n} x {d}: {ours:.3f} in {fast:.1f} s here, {theirs:.3f} in {slow:.1f} s by the "
            f"cross-validation of scikit-learn, {slow / fast:.1f} x"
        )
    return [*lines, f"both probes: {theirs_of_all / ours_of_all:.1f} x"]


def write(path: str, n: int) -> list[str]:
    """Dense latents on disk, so that the process that reads them has never held them."""
    rng = np.random.default_rng(0)
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 768))
    for first in range(0, n, 8_192):
        array[first : first + 8_192] = rng.normal(size=array[first : first + 8_192].shape)
    array.flush()
    return []


def main(arguments: list[str] | None = None) -> None:
    """Print times, ratios, differences and memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all rows")
    parser.add_argument("jobs", nargs="*", help="names of functions of this file; all if left out")
    options = parser.parse_args(arguments)
    full = options.full
    n = 1_000_000 if full else 100_000
    with tempfile.TemporaryDirectory() as folder:
        jobs: list[tuple[Any, ...]] = [
            (write, str(Path(folder) / "latents.npy"), n),
            (information, "dense on disk", n, folder),
            (information, "sparse", n, folder),
            (thresholds, n),
            (probes, 2_000, 1_280),
            (suite, 768),
            (trees, 10_000, 100) if full else (trees, 1_000, 10),
            (noise, 10_000, 1_024),
            (noise, 10_000, 65_536, 64),
            *([(noise, 100_000, 65_536, 64)] if full else []),
            (gaps, n // 5),
        ]
        jobs += [(suite, 4_096), (alone, 4_096)] if full else []
        names = dict.fromkeys(job.__name__ for job, *_ in jobs if job is not write)
        if wrong := [name for name in options.jobs if name not in names]:
            parser.error(f"no job {', '.join(wrong)}; there are {', '.join(names)}")
        wanted = {*(options.jobs or names)}
        wanted |= {"write"} if "information" in wanted else set()
        for job, *sizes in (job for job in jobs if job[0].__name__ in wanted):
            code = f"import wide\nfor line in wide.{job.__name__}(*{sizes!r}): print(line)"
            subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, check=True)


if __name__ == "__main__":
    main()
