"""The catalogue of worlds, and how one of them, or anybody's own, is opened.

The key of a world is its name here. Everything published about it hangs on its `Entry`: variants and stand-ins state
the same facts by naming the same constants, and nothing is concluded from how a name begins.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from unknot.errors import UnknotError, unknown
from unknot.factors import FactorSpace, numbered
from unknot.reading.arguments import checked, must_be_a_path
from unknot.worlds import image_folder
from unknot.worlds.array_world import ArrayWorld, read_arrays
from unknot.worlds.entry import Conventions, Entry, PublishedFile
from unknot.worlds.published import cars3d, celeb_glow, dsprites, mpi3d, multi_object, shapes3d, small_norb
from unknot.worlds.published.data_folders import require_files
from unknot.worlds.rendered import abstract_dsprites
from unknot.worlds.rendered.abstract_dsprites import AbstractDSprites
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
from unknot.worlds.rendered.dsprites_variants import (
    SCREAM,
    color_dsprites,
    noisy_dsprites,
    scream_dsprites,
    scream_stand_in_dsprites,
)
from unknot.worlds.rendered.mpi3d_rendered import mpi3d_rendered
from unknot.worlds.rendered.shapes3d_rendered import shapes3d_rendered
from unknot.worlds.scenes import arena_world
from unknot.worlds.scenes.multi_sprites import MultiSprites
from unknot.worlds.scenes.scenes_rendered import ScenesRendered
from unknot.worlds.scenes.small_scenes import SmallScenes
from unknot.worlds.world import KeylessWorld, World, as_world


@checked
def open_world(world: str | Path | KeylessWorld, *, data: Path | str | None = None) -> World:
    """Open a world by its key, or from a file or folder of one's own; an object that is a world is taken as it is.

    A published file that is not here is an error, which names the rendered stand-in; none is taken in its place.
    A published file in any other place opens as what it is, by its name.

    Args:
        world: one of `WORLDS`; or an `.npz` or `.npy` of images; or a folder of pictures, of scenes, of CLEVR, CLEVRTex
            or Kubric; or a `.tfrecords` file of the multi-object datasets; or an object.
        data: the folder that holds published files (or the file itself); else `UNKNOT_DATA`, else the user's cache.

    >>> world = open_world("dsprites_rendered")
    >>> world.key, world.name, world.factors.size, world.image_shape
    ('dsprites_rendered', 'dSprites (rendered)', 737280, (64, 64, 1))
    """
    if not isinstance(world, str | Path):
        return as_world(world)
    if isinstance(world, str) and world in WORLDS:
        entry = WORLDS[world]
        folder = None if data is None else Path(data).expanduser()
        return entry.open(require_files(world, entry, folder) if entry.files else ())
    must_be_a_path("world", world)
    path = Path(world).expanduser()
    if path.is_dir():
        return _scene_folder(path) or image_folder.read(path)
    published = _read_from(path.name) if path.is_file() else None
    if published is not None:
        return published.open((path,))
    if path.suffix in (".npz", ".npy"):
        return read_arrays(path)
    if path.suffix in multi_object.SUFFIXES and path.is_file():
        return multi_object.read(path)
    keys = ", ".join(sorted(WORLDS))
    if path.exists():
        raise UnknotError(
            f"{path}: is no world; expected an .npz or .npy of images, a folder of pictures, or one of {keys}.",
            field="world",
        )
    if len(path.parts) > 1:
        raise UnknotError(
            f"{path}: there is no such file or folder; expected one of images, or one of {keys}.", field="world"
        )
    raise unknown("world", str(world), WORLDS, field="world")


def _scene_folder(path: Path) -> World | None:
    """The world in a folder of scenes: ours, a corpus, CLEVR's, CLEVRTex's or Kubric's; None if it is none of these."""
    from unknot.worlds.scenes import chunks, clevr, corpus, dataset, object_folders

    if (path / "corpus.json").is_file():
        return corpus.corpus_world(path)
    if (path / "dataset.json").is_file() or (path / chunks.MAKING / "plan.json").is_file():
        return dataset.open_scenes(path)
    if (path / "images").is_dir() and any((path / "scenes").glob("CLEVR_*_scenes.json")):
        return clevr.read_clevr(path)
    if object_folders.is_clevrtex(path):
        return object_folders.read_clevrtex(path)
    if object_folders.is_kubric(path):
        return object_folders.read_kubric(path)
    return None


def _read_from(file: str) -> Entry | None:
    """The world that is read from a published file of this name alone, if any."""
    for entry in WORLDS.values():
        if any([part.name for part in files] == [file] for files in entry.choices):
            return entry
    return None


