"""The catalogue of worlds, and how one of them, or anybody's own, is opened.

The key of a world is its name here. Everything published about it hangs on its `Entry`: variants and stand-ins state
the same facts by naming the same constants, and nothing is concluded from how a name begins.
"""

from pathlib import Path

from unknot.errors import UnknotError, unknown
from unknot.factors import numbered
from unknot.worlds import image_folder
from unknot.worlds.array_world import read_arrays
from unknot.worlds.entry import Conventions, Entry
from unknot.worlds.published import cars3d, celeb_glow, dsprites, mpi3d, shapes3d, small_norb
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
from unknot.worlds.world import KeylessWorld, World, as_world


def open_world(world: str | Path | KeylessWorld, *, data: Path | str | None = None) -> World:
    """Open a world by its key, or from a file or folder of one's own; an object that is a world is taken as it is.

    A published file that is not here is an error, which names the rendered stand-in; none is taken in its place.
    A published file in any other place opens as what it is, by its name.

    Args:
        world: one of `WORLDS`; or an `.npz` or `.npy` of images; or a folder of pictures, of scenes, or CLEVR's; or
            an object.
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
    path = Path(world).expanduser()
    if path.is_dir():
        from unknot.worlds.scenes.folders import scene_folder

        return scene_folder(path) or image_folder.read(path)
    published = _read_from(path.name) if path.is_file() else None
    if published is not None:
        return published.open((path,))
    if path.suffix in (".npz", ".npy"):
        return read_arrays(path)
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


def _mpi3d_rendered() -> World:
    from unknot.worlds.rendered.mpi3d_rendered import mpi3d_rendered

    return mpi3d_rendered()


def _shapes3d_rendered() -> World:
    from unknot.worlds.rendered.shapes3d_rendered import shapes3d_rendered

    return shapes3d_rendered()


def _scenes_rendered(setting: str) -> World:
    from unknot.worlds.scenes.scenes_rendered import ScenesRendered

    return ScenesRendered(setting)


def _multi_sprites() -> World:
    from unknot.worlds.scenes.multi_sprites import MultiSprites

    return MultiSprites()


_OURS = "Apache-2.0"
_DSPRITES = "Matthey et al. 2017, dSprites: Disentanglement testing Sprites dataset"
_VARIANTS = "Locatello et al. 2019, Challenging Common Assumptions, arXiv:1811.12359"
_REASONING = "van Steenkiste et al. 2019, Are Disentangled Representations Helpful for Abstract Visual Reasoning?"
_SHAPES3D = "Burgess and Kim 2018, 3D Shapes Dataset"
_MPI3D = (
    "Gondal et al. 2019, On the Transfer of Inductive Bias from Simulation to the Real World, arXiv:1906.03292"
)
_SCHOTT = "Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same Domain"
_COAT = "Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations"

WORLDS: dict[str, Entry] = {
    "dsprites": Entry(
        title="dSprites",
        factors=dsprites.SPACE,
        licence="Apache-2.0",
        reference=_DSPRITES,
        open=lambda paths: dsprites.read(paths[0]),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        split_files=dsprites.SPLIT_FILES,
        stand_in="dsprites_rendered",
        conventions=dsprites.CONVENTIONS,
    ),
    "dsprites_rendered": Entry(
        title="dSprites (rendered)",
        factors=dsprites.SPACE,
        licence=_OURS,
        reference=_DSPRITES,
        open=lambda _: DSpritesRendered(),
        conventions=dsprites.CONVENTIONS,
    ),
    "dsprites_quarter": Entry(
        title="dSprites [0,90)",
        factors=dsprites.QUARTER_SPACE,
        licence="Apache-2.0",
        reference=_SCHOTT,
        open=lambda paths: dsprites.quarter(dsprites.read(paths[0])),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="dsprites_quarter_rendered",
        conventions=dsprites.QUARTER_CONVENTIONS,
    ),
    "dsprites_quarter_rendered": Entry(
        title="dSprites [0,90) (rendered)",
        factors=dsprites.QUARTER_SPACE,
        licence=_OURS,
        reference=_SCHOTT,
        open=lambda _: DSpritesRendered(quarter=True),
        conventions=dsprites.QUARTER_CONVENTIONS,
    ),
    "dsprites_color": Entry(
        title="Color-dSprites",
        factors=dsprites.SPACE,
        licence="Apache-2.0",
        reference=_VARIANTS,
        open=lambda paths: color_dsprites(dsprites.read(paths[0])),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="dsprites_color_rendered",
        conventions=dsprites.CONVENTIONS,
    ),
    "dsprites_color_rendered": Entry(
        title="Color-dSprites (rendered)",
        factors=dsprites.SPACE,
        licence=_OURS,
        reference=_VARIANTS,
        open=lambda _: color_dsprites(DSpritesRendered()),
        conventions=dsprites.CONVENTIONS,
    ),
    "dsprites_noisy": Entry(
        title="Noisy-dSprites",
        factors=dsprites.SPACE,
        licence="Apache-2.0",
        reference=_VARIANTS,
        open=lambda paths: noisy_dsprites(dsprites.read(paths[0])),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="dsprites_noisy_rendered",
        conventions=dsprites.CONVENTIONS,
    ),
    "dsprites_noisy_rendered": Entry(
        title="Noisy-dSprites (rendered)",
        factors=dsprites.SPACE,
        licence=_OURS,
        reference=_VARIANTS,
        open=lambda _: noisy_dsprites(DSpritesRendered()),
        conventions=dsprites.CONVENTIONS,
    ),
    "dsprites_scream": Entry(
        title="Scream-dSprites",
        factors=dsprites.SPACE,
        licence="Apache-2.0",
        reference=_VARIANTS,
        open=lambda paths: scream_dsprites(dsprites.read(paths[0]), paths[1]),
        files=(dsprites.NPZ, SCREAM),
        alternatives=((dsprites.HDF5, SCREAM),),
        stand_in="dsprites_scream_rendered",
        conventions=dsprites.CONVENTIONS,
    ),
    "dsprites_scream_rendered": Entry(
        title="Scream-dSprites (rendered), procedural painting",
        factors=dsprites.SPACE,
        licence=_OURS,
        reference=_VARIANTS,
        open=lambda _: scream_stand_in_dsprites(DSpritesRendered()),
        conventions=dsprites.CONVENTIONS,
    ),
    "abstract_dsprites": Entry(
        title="Abstract-dSprites",
        factors=abstract_dsprites.SPACE,
        licence="Apache-2.0",
        reference=_REASONING,
        open=lambda paths: AbstractDSprites(dsprites.read(paths[0])),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="abstract_dsprites_rendered",
        conventions=abstract_dsprites.CONVENTIONS,
    ),
    "abstract_dsprites_rendered": Entry(
        title="Abstract-dSprites (rendered)",
        factors=abstract_dsprites.SPACE,
        licence=_OURS,
        reference=_REASONING,
        open=lambda _: AbstractDSprites(),
        conventions=abstract_dsprites.CONVENTIONS,
    ),
    "shapes3d": Entry(
        title="Shapes3D",
        factors=shapes3d.SPACE,
        licence="Apache-2.0",
        reference=_SHAPES3D,
        open=lambda paths: shapes3d.read(paths[0]),
        files=(shapes3d.H5,),
        split_files=shapes3d.SPLIT_FILES,
        stand_in="shapes3d_rendered",
        conventions=shapes3d.CONVENTIONS,
    ),
    "shapes3d_rendered": Entry(
        title="Shapes3D (rendered)",
        factors=shapes3d.SPACE,
        licence=_OURS,
        reference=_SHAPES3D,
        open=lambda _: _shapes3d_rendered(),
        conventions=shapes3d.CONVENTIONS,
    ),
    "mpi3d_toy": Entry(
        title="MPI3D toy",
        factors=mpi3d.SPACE,
        licence="CC-BY-4.0",
        reference=_MPI3D,
        open=lambda paths: mpi3d.read(paths[0], "mpi3d_toy"),
        files=(mpi3d.TOY,),
        stand_in="mpi3d_rendered",
        conventions=mpi3d.CONVENTIONS,
    ),
    "mpi3d_realistic": Entry(
        title="MPI3D realistic",
        factors=mpi3d.SPACE,
        licence="CC-BY-4.0",
        reference=_MPI3D,
        open=lambda paths: mpi3d.read(paths[0], "mpi3d_realistic"),
        files=(mpi3d.REALISTIC,),
        stand_in="mpi3d_rendered",
        conventions=mpi3d.CONVENTIONS,
    ),
    "mpi3d_real": Entry(
        title="MPI3D real",
        factors=mpi3d.SPACE,
        licence="CC-BY-4.0",
        reference=_MPI3D,
        open=lambda paths: mpi3d.read(paths[0], "mpi3d_real"),
        files=(mpi3d.REAL,),
        split_files=mpi3d.SPLIT_FILES,
        stand_in="mpi3d_rendered",
        conventions=mpi3d.CONVENTIONS,
    ),
    "mpi3d_real_complex": Entry(
        title="MPI3D real-complex",
        factors=mpi3d.COMPLEX_SPACE,
        licence="CC-BY-4.0",
        reference=_MPI3D,
        open=lambda paths: mpi3d.read(paths[0], "mpi3d_real_complex"),
        files=(mpi3d.REAL_COMPLEX,),
        conventions=mpi3d.COMPLEX_CONVENTIONS,
    ),
    "mpi3d_rendered": Entry(
        title="MPI3D (rendered)",
        factors=mpi3d.SPACE,
        licence=_OURS,
        reference=_MPI3D,
        open=lambda _: _mpi3d_rendered(),
        conventions=mpi3d.CONVENTIONS,
    ),
    "celeb_glow": Entry(
        title="CelebGlow",
        factors=celeb_glow.SPACE,
        licence="research use",
        reference=_SCHOTT,
        open=celeb_glow.read,
        files=celeb_glow.FILES,
        find=celeb_glow.find,
        split_files=celeb_glow.SPLIT_FILES,
        conventions=celeb_glow.CONVENTIONS,
    ),
    "cars3d": Entry(
        title="Cars3D",
        factors=cars3d.SPACE,
        licence="not stated",
        reference="Reed et al. 2015, Deep Visual Analogy-Making",
        open=lambda paths: cars3d.read(paths[0]),
        files=(cars3d.ARCHIVE,),
        conventions=cars3d.CONVENTIONS,
    ),
    "small_norb": Entry(
        title="SmallNORB",
        factors=small_norb.SPACE,
        licence="research use",
        reference="LeCun, Huang and Bottou 2004, Learning Methods for Generic Object Recognition",
        open=small_norb.read,
        files=small_norb.FILES,
        conventions=small_norb.CONVENTIONS,
    ),
    "scenes_rendered": Entry(
        title="scenes, IID (rendered)",
        factors=numbered(23_000),
        licence=_OURS,
        reference=_COAT,
        open=lambda _: _scenes_rendered("iid"),
    ),
    "scenes_corr_rendered": Entry(
        title="scenes, CORR (rendered)",
        factors=numbered(23_000),
        licence=_OURS,
        reference=_COAT,
        open=lambda _: _scenes_rendered("corr"),
    ),
    "multi_sprites_rendered": Entry(
        title="multi-object sprites (rendered)",
        factors=numbered(60_000),
        licence=_OURS,
        reference="Kabra et al. 2019, Multi-Object Datasets",
        open=lambda _: _multi_sprites(),
    ),
}
