"""A student of pasted objects: it learns from slots where objects are, and tells touching ones apart.

The masks of slots are good where an object stands alone, and poor between objects that touch. So objects that stand
alone are cut out and pasted together so that they touch and hide each other, with every pixel known, and a U-Net learns
to see which pixels are objects' and where the middle of each one's object lies. No label is used. After Dwibedi et al.
2017, Cut, Paste and Learn, arXiv:1708.01642, whose cut-outs are labelled, and Arandjelovic and Zisserman 2019,
arXiv:1905.11369.
"""

import math
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.points import draw_points
from unknot.errors import UnknotError, extras
from unknot.files import file_hash, read_json, write_json, written_whole
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress, silent
from unknot.reading.arguments import check_fields, checked
from unknot.reading.guard import must_fit, parsing
from unknot.runs.run import Run
from unknot.runs.workspace import ARRAYS, Workspace
from unknot.students.cut_outs import CutOut, cut_outs_of, ground_slots
from unknot.students.pasting import Paster
from unknot.students.votes import MOST, UNIT, grouped

WHO = "student"
VERSION = 1  # rises when the same options give another student
RECORD, WEIGHTS = "student.json", "student.safetensors"
AT_ONCE = 50  # images whose masks are computed together
ENOUGH = 50  # objects that stand alone
DIVISOR = 16  # of the side of images, as the network halves them
CHANNELS = 4  # of images, at most


@dataclass(frozen=True)
class StudentOptions:
    """How a student is trained.

    Attributes:
        n: images of the world from which objects are cut.
        pasted: scenes that are put together.
        fewest: objects that a scene is begun with, at least.
        most: and at most.
        steps: of training.
        batch_size: scenes of a step.
        lr: the highest learning rate.
        seed: decides images, scenes, weights and batches.
    """

    n: int = 4_000
    pasted: int = 16_000
    fewest: int = 3
    most: int = 6
    steps: int = 2_000
    batch_size: int = 32
    lr: float = 2e-3
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(WHO, self)
        for name in ("n", "pasted", "fewest", "most", "steps", "batch_size"):
            if (value := vars(self)[name]) < 1:
                raise UnknotError(who=WHO, field=name, value=value, expected="1 or more")
        if not self.fewest <= self.most <= MOST:
            expected = f"{self.fewest} (fewest) to {MOST}"
            raise UnknotError(who=WHO, field="most", value=self.most, expected=expected)
        if not 0 < self.lr < 1:
            raise UnknotError(who=WHO, field="lr", value=self.lr, expected="a number between 0 and 1")
        if not 0 <= self.seed < 2**63:
            raise UnknotError(who=WHO, field="seed", value=self.seed, expected="from 0, below 2^63")


class Student:
    """Masks of objects from images, as a trained student sees them.

    It has what measurements of masks ask of a model.

    Attributes:
        network: images to votes.
        pixels: side of the images.
        channels: of images.
        record: how it was trained.
    """

    masks_objects = True

    def __init__(self, network: Any, pixels: int, channels: int, record: dict[str, Any]) -> None:
        self.network, self.pixels, self.channels, self.record = network, pixels, channels, record

    @property
    def losses(self) -> list[float]:
        """The mean loss of each hundredth of its training."""
        return list(self.record["losses"])

    def masks(self, images: Any) -> Any:
        """Whose each pixel is, a tensor (n, k, h, w) of 0 and 1; the first of k is the ground.

        Args:
            images: (n, c, h, w) in [0, 1], as models see them.
        """
        import torch

        expected = (self.channels, self.pixels, self.pixels)
        if not len(images) or tuple(images.shape[1:]) != expected:
            raise UnknotError(
                who=WHO,
                field="images",
                value=tuple(images.shape),
                expected=f"(n, {', '.join(map(str, expected))}) with n of 1 or more",
            )
        with torch.inference_mode():
            out = torch.cat([self.network(part * 2 - 1) for part in torch.split(images.float(), AT_ONCE)]).numpy()
        owners = np.stack([grouped(one[0] > 0, one[1:] * UNIT * self.pixels) for one in out])
        return torch.nn.functional.one_hot(torch.from_numpy(owners), MOST + 1).movedim(-1, 1).float()

    def segmentation(self, world: Any, *, n: int = 320, seed: int = 0) -> dict[str, float]:
        """FG-ARI and ARI on n images of a world that knows its objects."""
        import torch

        from unknot.runs.batches import Feed
        from unknot.runs.meters import AT_ONCE as FED
        from unknot.runs.meters import SegmentationMeter

        feed = Feed(world, FED, seed, image_size=self.pixels)
        found = SegmentationMeter(feed, n=n).row(self, torch.device("cpu"))  # type: ignore[arg-type]
        if not found:
            expected = "a world with true masks of its objects"
            raise UnknotError(who=WHO, field="world", value=world.name, expected=expected)
        return dict(found)