def conventions(key: str) -> Conventions:
    """What papers fixed for the world of a key: nothing for somebody's own.

    >>> conventions("mpi3d_rendered").still, conventions("").rule
    (('shape',), None)
    """
    return WORLDS[key].conventions if key in WORLDS else Conventions()


def recorded_name(world: str | Path | KeylessWorld) -> str:
    """The name of a world in records and results; one of the catalogue stands for that world and for no other.

    A name or a path stays as it is written; an object goes by its key, or else by its name.

    >>> recorded_name(open_world("dsprites_rendered"))
    'dsprites_rendered'
    """
    if isinstance(world, str):
        return world
    key = "" if isinstance(world, Path) else as_world(world).key
    name = str(world) if isinstance(world, Path) else world.name
    return key or (f"./{name}" if name in WORLDS else name)


_DSPRITES = "Matthey et al. 2017, dSprites: Disentanglement testing Sprites dataset"
_VARIANTS = "Locatello et al. 2019, Challenging Common Assumptions, arXiv:1811.12359"
_REASONING = "van Steenkiste et al. 2019, Are Disentangled Representations Helpful for Abstract Visual Reasoning?"
_SHAPES3D = "Burgess and Kim 2018, 3D Shapes Dataset"
_MPI3D = (
    "Gondal et al. 2019, On the Transfer of Inductive Bias from Simulation to the Real World, arXiv:1906.03292"
)
_SCHOTT = "Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same Domain"
_COAT = "Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations"


def _sprites(
    title: str,
    reference: str,
    stand_in: str,
    made_of: Callable[[ArrayWorld], World],
    factors: FactorSpace = dsprites.SPACE,
    conventions: Conventions = dsprites.CONVENTIONS,
) -> Entry:
    """A world made of dSprites, which is read from either of its files."""
    return Entry(
        title,
        factors,
        "Apache-2.0",
        reference,
        lambda paths: made_of(dsprites.read(paths[0])),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in=stand_in,
        conventions=conventions,
    )


def _mpi3d(
    key: str,
    file: PublishedFile,
    conventions: Conventions = mpi3d.CONVENTIONS,
    stand_in: str = "mpi3d_rendered",
    split_files: tuple[PublishedFile, ...] = (),
) -> Entry:
    """One of the files of MPI3D."""
    title, (factors, *_) = mpi3d.KINDS[key]
    return Entry(
        title,
        factors,
        "CC-BY-4.0",
        _MPI3D,
        lambda paths: mpi3d.read(paths[0], key),
        files=(file,),
        split_files=split_files,
        stand_in=stand_in,
        conventions=conventions,
    )


def _rendered(
    title: str,
    reference: str,
    draw: Callable[[], World],
    factors: FactorSpace = dsprites.SPACE,
    conventions: Conventions = dsprites.CONVENTIONS,
) -> Entry:
    """A world that needs no file; its images are ours."""
    return Entry(title, factors, "Apache-2.0", reference, lambda _: draw(), conventions=conventions)


