"""MPI3D (toy, realistic, real, real-complex), from the published files, memory-mapped in place."""

from unknot.factors import Factor, FactorSpace


def _space(colors: tuple[str, ...], shapes: tuple[str, ...]) -> FactorSpace:
    return FactorSpace(
        (
            Factor("color", len(colors), "categorical", colors),
            Factor("shape", len(shapes), "categorical", shapes),
            Factor("size", 2, "ordinal", ("small", "large")),
            Factor("height", 3, "ordinal", ("top", "center", "bottom")),
            Factor("background", 3, "categorical", ("purple", "sea green", "salmon")),
            Factor("horizontal", 40),
            Factor("vertical", 40),
        )
    )


SPACE = _space(
    ("white", "green", "red", "blue", "brown", "olive"),
    ("cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere"),
)
COMPLEX_SPACE = _space(("yellow", "green", "olive", "red"), ("coffee-cup", "tennis-ball", "croissant", "beer-cup"))
