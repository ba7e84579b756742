"""Observations with known factors: readers of the published files, renderers, splits and pairs.

`WORLDS` is the catalogue; `open_world` opens one of them, or anybody's file of images or folder of pictures.
"""

from pathlib import Path

from unknot.errors import UnknotError, unknown
from unknot.factors import numbered
from unknot.worlds import image_folder
from unknot.worlds.array_world import ArrayWorld, read_arrays
from unknot.worlds.entry import Entry, PublishedFile
from unknot.worlds.published import cars3d, celeb_glow, dsprites, mpi3d, shapes3d, small_norb
from unknot.worlds.published.files import missing, require_files
from unknot.worlds.rendered.abstract_dsprites import AbstractDSprites
from unknot.worlds.rendered.dsprites_rendered import QUARTER_SPACE, DSpritesRendered
from unknot.worlds.rendered.dsprites_variants import (
    SCREAM,
    color_dsprites,
    noisy_dsprites,
    scream_dsprites,
    scream_stand_in_dsprites,
)
from unknot.worlds.world import World, sample

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
_ABSTRACT_SPACE = AbstractDSprites().factors


def open_world(name: str | Path, *, data: Path | str | None = None) -> World:
    """Open a world by its name in the catalogue, or from a file or folder of one's own.

    A published file that is not here is an error, which names the rendered stand-in; none is taken in its place.

    Args:
        name: one of `WORLDS`; or an `.npz` or `.npy` of images; or a folder of pictures, of scenes, or CLEVR's.
        data: the folder that holds published files (or the file itself); else `UNKNOT_DATA`, else the user's cache.

    >>> world = open_world("dsprites_rendered")
    >>> world.name, world.factors.size, world.image_shape
    ('dSprites (rendered)', 737280, (64, 64, 1))
    """
    if isinstance(name, str) and name in WORLDS:
        return WORLDS[name].open(None if data is None else Path(data).expanduser())
    path = Path(name).expanduser()
    if path.is_dir():
        from unknot.worlds.scenes.folders import scene_folder

        return scene_folder(path) or image_folder.read(path)
    published = _published_as(path.name)
    if path.is_file() and published:
        return WORLDS[published].open(path)
    if path.suffix in (".npz", ".npy"):
        return read_arrays(path)
    if path.exists():
        raise UnknotError(
            f"{path}: is no world; expected an .npz or .npy of images, a folder of pictures, or one of "
            f"{', '.join(sorted(WORLDS))}.",
            field="world",
        )
    if len(path.parts) > 1:
        raise UnknotError(
            f"{path}: there is no such file or folder; expected one of images, or one of {', '.join(sorted(WORLDS))}."
        )
    raise unknown("world", str(name), WORLDS, field="world")


def _published_as(file_name: str) -> str:
    """The world that is read from a published file of this name alone, if any."""
    for name, entry in WORLDS.items():
        for files in (entry.files, *entry.alternatives):
            if len(files) == 1 and files[0].name == file_name:
                return name
    return ""


def _files(name: str, data: Path | None) -> tuple[Path, ...]:
    return require_files(name, WORLDS[name], data)


def _celeb_glow(data: Path | None) -> World:
    found = celeb_glow.find(data)
    if not found:
        raise missing("celeb_glow", WORLDS["celeb_glow"], data)
    return celeb_glow.read(found)


def _dsprites(name: str, data: Path | None) -> ArrayWorld:
    return dsprites.read(_files(name, data)[0])


def _mpi3d_rendered(data: Path | None) -> World:
    from unknot.worlds.rendered.mpi3d_rendered import mpi3d_rendered

    return mpi3d_rendered()


def _scenes_rendered(setting: str) -> World:
    from unknot.worlds.scenes.scenes_rendered import ScenesRendered

    return ScenesRendered(setting)


def _multi_sprites(data: Path | None) -> World:
    from unknot.worlds.scenes.multi_sprites import MultiSprites

    return MultiSprites()


def _shapes3d_rendered(data: Path | None) -> World:
    from unknot.worlds.rendered.shapes3d_rendered import shapes3d_rendered

    return shapes3d_rendered()


