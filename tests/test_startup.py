"""What may be imported before anything is asked for."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "sklearn", "scipy.stats", "scipy.optimize", "pandas", "matplotlib", "numba", "pyarrow")


def _loaded(program: str) -> set[str]:
    code = f"{program}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "program",
    [
        "import unknot",
        "import unknot.cli",
        "import unknot.metrics",
        "import unknot.worlds",
        "import unknot; unknot.score, unknot.FactorSpace, unknot.examples, unknot.papers",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(program: str) -> None:
    assert not _loaded(program) & set(HEAVY)


@pytest.mark.parametrize("program", ["import unknot", "import unknot.cli"])
def test_neither_the_package_nor_its_help_imports_numpy(program: str) -> None:
    assert "numpy" not in _loaded(program)


def test_scoring_mig_needs_no_compiler_and_no_learner() -> None:
    program = (
        "import numpy as np, unknot\n"
        "rng = np.random.default_rng(0)\n"
        "y = rng.integers(0, 3, (500, 2))\n"
        "unknot.score(y + 0.1 * rng.normal(size=y.shape), y, metrics=['mig'])"
    )
    assert not _loaded(program) & {"torch", "sklearn", "scipy.stats", "pandas", "matplotlib", "numba"}


def test_every_public_name_resolves() -> None:
    import unknot

    for name in unknot.__all__:
        assert getattr(unknot, name) is not None
    assert set(unknot.__all__) <= set(dir(unknot))
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = unknot.scores


def test_score_stays_a_function_after_its_module_is_imported() -> None:
    import unknot
    import unknot.scoring.scoring

    assert callable(unknot.score)
