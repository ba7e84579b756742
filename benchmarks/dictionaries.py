"""Two dictionaries matched one to one, beside SciPy's assignment; information of measurements beside scikit-learn's.

    python benchmarks/dictionaries.py          8,192 directions each
    python benchmarks/dictionaries.py --full   65,536 as well, which SciPy has no room for; two minutes of one core

Half of the directions of the second dictionary are those of the first with noise, the others its own: the case with the
most to decide. Ratios are of CPU time.
"""

import argparse

import numpy as np
from wide import gigabytes, seconds

WIDTH = 768


def dictionaries(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions of two dictionaries that share half of them."""
    from unknot.metrics.matching import directions

    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal((n, WIDTH), dtype=np.float32) for _ in range(2))
    second[: n // 2] = first[: n // 2] + 0.5 * second[: n // 2]
    return directions(first), directions(second[rng.permutation(n)])


def matching(n: int, *, beside: bool) -> None:
    """The best matching of two dictionaries, with its proof."""
    from scipy.optimize import linear_sum_assignment

    from unknot.metrics.matching import match_directions

    first, second = dictionaries(n)
    match_directions(first[:8], second[:8])  # compiles, or loads what was compiled before
    fast, result = seconds(lambda: match_directions(first, second))
    proven = f"gap to the proven bound {result.bound - result.mean:.0e}, candidates added {result.rounds} times"
    line = f"MCC of two dictionaries, {n} x {WIDTH}: {result.mean:.6f} in {fast:.1f} s, {gigabytes():.1f} GB, {proven}"
    if beside:

        def usual() -> float:
            sizes = np.abs(first @ second.T)
            return float(sizes[linear_sum_assignment(sizes, maximize=True)].mean(dtype=np.float64))

        slow, expected = seconds(usual)
        line += f"; SciPy's {slow:.1f} s, {slow / fast:.1f} x, difference {abs(expected - result.mean):.0e}"
    print(line, flush=True)


def information(n: int, d: int) -> None:
    """Information of latents and a measurement, from nearest neighbours."""
    from sklearn.feature_selection import mutual_info_regression

    from unknot.metrics._neighbours import measured_information

    rng = np.random.default_rng(0)
    y = rng.normal(size=n)
    for kind, latents in (
        ("that know it", y[:, None] + np.linspace(0.1, 1, d) * rng.normal(size=(n, d))),
        ("that do not", rng.normal(size=(n, d))),
        ("mostly zero", rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.05)),
    ):
        measured_information(latents[:20], y[:20, None], 3)
        fast, ours = seconds(lambda latents=latents: measured_information(latents, y[:, None], 3))
        slow, theirs = seconds(lambda latents=latents: mutual_info_regression(latents, y, random_state=0))
        apart = float(np.abs(ours[:, 0] - theirs).max())
        print(
            f"information of a measurement, {n} rows, {d} latents {kind}: {fast:.2f} s, scikit-learn's {slow:.2f} s, "
            f"{slow / fast:.1f} x, largest difference {apart:.0e} nats",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    """Print times, ratios and differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="65,536 directions as well")
    full = parser.parse_args(arguments).full
    matching(8_192, beside=True)
    information(10_000, 10)
    if full:
        matching(65_536, beside=False)


if __name__ == "__main__":
    main()
