"""TRE: how far codes are from what is composed of learned vectors of their objects' attributes."""

from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known, extras
from unknot.metrics.arrays import Bools, Floats
from unknot.metrics.inputs import Rng
from unknot.metrics.latents import check_latents
from unknot.metrics.score import Score
from unknot.processes.threads import threads_of_torch
from unknot.reading.arrays import as_array

Composition = Literal["add", "transformer"]
HELD_OUT = 0.2
GROUPS = 5  # of which some can be held out
WIDTH, HEADS, LAYERS, RATE = 128, 4, 2, 1e-3  # of the transformer


def tre(
    codes: Any,
    objects: Any,
    present: Any,
    context: Any,
    *,
    composition: Composition = "add",
    penalty: float = 1e-3,
    steps: int = 2000,
    batch_size: int = 128,
    groups: Any = None,
    rng: Rng = 0,
) -> Score:
    """Tree reconstruction error of codes whose derivation is a set of objects before a context.

    TRE = mean_i | z_i - compose(e(object) for each object, e(context)) |        at least 0, 0 is best

    The vector of an object is a linear map of its attributes (a sum of one learned vector for each attribute value,
    where attributes are given one-hot, plus a linear map of its place). "add" sums the vectors, fitted by ridge
    regression in closed form; "transformer" learns the composition too: two layers of width 128 with four heads, mean
    over objects, a linear head. Everything is fitted on four fifths of the rows and measured on the rest.

    The number has the unit of the codes and cannot be compared between models; `parts["normalised"]` is
    1 - TRE^2 / variance of the held-out codes, at most 1, 0 for codes no better composed than their mean.

    Departs from the paper: Andreas 2019 leaves the composition to the user and measures on the rows fitted; the COAT
    paper uses a transformer of unknown size and training. Numbers are not comparable with either.
    Reference: Andreas 2019, Measuring Compositionality in Representation Learning, arXiv:1902.07181.

    Args:
        codes: (n, d).
        objects: (n, m, f) attributes of up to m objects.
        present: (n, m) which of them are there.
        context: (n, g) attributes of the rest, such as the background one-hot.
        composition: "add" or "transformer", which needs torch.
        penalty: of the ridge, as a share of the attributes' mean square.
        steps: of Adam, for the transformer.
        batch_size: rows of a step.
        groups: (n,) rows of one group (one tuple, one main scene) stay on one side of the split.
        rng: decides the split, and the transformer's start and batches.

    Returns:
        Score whose value is the raw TRE; `parts`: normalised, n_train, n_test, composition.

    >>> rng = np.random.default_rng(0)
    >>> objects, context = rng.normal(size=(200, 4, 3)), np.ones((200, 1))
    >>> codes = objects.sum(axis=1) @ rng.normal(size=(3, 5)) + 2
    >>> tre(codes, objects, np.ones((200, 4), bool), context, penalty=0).value < 1e-9
    True
    """
    check_known("composition of tre", composition, get_args(Composition))
    z = check_latents("tre", codes)
    things, there, around = _check(z, objects, present, context)
    generator = np.random.default_rng(rng)
    test = held_out(len(z), groups, generator)
    middle = z[~test].mean(axis=0)
    if composition == "add":
        composed = _added(z - middle, things, there, around, ~test, penalty)
    else:
        seed = int(generator.integers(2**31))
        composed = _transformed(z - middle, things, there, around, ~test, steps, batch_size, seed)
    rest = z[test] - middle
    error = float(np.linalg.norm(rest - composed[test], axis=1).mean())
    variance = float(((z[test] - z[test].mean(axis=0)) ** 2).sum(axis=1).mean())
    notes = [] if variance > 0 else ["collapsed: the codes of all images are alike."]
    return Score(
        error,
        {
            "normalised": 1 - error**2 / variance if variance > 0 else np.nan,
            "collapsed": not variance > 0,
            "composition": composition,
            "n_train": int((~test).sum()),
            "n_test": int(test.sum()),
            "notes": notes,
        },
    )


