"""Codes whose scores are known by calculation, to try metrics on.

`toy_m1` and `toy_m2` are the toy models of Table 1, `entangled` the construction of Theorem 3.1 in Mahon et al. 2024,
Correcting Flaws in Common Disentanglement Metrics, arXiv:2304.02335. All return (latents, factors). `dictionary` is a
sparse one with faults in known places, `misleading` has a code for each warning of a scorecard.
"""

from collections.abc import Sequence
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.examples.misleading import misleading
from unknot.examples.planted import PlantedDictionary, dictionary
from unknot.reading.arguments import MOST, checked, must_be_a_path
from unknot.zoo import is_of_zoo, zoo_folder

__all__ = [
    "Code",
    "PlantedDictionary",
    "dictionary",
    "entangled",
    "example_file",
    "misleading",
    "toy_m1",
    "toy_m2",
]

EXAMPLE = "example"  # the name of the shipped representation
Code = tuple[NDArray[np.float64], NDArray[np.int64]]


@checked
def toy_m1(copies: int = 1) -> Code:
    """Two binary factors, colour and shape; latent 0 knows them when they agree, latent 1 knows nothing.

    Latent 0 is the colour where colour = shape and a fair coin elsewhere, so it gives either factor in 75 % of
    rows; latent 1 is a fair coin. Exactly balanced: 80 rows, `copies` times.

    >>> z, y = toy_m1()
    >>> z.shape, [float((z[:, 0] == y[:, j]).mean()) for j in range(2)]
    ((80, 2), [0.75, 0.75])
    """
    return _toy(copies, right=5)


@checked
def toy_m2(copies: int = 1) -> Code:
    """As `toy_m1`, but latent 1 is the shape in 70 % of rows.

    >>> z, y = toy_m2()
    >>> [float((z[:, 1] == y[:, j]).mean()) for j in range(2)]
    [0.5, 0.7]
    """
    return _toy(copies, right=7)


@checked
def entangled(
    sizes: Sequence[int] = (3, 3, 3, 3), *, n: int | None = None, rng: np.random.Generator | None = None
) -> Code:
    """Every factor can be decoded exactly, yet no latent has any information on any factor.

    With digits u_i in 0..k_i - 1 and v_i in 0..k_(i-1) - 1 (indices modulo the number of factors), independent
    and uniform,

    y_i = (u_i + v_(i+1)) mod k_i,        z_i = (u_i + (v_i + 1/2) / k_(i-1)) / k_i

    Factor i takes two latents to decode, i and i + 1, and each alone is independent of it.

    Args:
        sizes: k_i, how many classes each factor has; at least two factors with at least two classes.
        n: how many rows to draw; all digits are listed once if left out, which makes every independence exact.
        rng: draws the digits.

    >>> z, y = entangled()
    >>> z.shape, y.shape
    ((6561, 4), (6561, 4))
    >>> float(np.corrcoef(z[:, 0], y[:, 0])[0, 1].round(12)) + 0.0
    0.0
    """
    if len(sizes) < 2 or min(sizes) < 2 or max(sizes) > MOST:
        raise UnknotError(
            f"entangled: sizes are {tuple(sizes)}; expected two or more factors of two or more classes, at "
            f"most {MOST:,}."
        )
    k = np.array(sizes, dtype=np.int64)
    before = np.roll(k, 1)
    bases = np.concatenate([k, before])
    if n is None:
        rows = int(np.prod(bases.astype(object)))
        if rows > 10**7:
            raise UnknotError(
                f"entangled: sizes {tuple(sizes)} have {rows:.3g} rows; pass n and rng to draw some."
            )
        digits = np.stack(np.unravel_index(np.arange(rows), tuple(bases)), axis=1)
    elif rng is None:
        raise UnknotError(f"entangled: n is {n} but rng is missing; pass np.random.default_rng(seed).")
    elif n < 1:
        raise UnknotError(who="entangled", field="n", value=n, expected="1 or more rows")
    else:
        digits = rng.integers(0, bases, size=(n, len(bases)))
    u, v = digits[:, : len(k)], digits[:, len(k) :]
    return (u + (v + 0.5) / before) / k, (u + np.roll(v, -1, axis=1)) % k


def _toy(copies: int, right: int) -> Code:
    if copies < 1:
        raise UnknotError(f"copies is {copies}; expected at least 1.")
    latents, factors = [], []
    for colour, shape, coin, tenth in product((0, 1), (0, 1), (0, 1), range(10)):
        first = colour if colour == shape else coin
        latents.append((first, shape if tenth < right else 1 - shape))
        factors.append((colour, shape))
    return np.tile(np.array(latents, dtype=np.float64), (copies, 1)), np.tile(np.array(factors), (copies, 1))


def located(path: Path | str) -> Path:
    """The path; or what ships with the package, if it is `example` or `zoo:NAME` and no such file is here."""
    must_be_a_path("unknot", path)
    path = Path(path)
    if path.exists():
        return path
    if is_of_zoo(path):
        return zoo_folder(path)
    return example_file() if str(path) == EXAMPLE else path


def example_file() -> Path:
    """The shipped representation: posterior means of a small beta-VAE on rendered dSprites, 6,000 + 3,000 rows.

    Trained with `unknot train --world dsprites_rendered --model beta_vae --beta 4 --image-size 32 --steps 5000
    --lr 5e-4 --precision bfloat16`, encoded at points drawn from the whole grid.

    >>> from unknot import read_representation
    >>> read_representation(example_file()).factor_names
    ('shape', 'scale', 'orientation', 'x', 'y')
    """
    return Path(str(files("unknot.examples") / "example.npz"))
