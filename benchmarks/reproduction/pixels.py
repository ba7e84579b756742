"""xie2022: pixels, perfect codes and slots from true masks, on 1,600 tuples with occlusion and without."""

import time
from pathlib import Path
from typing import Any

from reproduce import table

PUBLISHED = {"occluded": "75.47 / 36.28", "clear": "97.18 / 73.17"}
# Norm of the L2 loss and chance of acos: as the published code computes them, then as the paper writes them.
READINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("published code", {"norm": "squared"}),
    ("paper", {"norm": "l2", "chance": "shuffle_d"}),
)


def run(folder: Path, jobs: int) -> str:
    """Scores of both readings on both corpora, and the shares of pixels on each wrong picture."""
    from unknot.tasks.algebra.page import score_text
    from unknot.tasks.algebra.task import algebra
    from unknot.worlds.scenes.corpus import make_corpus

    rows, shares, seconds = [], [], {}
    for variant, published in PUBLISHED.items():
        began = time.monotonic()
        corpus = make_corpus(folder / variant, variant=variant, jobs=jobs)
        seconds[variant] = time.monotonic() - began
        for reading, words in READINGS:
            result = algebra(None, corpus, pictures=0, **words)
            for row in result.tables["scores"]:
                if row["kind"] == "baseline" and (
                    reading == "published code" or row["representation"] == "pixels"
                ):
                    rows.append(
                        {
                            "representation": row["representation"],
                            "corpus": variant,
                            "as in the": reading,
                            "L2-COAT": score_text(row, "l2"),
                            "acos-COAT": score_text(row, "acos"),
                            "published": published if row["representation"] == "pixels" else None,
                        }
                    )
            if reading == "published code":
                shares += [
                    {
                        "corpus": variant,
                        **{key: test[key] for key in ("representation", "loss", "negative", "p_hat")},
                    }
                    for test in result.tables["negatives"]
                    if test["representation"] in ("pixels", "slots from true masks")
                ]
    made = ", ".join(f"{variant} {spent:.0f} s" for variant, spent in seconds.items())
    return f"{table(rows)}\n{table(shares)}\nCorpora made or opened in: {made}.\n"