WORLDS: dict[str, Entry] = {
    "dsprites": Entry(
        title="dSprites",
        factors=dsprites.SPACE,
        licence="Apache-2.0",
        reference=_DSPRITES,
        open=lambda data: _dsprites("dsprites", data),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="dsprites_rendered",
    ),
    "dsprites_rendered": Entry(
        title="dSprites (rendered)",
        factors=dsprites.SPACE,
        licence=_OURS,
        reference=_DSPRITES,
        open=lambda data: DSpritesRendered(),
    ),
    "dsprites_quarter": Entry(
        title="dSprites [0,90)",
        factors=QUARTER_SPACE,
        licence="Apache-2.0",
        reference=_SCHOTT,
        open=lambda data: dsprites.quarter(_dsprites("dsprites_quarter", data)),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="dsprites_quarter_rendered",
    ),
    "dsprites_quarter_rendered": Entry(
        title="dSprites [0,90) (rendered)",
        factors=QUARTER_SPACE,
        licence=_OURS,
        reference=_SCHOTT,
        open=lambda data: DSpritesRendered(quarter=True),
    ),
    "dsprites_color": Entry(
        title="Color-dSprites",
        factors=dsprites.SPACE,
        licence="Apache-2.0",
        reference=_VARIANTS,
        open=lambda data: color_dsprites(_dsprites("dsprites_color", data)),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="dsprites_color_rendered",
    ),
    "dsprites_color_rendered": Entry(
        title="Color-dSprites (rendered)",
        factors=dsprites.SPACE,
        licence=_OURS,
        reference=_VARIANTS,
        open=lambda data: color_dsprites(DSpritesRendered()),
    ),
    "dsprites_noisy": Entry(
        title="Noisy-dSprites",
        factors=dsprites.SPACE,
        licence="Apache-2.0",
        reference=_VARIANTS,
        open=lambda data: noisy_dsprites(_dsprites("dsprites_noisy", data)),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="dsprites_noisy_rendered",
    ),
    "dsprites_noisy_rendered": Entry(
        title="Noisy-dSprites (rendered)",
        factors=dsprites.SPACE,
        licence=_OURS,
        reference=_VARIANTS,
        open=lambda data: noisy_dsprites(DSpritesRendered()),
    ),
    "dsprites_scream": Entry(
        title="Scream-dSprites",
        factors=dsprites.SPACE,
        licence="Apache-2.0",
        reference=_VARIANTS,
        open=lambda data: scream_dsprites(_dsprites("dsprites_scream", data), _files("dsprites_scream", data)[1]),
        files=(dsprites.NPZ, SCREAM),
        alternatives=((dsprites.HDF5, SCREAM),),
        stand_in="dsprites_scream_rendered",
    ),
    "dsprites_scream_rendered": Entry(
        title="Scream-dSprites (rendered), procedural painting",
        factors=dsprites.SPACE,
        licence=_OURS,
        reference=_VARIANTS,
        open=lambda data: scream_stand_in_dsprites(DSpritesRendered()),
    ),
    "abstract_dsprites": Entry(
        title="Abstract-dSprites",
        factors=_ABSTRACT_SPACE,
        licence="Apache-2.0",
        reference=_REASONING,
        open=lambda data: AbstractDSprites(_dsprites("abstract_dsprites", data)),
        files=(dsprites.NPZ,),
        alternatives=((dsprites.HDF5,),),
        stand_in="abstract_dsprites_rendered",
    ),
    "abstract_dsprites_rendered": Entry(
        title="Abstract-dSprites (rendered)",
        factors=_ABSTRACT_SPACE,
        licence=_OURS,
        reference=_REASONING,
        open=lambda data: AbstractDSprites(),
    ),
    "shapes3d": Entry(
        title="Shapes3D",
        factors=shapes3d.SPACE,
        licence="Apache-2.0",
        reference=_SHAPES3D,
        open=lambda data: shapes3d.read(_files("shapes3d", data)[0]),
        files=(shapes3d.H5,),
        stand_in="shapes3d_rendered",
    ),
    "shapes3d_rendered": Entry(
        title="Shapes3D (rendered)",
        factors=shapes3d.SPACE,
        licence=_OURS,
        reference=_SHAPES3D,
        open=_shapes3d_rendered,
    ),
    "mpi3d_toy": Entry(
        title="MPI3D toy",
        factors=mpi3d.SPACE,
        licence="CC-BY-4.0",
        reference=_MPI3D,
        open=lambda data: mpi3d.read(
            _files("mpi3d_toy", data)[0], "MPI3D toy", spaces=(mpi3d.SPACE, mpi3d.CHALLENGE_SPACE)
        ),
        files=(mpi3d.TOY,),
        stand_in="mpi3d_rendered",
    ),
    "mpi3d_realistic": Entry(
        title="MPI3D realistic",
        factors=mpi3d.SPACE,
        licence="CC-BY-4.0",
        reference=_MPI3D,
        open=lambda data: mpi3d.read(
            _files("mpi3d_realistic", data)[0], "MPI3D realistic", spaces=(mpi3d.SPACE, mpi3d.CHALLENGE_SPACE)
        ),
        files=(mpi3d.REALISTIC,),
        stand_in="mpi3d_rendered",
    ),
    "mpi3d_real": Entry(
        title="MPI3D real",
        factors=mpi3d.SPACE,
        licence="CC-BY-4.0",
        reference=_MPI3D,
        open=lambda data: mpi3d.read(_files("mpi3d_real", data)[0], "MPI3D real"),
        files=(mpi3d.REAL,),
        stand_in="mpi3d_rendered",
    ),
    "mpi3d_real_complex": Entry(
        title="MPI3D real-complex",
        factors=mpi3d.COMPLEX_SPACE,
        licence="CC-BY-4.0",
        reference=_MPI3D,
        open=lambda data: mpi3d.read(
            _files("mpi3d_real_complex", data)[0], "MPI3D real-complex", spaces=(mpi3d.COMPLEX_SPACE,)
        ),
        files=(mpi3d.REAL_COMPLEX,),
    ),
    "mpi3d_rendered": Entry(
        title="MPI3D (rendered)",
        factors=mpi3d.SPACE,
        licence=_OURS,
        reference=_MPI3D,
        open=_mpi3d_rendered,
    ),
    "celeb_glow": Entry(
        title="CelebGlow",
        factors=celeb_glow.SPACE,
        licence="research use",
        reference=_SCHOTT,
        open=_celeb_glow,
        files=celeb_glow.FILES,
    ),
    "cars3d": Entry(
        title="Cars3D",
        factors=cars3d.SPACE,
        licence="not stated",
        reference="Reed et al. 2015, Deep Visual Analogy-Making",
        open=lambda data: cars3d.read(_files("cars3d", data)[0]),
        files=(cars3d.ARCHIVE,),
    ),
    "small_norb": Entry(
        title="SmallNORB",
        factors=small_norb.SPACE,
        licence="research use",
        reference="LeCun, Huang and Bottou 2004, Learning Methods for Generic Object Recognition",
        open=lambda data: small_norb.read(_files("small_norb", data)),
        files=small_norb.FILES,
    ),
    "scenes_rendered": Entry(
        title="scenes, IID (rendered)",
        factors=numbered(23_000),
        licence=_OURS,
        reference=_COAT,
        open=lambda data: _scenes_rendered("iid"),
    ),
    "scenes_corr_rendered": Entry(
        title="scenes, CORR (rendered)",
        factors=numbered(23_000),
        licence=_OURS,
        reference=_COAT,
        open=lambda data: _scenes_rendered("corr"),
    ),
    "multi_sprites_rendered": Entry(
        title="multi-object sprites (rendered)",
        factors=numbered(60_000),
        licence=_OURS,
        reference="Kabra et al. 2019, Multi-Object Datasets",
        open=_multi_sprites,
    ),
}

__all__ = ["WORLDS", "ArrayWorld", "Entry", "PublishedFile", "World", "open_world", "sample"]
