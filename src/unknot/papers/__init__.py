"""The papers whose metrics, models and tasks are here, by first author and year."""

import re
from typing import TYPE_CHECKING

from unknot.errors import UnknotError, unknown
from unknot.papers.paper import Paper
from unknot.papers.published import PublishedTable, table_of, tables_of

if TYPE_CHECKING:
    import pandas as pd

_ICLR = "International Conference on Learning Representations (ICLR)"
_SIX_VAES = ("beta_vae", "cci_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "beta_tc_vae")

PAPERS: dict[str, Paper] = {
    paper.key: paper
    for paper in (
        Paper(
            key="mahon2024",
            title="Correcting Flaws in Common Disentanglement Metrics",
            authors=("Mahon, Louis", "Sha, Lei", "Lukasiewicz, Thomas"),
            year=2024,
            venue="Transactions on Machine Learning Research (TMLR)",
            journal=True,
            address="https://arxiv.org/abs/2304.02335",
            question="Which codes do metrics of disentanglement overrate, and do disentangled ones recognise novel "
            "combinations of familiar features?",
            metrics=("snc", "nk", "mig", "sap", "dci", "irs", "med", "mlp_accuracy", "linear_accuracy"),
            models=(
                "beta_vae",
                "cci_vae",
                "factor_vae",
                "beta_tc_vae",
                "parted_vae",
                "parted_vae_ss",
                "weak_de",
                "mtd",
            ),
            tasks=("combinations",),
            worlds=("dsprites", "shapes3d", "mpi3d_toy"),
            full="unknot study mahon2024",
            small="unknot study mahon2024_small",
            parts=("mahon2024",),
        ),
        Paper(
            key="duan2020",
            title="Unsupervised Model Selection for Variational Disentangled Representation Learning",
            authors=(
                "Duan, Sunny",
                "Matthey, Loic",
                "Saraiva, Andre",
                "Watters, Nicholas",
                "Burgess, Christopher P.",
                "Lerchner, Alexander",
                "Higgins, Irina",
            ),
            year=2020,
            venue=_ICLR,
            address="https://arxiv.org/abs/1905.12614",
            question="Which of many trained models is disentangled, if there are no labels (UDR)?",
            metrics=("beta_vae_score", "factor_vae_score", "mig", "dci"),
            models=_SIX_VAES,
            tasks=("fairness",),
            worlds=("dsprites", "cars3d", "shapes3d"),
            commands=("rank",),
            full="unknot study duan2020",
            small="unknot study duan2020_small",
            parts=("duan2020",),
        ),
        Paper(
            key="xie2022",
            title="COAT: Measuring Object Compositionality in Emergent Representations",
            authors=("Xie, Sirui", "Morcos, Ari", "Zhu, Song-Chun", "Vedantam, Ramakrishna"),
            year=2022,
            venue="International Conference on Machine Learning (ICML)",
            address="https://proceedings.mlr.press/v162/xie22b.html",
            question="Is the code of a scene a sum over its objects, whether or not the model has slots (COAT)?",
            metrics=(),
            models=("slot_attention", "iodine", "moco_v2", "beta_tc_vae"),
            tasks=("algebra",),
            worlds=("scenes_rendered", "scenes_corr_rendered"),
            commands=("data scenes", "data corpus", "data import-coat"),
            full="unknot study xie2022",
            small="unknot study xie2022_small",
            parts=("pixels", "slots", "objects"),
        ),
        Paper(
            key="schott2022",
            title="Visual Representation Learning Does Not Generalize Strongly Within the Same Domain",
            authors=(
                "Schott, Lukas",
                "von Kügelgen, Julius",
                "Träuble, Frederik",
                "Gehler, Peter",
                "Russell, Chris",
                "Bethge, Matthias",
                "Schölkopf, Bernhard",
                "Locatello, Francesco",
                "Brendel, Wieland",
            ),
            year=2022,
            venue=_ICLR,
            address="https://arxiv.org/abs/2107.08221",
            question="Are factors read correctly where their values, or combinations of them, were never seen?",
            metrics=("r2", "dci"),
            models=(
                "beta_vae",
                "ada_gvae",
                "slow_vae",
                "pcl",
                "mlp",
                "cnn",
                "coord_conv",
                "set_encoder",
                "rot_eq",
                "rot_eq_big",
                "spatial_transformer",
                "bit_resnet50",
                "bit_resnet101",
                "densenet121",
            ),
            tasks=("generalisation",),
            worlds=("dsprites", "dsprites_quarter", "shapes3d", "mpi3d_real", "mpi3d_toy", "celeb_glow"),
            commands=("data split", "leaderboard"),
            full="unknot study schott2022",
            small="unknot study schott2022_small",
            parts=("schott2022",),
        ),
        Paper(
            key="vansteenkiste2019",
            title="Are Disentangled Representations Helpful for Abstract Visual Reasoning?",
            authors=(
                "van Steenkiste, Sjoerd",
                "Locatello, Francesco",
                "Schmidhuber, Jürgen",
                "Bachem, Olivier",
            ),
            year=2019,
            venue="Advances in Neural Information Processing Systems (NeurIPS)",
            address="https://arxiv.org/abs/1905.12506",
            question="Does a reasoner learn abstract puzzles from fewer examples if the code is disentangled?",
            metrics=("beta_vae_score", "factor_vae_score", "mig", "dci", "sap", "gbt_accuracy", "lr_accuracy"),
            models=_SIX_VAES,
            tasks=("reasoning",),
            worlds=("abstract_dsprites", "shapes3d"),
            full="unknot study vansteenkiste2019",
            small="unknot study vansteenkiste2019_small",
            parts=("vansteenkiste2019", "reasoning"),
        ),
    )
}

_BEFORE = ("mahon2024", "duan2020", "xie2022", "schott2022", "vansteenkiste2019")  # were s0 to s4


def find_paper(key: str) -> Paper:
    """A paper by its key.

    >>> find_paper("duan2020").short
    'Duan et al. 2020'
    """
    if new := renamed(key):
        raise UnknotError(f"papers: {key} is now called {new}.", field="key", value=key, expected=new)
    if not isinstance(key, str) or key not in PAPERS:
        raise unknown("paper", key, PAPERS, field="key")
    return PAPERS[key]


def renamed(name: str) -> str | None:
    """What a paper, or a study or preset of it, is called now; None for a name that never began with s0 to s4.

    >>> renamed("s1_small"), renamed("s3"), renamed("duan2020")
    ('duan2020_small', 'schott2022', None)
    """
    old = re.fullmatch(r"[sS]([0-4])(_\w+)?", name) if isinstance(name, str) else None
    return _BEFORE[int(old[1])] + (old[2] or "") if old else None


def tables(key: str) -> dict[str, PublishedTable]:
    """The published tables of a paper by name.

    >>> tables("schott2022")["table5"].caption
    'R² of 17 models on four splits of dSprites.'
    """
    return tables_of(find_paper(key))


def table(key: str, name: str) -> "pd.DataFrame":
    """A published table, one row a number, with what is doubtful about it and where it stands.

    >>> scores = table("schott2022", "table5")
    >>> scores[(scores["split"] == "extrapolation") & (scores["value"] > 63)][["printed", "value", "spread", "unit"]]
         printed  value  spread     unit
    11   SlowVAE   66.7     1.7  percent
    55  DenseNet   64.4     3.7  percent
    """
    return table_of(find_paper(key), name).read()


__all__ = ["PAPERS", "Paper", "PublishedTable", "find_paper", "renamed", "table", "tables"]