@checked
def train_student(
    run: Run,
    folder: Path | str,
    *,
    options: StudentOptions | None = None,
    data: Path | None = None,
    progress: Progress = silent,
) -> Student:
    """Train a student of a run's masks on the images that the run was trained on.

    Where the folder has the student of the same run and options, that one is opened. Masks of slots are kept, so that a
    training which was stopped begins anew without them.

    Args:
        run: finished, of a model that masks objects.
        folder: keeps weights, record and the masks of slots.
        options: how it is trained.
        data: folder of published files.
        progress: told how far it is.
    """
    with extras(f"{WHO}: students"):
        from unknot.runs.training import must_be_finished
    must_be_finished(run)
    how, folder = options or StudentOptions(), Path(folder).expanduser()
    key = {"version": VERSION, "teacher": run.weights_hash, "options": asdict(how)}
    workspace = Workspace(folder, of=VERSION)
    with workspace.locked("student", ""):
        before = _kept(folder)
        if before is None or any(before.record.get(name) != value for name, value in key.items()):
            before = _trained(run, how, workspace, key, data, progress)
            _write(before.network, before.record, folder)
    return before


def _kept(folder: Path) -> Student | None:
    """The student of a folder, if there is one that can be read."""
    with suppress(UnknotError):
        return open_student(folder)
    return None