WORLDS: dict[str, Entry] = {
    "dsprites": replace(
        _sprites("dSprites", _DSPRITES, "dsprites_rendered", lambda world: world), split_files=dsprites.SPLIT_FILES
    ),
    "dsprites_rendered": _rendered("dSprites (rendered)", _DSPRITES, DSpritesRendered),
    "dsprites_quarter": _sprites(
        "dSprites [0,90)",
        _SCHOTT,
        "dsprites_quarter_rendered",
        dsprites.quarter,
        dsprites.QUARTER_SPACE,
        dsprites.QUARTER_CONVENTIONS,
    ),
    "dsprites_quarter_rendered": _rendered(
        "dSprites [0,90) (rendered)",
        _SCHOTT,
        lambda: DSpritesRendered(quarter=True),
        dsprites.QUARTER_SPACE,
        dsprites.QUARTER_CONVENTIONS,
    ),
    "dsprites_color": _sprites("Color-dSprites", _VARIANTS, "dsprites_color_rendered", color_dsprites),
    "dsprites_color_rendered": _rendered(
        "Color-dSprites (rendered)", _VARIANTS, lambda: color_dsprites(DSpritesRendered())
    ),
    "dsprites_noisy": _sprites("Noisy-dSprites", _VARIANTS, "dsprites_noisy_rendered", noisy_dsprites),
    "dsprites_noisy_rendered": _rendered(
        "Noisy-dSprites (rendered)", _VARIANTS, lambda: noisy_dsprites(DSpritesRendered())
    ),
    "dsprites_scream": Entry(
        "Scream-dSprites",
        dsprites.SPACE,
        "Apache-2.0",
        _VARIANTS,
        lambda paths: scream_dsprites(dsprites.read(paths[0]), paths[1]),
        files=(dsprites.NPZ, SCREAM),
        alternatives=((dsprites.HDF5, SCREAM),),
        stand_in="dsprites_scream_rendered",
        conventions=dsprites.CONVENTIONS,
    ),
    "dsprites_scream_rendered": _rendered(
        "Scream-dSprites (rendered), procedural painting",
        _VARIANTS,
        lambda: scream_stand_in_dsprites(DSpritesRendered()),
    ),
    "abstract_dsprites": _sprites(
        "Abstract-dSprites",
        _REASONING,
        "abstract_dsprites_rendered",
        AbstractDSprites,
        abstract_dsprites.SPACE,
        abstract_dsprites.CONVENTIONS,
    ),
    "abstract_dsprites_rendered": _rendered(
        "Abstract-dSprites (rendered)",
        _REASONING,
        AbstractDSprites,
        abstract_dsprites.SPACE,
        abstract_dsprites.CONVENTIONS,
    ),
    "shapes3d": Entry(
        "Shapes3D",
        shapes3d.SPACE,
        "Apache-2.0",
        _SHAPES3D,
        lambda paths: shapes3d.read(paths[0]),
        files=(shapes3d.H5,),
        split_files=shapes3d.SPLIT_FILES,
        stand_in="shapes3d_rendered",
        conventions=shapes3d.CONVENTIONS,
    ),
    "shapes3d_rendered": _rendered(
        "Shapes3D (rendered)", _SHAPES3D, shapes3d_rendered, shapes3d.SPACE, shapes3d.CONVENTIONS
    ),
    "mpi3d_toy": _mpi3d("mpi3d_toy", mpi3d.TOY),
    "mpi3d_realistic": _mpi3d("mpi3d_realistic", mpi3d.REALISTIC),
    "mpi3d_real": _mpi3d("mpi3d_real", mpi3d.REAL, split_files=mpi3d.SPLIT_FILES),
    "mpi3d_real_complex": _mpi3d("mpi3d_real_complex", mpi3d.REAL_COMPLEX, mpi3d.COMPLEX_CONVENTIONS, stand_in=""),
    "mpi3d_rendered": _rendered("MPI3D (rendered)", _MPI3D, mpi3d_rendered, mpi3d.SPACE, mpi3d.CONVENTIONS),
    "celeb_glow": Entry(
        "CelebGlow",
        celeb_glow.SPACE,
        "research use",
        _SCHOTT,
        celeb_glow.read,
        files=celeb_glow.FILES,
        find=celeb_glow.find,
        split_files=celeb_glow.SPLIT_FILES,
        conventions=celeb_glow.CONVENTIONS,
    ),
    "cars3d": Entry(
        "Cars3D",
        cars3d.SPACE,
        "not stated",
        "Reed et al. 2015, Deep Visual Analogy-Making",
        lambda paths: cars3d.read(paths[0]),
        files=(cars3d.ARCHIVE,),
        conventions=cars3d.CONVENTIONS,
    ),
    "small_norb": Entry(
        "SmallNORB",
        small_norb.SPACE,
        "research use",
        "LeCun, Huang and Bottou 2004, Learning Methods for Generic Object Recognition",
        small_norb.read,
        files=small_norb.FILES,
        conventions=small_norb.CONVENTIONS,
    ),
    "scenes_rendered": _rendered("scenes, IID (rendered)", _COAT, ScenesRendered, numbered(23_000), Conventions()),
    "scenes_corr_rendered": _rendered(
        "scenes, CORR (rendered)", _COAT, lambda: ScenesRendered("corr"), numbered(23_000), Conventions()
    ),
    "scenes64_rendered": _rendered(SmallScenes.name, _COAT, SmallScenes, SmallScenes.factors, Conventions()),
    "arena_rendered": _rendered(
        "Sprites of the arena (rendered)",
        "Watters et al. 2019, COBRA, arXiv:1905.09275",
        arena_world.ArenaSprites,
        arena_world.SPACE,
        Conventions(),
    ),
    "multi_sprites_rendered": _rendered(
        "multi-object sprites (rendered)",
        "Kabra et al. 2019, Multi-Object Datasets",
        MultiSprites,
        numbered(60_000),
        Conventions(),
    ),
}
