"""Who is asked in an audit: encoders by names of their own, and the floors beside them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unknot.encoders.encoder import Opening
from unknot.encoders.floors import UNTRAINED, random_projection, raw_pixels, untrained_twin
from unknot.encoders.source import Source
from unknot.errors import UnknotError

WHO = "audit"
WORLD = "shapes3d_rendered"
FLOORS: Mapping[str, Callable[..., Any]] = {"raw pixels": raw_pixels, "random projection": random_projection}


@dataclass(frozen=True)
class Asked:
    """An encoder that is asked.

    Attributes:
        source: what encodes, and the world.
        title: its name, where its label does not tell it from others.
        floor: whether it is there for comparison alone.
    """

    source: Source
    title: str = ""
    floor: bool = False

    @property
    def name(self) -> str:
        """What results call it."""
        return self.title or f"{self.source.label}{self.place}"

    @property
    def place(self) -> str:
        """Which part of a network it is, where that was chosen."""
        opening = self.source.opening
        return f" at {opening.layer}" * bool(opening.layer) + f" ({opening.pool})" * bool(opening.pool)


def own_world(encoders: Sequence[Any], opening: Opening) -> str:
    """The world of the first run, or else rendered Shapes3D."""
    specs = [Source.of(which, opening=opening, who=WHO).spec for which in encoders]
    return next((spec.world for spec in specs if spec is not None), WORLD)


def asked_of(
    encoders: Sequence[Any],
    world: str,
    opening: Opening,
    *,
    layers: Sequence[str] = (),
    pools: Sequence[str] = (),
    floors: bool = True,
) -> list[Asked]:
    """Encoders at every layer and by every pooling, then floors; all can encode, and have names of their own."""
    openings = [
        replace(opening, layer=layer, pool=pool)
        for layer in layers or [opening.layer]
        for pool in pools or [opening.pool]
    ]
    asked = _told_apart([Asked(Source.of(which, world, how, who=WHO)) for which in encoders for how in openings])
    if floors:
        asked += _floors(asked, world, opening)
    names = [each.name for each in asked]
    if again := [name for name in names if names.count(name) > 1]:
        raise UnknotError(f"{WHO}: {again[0]} is named twice; name each encoder once.")
    for each in asked:
        _must_encode(each.source)
    return asked


def _told_apart(asked: Sequence[Asked]) -> list[Asked]:
    """Encoders with names of their own: of those called alike, runs by id, files by name, objects by number.

    Where ids or names are alike too, they are told apart by folders.
    """
    told, seen = [], dict[str, list[Any]]()
    for each in asked:
        source, others = each.source, seen.setdefault(each.name, [])
        title = each.title
        alike = [other.source for other in asked if other.name == each.name]
        if len(alike) > 1 and source.run is not None:
            runs, own = [other.run for other in alike if other.run is not None], source.run.spec.id
            if [run.spec.id for run in runs].count(own) > 1:
                own = _end(source.run.folder, [run.folder for run in runs])
            title = f"{source.label} (run {own}){each.place}"
        elif len(alike) > 1 and isinstance(source.which, str | Path):
            files = [other.which for other in alike if isinstance(other.which, str | Path)]
            title = f"{source.label} ({_end(source.which, files)}){each.place}"
        elif others and not any(source.which is other for other in others):
            title = f"{source.label} ({len(others) + 1}){each.place}"
        others.append(source.which)
        told.append(replace(each, title=title))
    return told


def _end(path: Path | str, others: Sequence[Path | str]) -> str:
    """As many of the last parts of a path as tell it from others; those that are the same path stay alike.

    >>> _end("one/pca.skops", ["one/pca.skops", "two/pca.skops"]), _end("a.skops", ["b.skops", "./a.skops"])
    ('one/pca.skops', 'a.skops')
    """
    paths = (Path(each).expanduser() for each in (path, *others))
    own, *rest = (Path(os.path.abspath(each)).parts for each in paths)  # noqa: PTH100, since links keep their names
    rest = [parts for parts in rest if parts != own]
    n = next(n for n in range(1, len(own) + 1) if all(parts[-n:] != own[-n:] for parts in rest))
    return str(Path(*own[-n:]))


def _must_encode(source: Source) -> None:
    """An error if a source cannot encode images of its world, before anything is measured."""
    if source.representation is not None:
        raise UnknotError(f"{WHO}: {source.label} holds latents, and an audit shows images; name an encoder.")
    if source.world.factors.names == ("image",):
        raise UnknotError(
            f"{WHO}: {source.world_name} has no factors that could be asked for; choose a world that has, such as "
            f"{WORLD}.",
            field="world",
        )
    source.encoder_of(source.world.image_shape)


def _floors(asked: Sequence[Asked], world: str, opening: Opening) -> list[Asked]:
    """Pixels, a projection, and the untrained twins of those that have one and were not named with it."""
    plain = replace(opening, pool="", image_size=None, layer="")
    floors = [(name, which, plain) for name, which in FLOORS.items()]
    for each in asked:
        if (twin := untrained_twin(each.source)) is not None:
            name, which = twin
            if each.title and not isinstance(which, str):  # a name is that of one twin, whatever the weights
                name = f"{each.title}, {UNTRAINED}"
            else:
                name += each.place
            floors.append((name, which, plain if each.source.run else each.source.opening))
    known = {each.name for each in asked}
    return [
        Asked(Source(which, world, how, who=WHO), name, floor=True)
        for name, which, how in dict((floor[0], floor) for floor in floors).values()
        if name not in known
    ]
