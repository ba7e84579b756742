"""Metrics as scorers of scikit-learn: `GridSearchCV(PCA(), {"n_components": [2, 5]}, scoring=scorer("mig"))`."""

from collections.abc import Callable
from typing import Any

from unknot.encoders.encoder import Transformer
from unknot.errors import UnknotError, shown
from unknot.metrics import METRICS, parse_identity
from unknot.metrics.score import check_options
from unknot.reading.arguments import checked


@checked
def scorer(metric: str, **options: Any) -> Callable[[Any, Any, Any], float]:
    """A function of a fitted transformer, rows X and their factors y, in which more is better.

    Args:
        metric: its name, such as "mig" or "dci[lasso]".
        options: of the metric, besides those in its name.

    >>> from sklearn.decomposition import PCA
    >>> from unknot.examples import toy_m1
    >>> latents, factors = toy_m1()
    >>> round(scorer("mig")(PCA(2).fit(latents), latents, factors), 3)
    0.189
    """
    name, named = parse_identity(metric, METRICS)
    check_options(METRICS[name], options)
    if twice := sorted(named.keys() & options):
        raise UnknotError(
            f"scorer: {twice[0]} of {metric} is given twice, as {named[twice[0]]} in the name and as "
            f"{shown(options[twice[0]])} beside it; give it once."
        )
    sign = 1.0 if METRICS[name].facts.higher_is_better else -1.0

    def scored(estimator: Any, X: Any, y: Any = None) -> float:
        if y is None and METRICS[name].facts.labels:
            raise UnknotError(f"scorer: {metric} needs factors; give them to fit as y, one row for each of X.")
        if not isinstance(estimator, Transformer):
            raise UnknotError(
                f"scorer: {type(estimator).__name__} has no transform, so that there are no latents."
            )
        return sign * METRICS[name](estimator.transform(X), y, **named, **options).value

    return scored
