"""Observations with known factors: readers of the published files, renderers, splits and pairs.

`WORLDS` is the catalogue; `open_world` opens one of them, or anybody's file of images or folder of pictures.
"""

from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.catalogue import WORLDS, conventions, open_world
from unknot.worlds.entry import Conventions, Entry, PublishedFile
from unknot.worlds.world import World, WorldDefaults, sample

__all__ = [
    "WORLDS",
    "ArrayWorld",
    "Conventions",
    "Entry",
    "PublishedFile",
    "World",
    "WorldDefaults",
    "conventions",
    "open_world",
    "sample",
]
