"""Xie et al. 2022: do learned codes add up over objects better than pixels do?"""

import math
from typing import Any

from unknot.papers import table
from unknot.reports.kit.page import Section
from unknot.reports.papers.recomputed import Claim, Recomputed, grid

PAPER = "xie2022"
PIXELS, PLAIN, CLEANED, CORRELATED = 1, 5, 7, 9  # rows of Table 1


def xie2022() -> Recomputed:
    """Scores against those of pixels, numbers that stand twice, the threshold of the test."""
    first: Any = table(PAPER, "table1").set_index(["row", "metric"])
    beside = against_pixels()
    twice = repeated()
    return Recomputed(
        [_pixels(first), _correlated(first), _twice(twice), _threshold()],
        [
            Section(
                "Table 1 beside pixels", [_WORDS], [grid(beside, "In standard errors of the model.", "pixels")]
            ),
            Section("Numbers that stand twice", (), [grid(twice, "Table 1 and the running text.", "twice")]),
        ],
    )


_WORDS = (
    "Each score with its distance from the pixels of the same test. Pixels have no spread; that of a model is a "
    "standard error over five seeds. Rows that fail the test on wrong pictures have no score. The row at 83.84 "
    "is printed as occluded; that its test is without occlusion is an inference, and it is compared with the "
    "pixels of that test."
)


def against_pixels() -> Any:
    """Every score of Table 1 with `gain`, how far it is above pixels, and `errors`, the same in standard errors."""
    rows: Any = table(PAPER, "table1")
    rows = rows[rows["metric"].isin(["l2_coat", "acos_coat"]) & rows["value"].notna()]
    occlusion = rows["test_occlusion"].str.partition(" ")[0]
    pixels = rows[rows["model"] == "pixels"].set_index(["test_occlusion", "metric"])["value"]
    rows["gain"] = rows["value"] - [pixels[at] for at in zip(occlusion, rows["metric"], strict=True)]
    rows["errors"] = rows["gain"] / rows["spread"]
    names = [
        "model",
        "postprocessing",
        "train_set",
        "test_occlusion",
        "metric",
        "value",
        "spread",
        "gain",
        "errors",
    ]
    return rows[rows["model"] != "pixels"][names]


def repeated() -> Any:
    """Scores that the text repeats, beside those of Table 1, and whether they are the same."""
    text: Any = table(PAPER, "text")
    text = text[text["quantity"].isin(["l2_coat", "acos_coat"])].rename(columns={"quantity": "metric"})
    cells: Any = table(PAPER, "table1").set_index(["row", "metric"])
    rows = {
        "pixels with occlusion": PIXELS,
        "slot_attention": PLAIN,
        "slot_attention no_duplicates": 6,
        "slot_attention no_duplicates_no_invisible": CLEANED,
        "slot_attention no_duplicates_no_invisible correlated training": CORRELATED,
        "iodine": 10,
        "moco_v2": 12,
    }
    at = [(rows[subject], metric) for subject, metric in zip(text["subject"], text["metric"], strict=True)]
    out = text[["subject", "metric", "where"]].assign(in_text=text["value"], spread_in_text=text["spread"])
    out["in_table"] = [cells.loc[place, "value"] for place in at]
    out["spread_in_table"] = [cells.loc[place, "spread"] for place in at]
    spreads = out["spread_in_text"].fillna(0) == out["spread_in_table"].fillna(0)
    return out.assign(same=(out["in_text"] == out["in_table"]) & spreads)


def _pixels(first: Any) -> Claim:
    cleaned, pixels = first.loc[(CLEANED, "l2_coat")], first.loc[(PIXELS, "l2_coat")]
    gain = cleaned["value"] - pixels["value"]
    why = (
        f"Without duplicates and invisible slots L2-COAT is {cleaned['value']}, above the pixels' "
        f"{pixels['value']} by {gain:.2f}, {gain / cleaned['spread']:.1f} standard errors; as it is "
        f"({first.loc[(PLAIN, 'l2_coat'), 'value']}) it is far below."
    )
    return Claim("Slot attention does not beat the pixels.", "section 5.2", "holds in part", why)


def _correlated(first: Any) -> Claim:
    words = []
    for metric in ("ari", "l2_coat", "acos_coat"):
        a, b = first.loc[(CLEANED, metric)], first.loc[(CORRELATED, metric)]
        errors = (a["value"] - b["value"]) / math.hypot(a["spread"], b["spread"])
        words.append(f"{metric} {a['value']} to {b['value']} ({errors:.1f} standard errors)")
    text = "Slot attention trained on correlated scenes is less compositional."
    return Claim(text, "section 5.5", "holds in part", f"{'; '.join(words)}.")


def _twice(twice: Any) -> Claim:
    odd = [
        f"{r.in_text} ± {r.spread_in_text} in {r.where}, {r.in_table} ± {r.spread_in_table} in Table 1"
        for r in twice[~twice["same"]].itertuples()
    ]
    why = f"{twice['same'].sum()} of {len(twice)} do; {'; '.join(odd)}."
    return Claim("Numbers of the text are those of Table 1.", "sections 4 and 5", "holds in part", why)


def _threshold() -> Claim:
    from scipy.special import ndtri

    text: Any = table(PAPER, "text").drop_duplicates("quantity").set_index("quantity")["value"]
    tests, level = text["analogy tests"], text["significance level"]
    least = 0.5 + float(ndtri(1 - level)) * 0.5 / math.sqrt(tests)
    why = (
        f"With {tests:.0f} tests a wrong picture must do worse in {100 * least:.1f} % of them; the shares stand "
        "in figures only."
    )
    return Claim(
        "Models that fail do not tell D from wrong pictures.", "section 5, Table 1", "cannot be checked", why
    )