def _trained(
    run: Run,
    how: StudentOptions,
    workspace: Workspace,
    key: dict[str, Any],
    data: Path | None,
    progress: Progress,
) -> Student:
    """A new student."""
    import torch

    from unknot.students.network import VoteNet
    from unknot.students.training import fitted

    began = time.process_time()
    images, owners = _taught(run, how, workspace, data, progress)
    cut_outs, grounds = _cut(images, owners, progress)
    pasted = Paster(cut_outs, grounds, (how.fewest, how.most)).scenes(how.pasted, how.seed, progress)
    with threads_of_torch(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(how.seed)
        network = VoteNet(images.shape[3])
        losses = fitted(
            network,
            pasted,
            steps=how.steps,
            batch_size=how.batch_size,
            lr=how.lr,
            seed=how.seed,
            progress=progress,
        )
    found = {"pixels": images.shape[1], "channels": images.shape[3], "cut_outs": len(cut_outs), "losses": losses}
    about = {"run": str(run.folder), "world": run.spec.world, "cpu_seconds": time.process_time() - began}
    return Student(network, images.shape[1], images.shape[3], {**key, **found, **about})


def open_student(folder: Path | str) -> Student:
    """The student that `train_student` left in a folder."""
    with extras(f"{folder}: students"):
        from safetensors.torch import load_file

        from unknot.students.network import VoteNet
    folder = Path(folder).expanduser()
    record = read_json(folder / RECORD)
    if not record or not (folder / WEIGHTS).is_file():
        raise UnknotError(f"{folder}: holds no student; `unknot student RUN -o {folder}` trains one.")
    with parsing(folder, "a student", "Train it again."):
        pixels, channels, _ = (int(record[name]) for name in ("pixels", "channels", "cut_outs"))
        if pixels < DIVISOR or pixels % DIVISOR or not 1 <= channels <= CHANNELS:
            raise ValueError(f"{pixels} pixels and {channels} channels are of no student")
        must_fit(folder / WEIGHTS, (folder / WEIGHTS).stat().st_size)
        if not [float(loss) for loss in record["losses"]] or file_hash(folder / WEIGHTS) != record["weights"]:
            raise ValueError("the record is that of other weights")
        network = VoteNet(channels)
        network.load_state_dict(load_file(folder / WEIGHTS))
    return Student(network.eval(), pixels, channels, record)


def _taught(
    run: Run, how: StudentOptions, workspace: Workspace, data: Path | None, progress: Progress
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (n, h, w, c) of the run's world, of the size that it sees, and the slot (n, h, w) of each pixel."""
    import torch

    from unknot.runs.training import feed, load_model, training_split
    from unknot.runs.training_world import open_training_world

    world = open_training_world(run, data=data)
    model = load_model(run, data=data, world=world)
    if not model.masks_objects:
        expected = "a model that masks objects, such as slot_attention"
        raise UnknotError(who=WHO, field="run", value=run.spec.model, expected=expected)
    fed = feed(run.spec, model, world)
    classes = draw_points(world, training_split(run.spec, world), "train", how.n, how.seed)
    rng = np.random.default_rng([how.seed, 6])
    first = fed.tensor(classes[:1], np.random.default_rng(0)).shape
    if first[2] != first[3] or first[2] % DIVISOR or first[2] < DIVISOR:
        expected = f"squares whose side is a multiple of {DIVISOR}"
        raise UnknotError(who=WHO, field="images", value=f"{first[2]} x {first[3]}", expected=expected)
    must_fit(f"{WHO}: scenes", how.pasted * 2 * math.prod(first))
    images = np.empty((len(classes), *first[2:], first[1]), dtype=np.uint8)
    for start in range(0, len(classes), AT_ONCE):
        part = fed.tensor(classes[start : start + AT_ONCE], rng)
        images[start : start + AT_ONCE] = (part.movedim(1, -1) * 255).round().to(torch.uint8).numpy()

    def masked() -> dict[str, NDArray[Any]]:
        parts = []
        with threads_of_torch(1), torch.inference_mode():
            for start in range(0, len(images), AT_ONCE):
                part = torch.from_numpy(images[start : start + AT_ONCE]).movedim(-1, 1) / 255
                parts.append(model.masks(part).argmax(1).numpy().astype(np.uint8))
                progress("masks of slots", min(start + AT_ONCE, len(images)), len(images))
        return {"owners": np.concatenate(parts)}

    key = [run.weights_hash, run.spec.world, len(classes), how.seed]
    return images, workspace.kept("masks", key, masked, ARRAYS)["owners"]


def _cut(
    images: NDArray[np.uint8], owners: NDArray[np.uint8], progress: Progress
) -> tuple[list[CutOut], list[NDArray[np.floating[Any]]]]:
    """All objects that stand alone, and the ground of every image."""
    cut_outs: list[CutOut] = []
    grounds: list[NDArray[np.floating[Any]]] = []
    for i, (image, owned, ground) in enumerate(zip(images, owners, ground_slots(owners), strict=True)):
        found, bare = cut_outs_of(image.astype(np.float32) / 255, owned, int(ground), i)
        cut_outs += found
        grounds.append(bare.astype(np.float16))
        if not (i + 1) % AT_ONCE or i + 1 == len(images):
            progress("cutting objects out", i + 1, len(images), objects=len(cut_outs))
    if len(cut_outs) < ENOUGH:
        raise UnknotError(
            f"{WHO}: {len(cut_outs)} objects stand alone in {len(images):,} images, {ENOUGH} are needed. Take more "
            "images, or a run whose slots part objects from the ground.",
            field="n",
        )
    return cut_outs, grounds


def _write(network: Any, record: dict[str, Any], folder: Path) -> None:
    from safetensors.torch import save_file

    with written_whole(folder / WEIGHTS) as beside:
        weights = {name: values.contiguous() for name, values in network.state_dict().items()}
        save_file(weights, str(beside))
    write_json(folder / RECORD, record | {"weights": file_hash(folder / WEIGHTS)})
