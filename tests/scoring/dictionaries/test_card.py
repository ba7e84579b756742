"""The card of a dictionary: planted faults are found, noise finds nothing, bad input is refused."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import unknot
from unknot.errors import UnknotError, UnknotWarning
from unknot.examples import PlantedDictionary
from unknot.scoring.dictionaries.card import DictionaryCard, dictionary_card

Pairs = set[tuple[int, int]]


def _pairs(groups: tuple[tuple[int, ...], ...]) -> Pairs:
    return {(i, j) for group in groups for i in group for j in group if i < j}


def _faults(planted: PlantedDictionary, card: DictionaryCard) -> dict[str, tuple[Pairs, Pairs]]:
    """Fault -> where it was found, and where it is."""
    of_concept = {int(concept.name.removeprefix("factor_")): concept for concept in card.concepts}
    split = {(i, z) for i, concept in of_concept.items() if concept.split for z in concept.parts}
    absorbed = {(i, z) for i, concept in of_concept.items() for z in concept.absorbed_by}
    return {
        "split": (split, {(i, z) for i, latents in planted.split.items() for z in latents}),
        "absorbed": (absorbed, {(i, z) for i, latents in planted.absorbed.items() for z in latents}),
        "duplicated": (_pairs(card.duplicates), _pairs(planted.duplicates)),
    }


def test_planted_faults_are_found_with_precision_and_recall_of_95_percent() -> None:
    counts: dict[str, Counter[str]] = {}
    for seed in range(3):
        planted = unknot.examples.dictionary(seed=seed)
        card = dictionary_card(planted.codes, planted.decoder, planted.factors)
        assert card.dead.tolist() == list(planted.dead) and card.dense.tolist() == list(planted.dense)
        for fault, (found, there) in _faults(planted, card).items():
            counts.setdefault(fault, Counter()).update(found=len(found), there=len(there), both=len(found & there))
    for fault, count in counts.items():
        assert count["both"] >= 0.95 * count["found"], f"precision of {fault}: {count}"
        assert count["both"] >= 0.95 * count["there"], f"recall of {fault}: {count}"


def test_sparse_dense_and_stored_codes_have_one_card() -> None:
    planted = unknot.examples.dictionary(1_500, each=2)
    cards = [
        dictionary_card(codes, planted.decoder, planted.factors)
        for codes in (planted.codes, planted.codes.toarray(), planted.codes.tocsc())
    ]
    assert cards[0].concepts == cards[1].concepts == cards[2].concepts
    assert cards[0].values() == cards[1].values() == cards[2].values()


def test_latents_of_noise_are_worth_nothing_to_any_concept() -> None:
    rng = np.random.default_rng(0)
    codes = sparse.random(3_000, 4_000, density=0.01, random_state=rng, format="csr", dtype=np.float32)
    card = dictionary_card(codes, rng.normal(size=(4_000, 16)), rng.integers(0, 4, size=(3_000, 3)))
    assert len(card.concepts) == 12
    assert abs(card.values()["best_auroc"] - 0.5) < 0.01
    assert card.values()["split"] == 0 and card.values()["absorbed"] == 0
    assert np.mean([len(concept.parts) for concept in card.concepts]) < 0.1


def test_a_concept_by_hand() -> None:
    """Latent 0 fires for two thirds of the concept, 1 for the rest; 2 is a copy of 0, 3 is dead."""
    y = np.arange(600) % 4 == 0
    codes = np.zeros((600, 4))
    third = (np.arange(600) // 4) % 3 == 0
    codes[y & ~third, 0] = codes[y & ~third, 2] = 2.0
    codes[y & third, 1] = 1.0
    decoder = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.1, 0.0], [0.0, 0.0, 1.0]])
    card = dictionary_card(unknot.Representation(codes, y.astype(int), ("owl",)), decoder)
    (concept,) = card.concepts
    assert concept.name == "owl" and concept.parts == (0, 1) and concept.f1_of_parts == 1.0
    assert concept.n_rows + concept.n_test_rows == 150 and concept.absorbed == 0.0
    assert card.duplicates == ((0, 2),) and card.dead.tolist() == [3] and card.dense.tolist() == [0, 2]


def test_words_gaps_and_measurements_are_concepts_as_far_as_they_can_be() -> None:
    rng = np.random.default_rng(0)
    species = rng.choice(["ant", "bee", "owl"], 600).astype(object)
    codes = np.stack([species == name for name in ("ant", "bee", "owl")], axis=1).astype(np.float32)
    species[::7] = None
    factors = {"species": species, "age": rng.uniform(size=600)}
    card = dictionary_card(codes, np.eye(3), factors)
    assert [concept.name for concept in card.concepts] == ["species=ant", "species=bee", "species=owl"]
    assert [concept.parts for concept in card.concepts] == [(0,), (1,), (2,)]
    assert all(concept.area == 1.0 and concept.f1 == 1.0 for concept in card.concepts)
    assert "factor 'age' was left out: a measurement has no concepts." in card.notes


def test_dense_activations_stand_beside_and_rows_of_a_group_stay_together() -> None:
    planted = unknot.examples.dictionary(1_500, each=2)
    representation = unknot.Representation(planted.codes, planted.factors, groups=np.arange(1_500) // 10)
    card = dictionary_card(representation, planted.decoder, dense=planted.activations)
    assert all(concept.dense_unit is not None for concept in card.concepts)
    assert 0.5 < card.values()["best_auroc_of_dense"] < 1.0


def test_other_seeds_are_matched_with_a_proof_and_by_their_codes() -> None:
    planted = unknot.examples.dictionary(1_000, each=2)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(planted.decoder))
    same, noise = planted.decoder[order], rng.normal(size=(40, 128))
    codes = planted.codes.tocsc()[:, order]
    card = dictionary_card(
        planted.codes,
        planted.decoder,
        others=[same, noise],
        other_codes=[codes, np.abs(rng.normal(size=(1_000, 40)))],
    )
    first, second, third = card.agreement
    assert first.mcc == pytest.approx(1.0, abs=1e-6) and first.udr == pytest.approx(0.9, abs=0.02)
    assert second.mcc < 0.5 and second.udr is not None and second.udr < 0.3
    assert third.first == "other 1" and third.second == "other 2"
    assert all(pair.exact and pair.bound >= pair.mcc for pair in card.agreement)
    assert card.notes == ("no factors: nothing is said of concepts.",)


def test_udr_of_codes_that_are_too_wide_is_left_out_in_words() -> None:
    codes = np.ones((50, 1_100))
    card = dictionary_card(codes, np.eye(1_100), others=[np.eye(1_100)[::-1]], other_codes=[codes])
    assert card.agreement[0].udr is None and card.agreement[0].mcc == 1.0
    assert card.notes[-1] == "UDR was left out: 1100 latents fire, and it compares up to 1024."


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"decoder": np.ones((9, 4))}, "the codes have 6 latents, the decoder 9, of width 4"),
        ({"decoder": np.ones((4, 6))}, "the other way round: pass its transpose"),
        ({"decoder": np.full((6, 4), np.inf)}, "NaN or infinite entries, first those of latent 0"),
        ({"decoder": np.ones(6)}, r"a decoder of shape \(6,\)"),
        ({"decoder": "nowhere.safetensors"}, "nowhere.safetensors: no such file"),
        ({"others": [np.ones((6, 5))]}, "other 1 decodes to 5 numbers, the dictionary to 4"),
        ({"others": [np.ones((7, 4))], "other_codes": [np.ones((50, 6))]}, "codes of other 1 have shape"),
        ({"other_codes": [np.ones((50, 6))]}, "1 other_codes for 0 others"),
        ({"dense": np.ones((49, 4))}, "latents of the codes has 50 rows, of the dense activations 49"),
        ({"dense": np.full((50, 4), np.nan)}, "dense has 200 NaN"),
        ({"codes": np.full((50, 6), np.nan)}, "latents has 300 NaN or infinite entries"),
        ({"codes": sparse.csr_array(np.full((50, 6), np.nan))}, "300 NaN or infinite entries among the 300"),
        ({"codes": np.ones((200, 6)), "factors": np.arange(200)}, "identifier"),
        ({"factors": np.ones(49)}, "50 rows, factors has 49"),
        ({"codes": unknot.Representation(np.ones((50, 6))), "factors": np.ones(50)}, "factors beside a file"),
    ],
)
def test_bad_input_is_refused_in_words(change: dict[str, object], words: str) -> None:
    given = {"codes": np.ones((50, 6)), "decoder": np.ones((6, 4)), "factors": np.arange(50) % 2, **change}
    with pytest.raises(UnknotError, match=words):
        dictionary_card(given.pop("codes"), given.pop("decoder"), given.pop("factors"), **given)


def test_unsorted_and_repeated_entries_are_put_in_order_with_a_note() -> None:
    planted = unknot.examples.dictionary(600, each=1)
    codes = planted.codes.tocoo()
    rows, columns = (np.concatenate([part, part])[::-1] for part in (codes.row, codes.col))
    data = np.concatenate([codes.data, codes.data])[::-1] / 2
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=600)))
    order = np.argsort(rows, kind="stable")
    untidy = sparse.csr_array((data[order], columns[order], starts), shape=codes.shape)
    with pytest.warns(UnknotWarning, match="entries stood twice and were added up"):
        card = dictionary_card(untidy, planted.decoder, planted.factors)
    assert card.concepts == dictionary_card(planted.codes, planted.decoder, planted.factors).concepts