def _check(z: Floats, objects: Any, present: Any, context: Any) -> tuple[Floats, Bools, Floats]:
    things, there, around = as_array(objects), as_array(present), as_array(context)
    if things.ndim != 3 or there.shape != things.shape[:2] or around.ndim != 2:
        raise UnknotError(
            f"tre: objects {things.shape}, present {there.shape}, context {around.shape}; expected (n, m, f), (n, m) "
            "and (n, g)."
        )
    if not len(z) == len(things) == len(around):
        raise UnknotError(f"tre: {len(z)} codes for {len(things)} scenes; expected one code for each scene.")
    if len(z) < 10:
        raise UnknotError(f"tre: {len(z)} rows; expected at least ten.")
    return things.astype(np.float64), there.astype(np.bool_), around.astype(np.float64)


def held_out(n: int, groups: Any, rng: np.random.Generator, *, who: str = "tre") -> Bools:
    """Which of n rows (n,) are held out: a fifth of the groups, or of the rows without any."""
    group = np.arange(n) if groups is None else np.unique(as_array(groups), return_inverse=True)[1].reshape(-1)
    if group.shape != (n,) or group.max() < GROUPS - 1:
        raise UnknotError(f"{who}: groups are {group.shape}; expected at least five groups over {n} rows.")
    many = int(group.max()) + 1
    chosen = rng.permutation(many)[: max(1, round(HELD_OUT * many))]
    test: Bools = np.isin(group, chosen)
    return test


def _added(z: Floats, things: Floats, there: Bools, around: Floats, train: Bools, penalty: float) -> Floats:
    """The fit of z by sums of vectors: ridge regression on summed attributes."""
    x = np.hstack([(things * there[:, :, None]).sum(axis=1), around])
    gram = x[train].T @ x[train]
    ridge = penalty * np.trace(gram) / len(gram)
    # One-hot attributes add up to the number of objects, so that without a penalty the least solution is meant.
    weights, *_ = np.linalg.lstsq(gram + ridge * np.eye(len(gram)), x[train].T @ z[train], rcond=1e-12)
    fitted: Floats = x @ weights
    return fitted


def _transformed(
    z: Floats, things: Floats, there: Bools, around: Floats, train: Bools, steps: int, batch_size: int, seed: int
) -> Floats:
    """The fit of z by a transformer over objects and context."""
    with extras("tre: a transformer"):
        import torch
        from torch import nn
    scale = float(z[train].std()) or 1.0
    targets = torch.from_numpy(z / scale).float()
    tokens, rest = torch.from_numpy(things).float(), torch.from_numpy(around).float()
    absent = torch.from_numpy(np.hstack([~there, np.zeros((len(there), 1), dtype=np.bool_)]))
    rows = torch.from_numpy(np.flatnonzero(train))
    with torch.random.fork_rng(devices=[]), threads_of_torch():
        torch.manual_seed(seed)
        into, before = nn.Linear(things.shape[2], WIDTH), nn.Linear(around.shape[1], WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.0, batch_first=True)
        body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        head = nn.Linear(WIDTH, z.shape[1])

        def composed(at: Any) -> Any:
            vectors = torch.cat([into(tokens[at]), before(rest[at])[:, None]], dim=1)
            mixed = body(vectors, src_key_padding_mask=absent[at])
            kept = (~absent[at])[:, :, None].float()
            return head((mixed * kept).sum(dim=1) / kept.sum(dim=1))

        parts = nn.ModuleList([into, before, body, head])
        adam = torch.optim.Adam(parts.parameters(), lr=RATE)
        for _ in range(steps):
            at = rows[torch.randint(len(rows), (batch_size,))]
            adam.zero_grad()
            ((composed(at) - targets[at]) ** 2).mean().backward()
            adam.step()
        parts.eval()
        with torch.inference_mode():
            pieces = [composed(at) for at in torch.split(torch.arange(len(z)), 1024)]
    fitted: Floats = torch.cat(pieces).double().numpy() * scale
    return fitted
