"""What the models of a ranking are called."""

from unknot.ranking.candidates import _spec_labels
from unknot.runs.spec import RunSpec


def test_rankings_name_runs_by_the_same_values_as_ever() -> None:
    """The key of a ranking on disk depends on these words."""
    base = RunSpec(world="w", options={"beta": 4.0}, steps=10)
    specs = [
        base,
        base.replace(seed=1),
        base.replace(options={"beta": 1e-5}),
        base.replace(model="vae", options={}),
    ]
    assert _spec_labels(specs) == ["beta_vae, beta 4.0", "beta_vae, beta 4.0", "beta_vae, beta 1e-05", "vae"]
    assert _spec_labels(specs[:2]) == ["beta_vae", "beta_vae"]
