"""Photos in folders: the names of the folders are the factors."""

from pathlib import Path

from PIL import Image

import unknot
from unknot.worlds import image_folder

for kind in ("bag", "shoe"):
    for colour in ("red", "blue"):
        for number in range(3):
            path = Path("photos") / kind / colour / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 32), colour).save(path)

world = image_folder.read(Path("photos"), factors=["kind", "colour"])
print(world.factors.names, world.file_names[0])
mean_colour = unknot.encode(lambda images: images.mean(axis=(1, 2)) / 255, world)
print(unknot.score(mean_colour, metrics=["mig"])["mig"].parts["per_factor"])
