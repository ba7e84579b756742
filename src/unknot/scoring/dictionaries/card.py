"""The card of a dictionary: `unknot.dictionary_card(codes, decoder, factors)`."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import Rows, prepare
from unknot.metrics.latents import Checked, checked_latents
from unknot.metrics.matching import directions
from unknot.progress import Progress, silent
from unknot.reading.arguments import checked
from unknot.reading.arrays import as_array
from unknot.reading.decoders import checked_decoder, read_decoder
from unknot.representation import Representation, read_representation
from unknot.scoring.dictionaries.agreement import Agreement, agreements
from unknot.scoring.dictionaries.concepts import Concept, Firing, concepts
from unknot.scoring.dictionaries.latents import DENSE, duplicates, firing, rates
from unknot.scoring.rows import Data, whole
from unknot.tables.labels import labels_of

WHO = "dictionary_card"


@dataclass(frozen=True)
class DictionaryCard:
    """What a dictionary is worth.

    Attributes:
        n_rows: rows of codes, held-out ones included.
        n_latents: of the dictionary.
        width: of what it decodes to.
        rates: (d,) share of the rows in which each latent fires.
        dead: latents that never fire.
        dense: latents that fire in more than a tenth of the rows.
        duplicates: groups of latents that have one direction.
        concepts: what became of each concept; empty without factors.
        agreement: of every two dictionaries.
        notes: what was left out.
        seed: decides the held-out rows.
    """

    n_rows: int
    n_latents: int
    width: int
    rates: Floats
    dead: Ints
    dense: Ints
    duplicates: tuple[tuple[int, ...], ...]
    concepts: tuple[Concept, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int = 0

    def values(self) -> dict[str, float]:
        """The headline numbers, by name; those of concepts are means over them."""
        d = max(1, self.n_latents)
        repeated = sum(len(group) - 1 for group in self.duplicates)
        numbers = {
            "active_per_row": float(self.rates.sum()),
            "dead": len(self.dead) / d,
            "dense": len(self.dense) / d,
            "duplicated": repeated / d,
        }
        if self.concepts:
            numbers |= {
                "best_auroc": float(np.nanmean([concept.area for concept in self.concepts])),
                "f1": float(np.mean([concept.f1 for concept in self.concepts])),
                "f1_of_parts": float(np.mean([concept.f1_of_parts for concept in self.concepts])),
                "split": float(np.mean([concept.split for concept in self.concepts])),
                "absorbed": float(np.mean([concept.absorbed for concept in self.concepts])),
            }
        dense = [concept.dense_area for concept in self.concepts if concept.dense_area is not None]
        numbers |= {"best_auroc_of_dense": float(np.nanmean(dense))} if dense else {}
        if self.agreement:
            numbers["mcc"] = float(np.mean([pair.mcc for pair in self.agreement]))
        udr = [pair.udr for pair in self.agreement if pair.udr is not None]
        return numbers | ({"udr": float(np.nanmean(udr))} if udr else {})

    def record(self) -> dict[str, Any]:
        """All of it by name, arrays as they are; rates of single latents are left out."""
        record = asdict(self)
        del record["rates"]
        return {"values": self.values(), **record}


@checked
def dictionary_card(
    codes: Any,
    decoder: Any,
    factors: Any = None,
    *,
    dense: Any = None,
    others: Sequence[Any] = (),
    other_codes: Sequence[Any] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> DictionaryCard:
    """Say what a sparse dictionary does, what it makes of each concept, and whether other seeds find it again.

    Args:
        codes: (n, d) what the latents were in each row, sparse or not; or a `Representation`, or the path of its file,
            which may also name factors, hold out rows and say which rows belong together.
        decoder: (d, w) the direction of each latent; or a file of SAELens or dictionary_learning, or its folder.
        factors: (n, f) labels of each row, as for `score`; without them nothing is said of concepts.
        dense: (n, w) activations of the same rows, to be looked at beside the codes.
        others: decoders of dictionaries from other seeds.
        other_codes: theirs of the same rows, in the same order, for UDR.
        seed: decides the held-out rows, unless the codes bring their own.
        progress: told how many latents were compared.

    >>> import unknot
    >>> planted = unknot.examples.dictionary()
    >>> card = dictionary_card(planted.codes, planted.decoder, planted.factors)
    >>> len(card.dead) == len(planted.dead), set(card.duplicates) == set(planted.duplicates)
    (True, True)
    """
    representation = _codes(codes, factors)
    latents = checked_latents(WHO, representation.latents)
    tests = representation.latents_test
    tests = None if tests is None else checked_latents(WHO, tests, "latents_test")
    representation = replace(representation, latents=latents, latents_test=tests)
    weights = _decoders(decoder, others)
    _check_decoders(weights, latents.shape[1])
    ways = {name: directions(vectors) for name, vectors in weights.items()}
    own = next(iter(ways.values()))
    fires = firing(latents)
    rate = rates(fires)
    if tests is not None:
        n, m = latents.shape[0], tests.shape[0]
        rate = (rate * n + rates(firing(tests)) * m) / (n + m)
    repeated = duplicates(own, np.flatnonzero(rate > 0), progress)
    found, notes = _concepts(representation, own, repeated, dense, seed)
    agreement, left_out = agreements(ways, _same_rows(latents, weights, other_codes), progress)
    return DictionaryCard(
        n_rows=latents.shape[0] + (0 if tests is None else tests.shape[0]),
        n_latents=latents.shape[1],
        width=own.shape[1],
        rates=rate,
        dead=np.flatnonzero(rate == 0),
        dense=np.flatnonzero(rate > DENSE),
        duplicates=repeated,
        concepts=tuple(found),
        agreement=tuple(agreement),
        notes=(*notes, *left_out),
        seed=seed,
    )


def _codes(codes: Any, factors: Any) -> Representation:
    if isinstance(codes, str | Path | Representation):
        if factors is not None:
            raise UnknotError(
                f"{WHO}: factors beside a file or a Representation of codes would be passed over; put them into one "
                "Representation."
            )
        return codes if isinstance(codes, Representation) else read_representation(codes)
    return Representation(codes, None if factors is None else labels_of(factors, who=WHO))


def _decoders(decoder: Any, others: Sequence[Any]) -> dict[str, NDArray[np.float32]]:
    """All decoders by name, that of the codes first."""
    result: dict[str, NDArray[np.float32]] = {}
    for i, source in enumerate([decoder, *others]):
        file = isinstance(source, str | Path)
        name = str(source) if file else f"other {i}" if i else "the dictionary"
        if name in result:
            raise UnknotError(f"{WHO}: {name} is given twice; name each dictionary once.")
        own = f"{WHO}: {name}"
        result[name] = read_decoder(source) if file else checked_decoder(own, as_array(source, WHO, name))
    return result


def _check_decoders(weights: Mapping[str, NDArray[np.float32]], d: int) -> None:
    """Refuse decoders that do not belong to the codes, or not to each other."""
    own = next(iter(weights.values()))
    if len(own) != d:
        turned = " It is the other way round: pass its transpose." if own.shape[1] == d else ""
        raise UnknotError(
            f"{WHO}: the codes have {d} latents, the decoder {len(own)}, of width {own.shape[1]}; both must be of one "
            f"dictionary.{turned}"
        )
    for name, other in weights.items():
        if other.shape[1] != own.shape[1]:
            raise UnknotError(
                f"{WHO}: {name} decodes to {other.shape[1]} numbers, the dictionary to {own.shape[1]}; dictionaries "
                "are compared in one space."
            )


def _same_rows(latents: Any, weights: Mapping[str, Any], other_codes: Sequence[Any]) -> list[Any]:
    """The codes of all dictionaries, if those of the others were given."""
    if not len(other_codes):
        return []
    others = list(weights.items())[1:]
    if len(other_codes) != len(others):
        raise UnknotError(
            f"{WHO}: {len(other_codes)} other_codes for {len(others)} others; give the codes of each."
        )
    result = [latents]
    for (name, decoder), codes in zip(others, other_codes, strict=True):
        z = checked_latents(WHO, _codes(codes, None).latents, f"codes of {name}")
        if z.shape != (latents.shape[0], len(decoder)):
            raise UnknotError(
                f"{WHO}: codes of {name} have shape {z.shape}; expected {latents.shape[0]} rows, those of the "
                f"dictionary, and the {len(decoder)} latents of its decoder."
            )
        result.append(z)
    return result


def _concepts(
    representation: Representation,
    ways: NDArray[np.float32],
    repeated: Sequence[Sequence[int]],
    dense: Any,
    seed: int,
) -> tuple[list[Concept], list[str]]:
    """What became of each concept, and what was left out."""
    beside = None if dense is None else with_activations(representation, dense)
    if representation.factors is None:
        return [], ["no factors: nothing is said of concepts."]
    data = whole(representation, tested=True).split(seed)
    activations = None if beside is None else whole(beside, tested=True).split(seed)
    with warnings.catch_warnings(action="ignore", category=UnknotWarning):  # constant factors are listed below
        rows = _rows(data)
    same = np.arange(len(ways))
    for group in repeated:
        same[list(group)] = group[0]
    where = Firing(firing(data.latents), firing(data.latents_test), ways, same)
    pair = None if activations is None else (activations.latents, activations.latents_test)
    found = concepts(rows, where, dict(representation.words), pair)
    notes = [f"factor '{name}' was left out: {why}." for name, why in rows.skipped.items()]
    measured = [rows.names[j] for j in rows.kept[rows.continuous]]
    notes += [f"factor '{name}' was left out: a measurement has no concepts." for name in measured]
    if not found:
        notes.append("no concept has enough rows: 20 to choose on and 10 to measure on are needed.")
    return found, notes


def _rows(data: Data) -> Rows:
    return prepare(
        WHO,
        Checked(data.latents),
        data.factors,
        Checked(data.latents_test),
        data.factors_test,
        as_is=True,
        gaps=True,
    )


def with_activations(representation: Representation, dense: Any) -> Representation:
    """Activations in the place of the codes, with the same labels and groups."""
    other = _codes(dense, None)
    for name in ("latents", "latents_test"):
        own, theirs = vars(representation)[name], vars(other)[name]
        if (own is None) != (theirs is None) or (own is not None and own.shape[0] != theirs.shape[0]):
            counts = ["no" if rows is None else str(rows.shape[0]) for rows in (own, theirs)]
            raise UnknotError(
                f"{WHO}: {name} of the codes has {counts[0]} rows, of the dense activations {counts[1]}; both need the "
                "same rows in the same order."
            )
    test = None if other.latents_test is None else checked_latents(WHO, other.latents_test, "dense latents_test")
    return replace(
        representation,
        latents=checked_latents(WHO, other.latents, "dense"),
        latents_test=test,
        kl=None,
        logvars=None,
    )
