"""What decides the weights of a run, as plain values."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from unknot.errors import UnknotError, shown, unknown
from unknot.files import json_hash
from unknot.reading.arguments import must_be_a_path
from unknot.runs.schedules import judged_after, read_pressure

LATER = (
    "schedule",
    "pressure",
    "starts",
)  # recorded only where they are not at their default, so that older hashes stay
FEW = 3  # options that fit the head of a table
Option = bool | int | Annotated[float, Field(allow_inf_nan=False)] | str


class RunSpec(BaseModel):
    """Everything that decides the weights of a run: plain values, frozen, the same as JSON and back.

    >>> spec = RunSpec(world="dsprites_rendered", options={"beta": 4.0}, steps=1000)
    >>> spec.title, spec.id
    ('beta_vae (beta 4.0) on dsprites_rendered, seed 0', '1dcd80baaebc')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: str = Field(description="A world of `unknot data list`, or a file or folder of images.")
    model: str = Field("beta_vae", description="A model of `unknot models`, or package.module:Class.")
    options: dict[str, Option] = Field(default_factory=dict, description="Options of the model, such as beta.")
    latents: int = Field(10, ge=1, le=10**6, description="Size of the representation.")
    architecture: str = Field(
        "conv64", description="conv64, conv64_k2, burgess64, fc1200, coat128, dense256, separable or centred."
    )
    decoder: Literal["bernoulli", "gaussian"] = Field("bernoulli", description="bernoulli or gaussian.")
    init: Literal["glorot", "torch"] = Field("glorot", description="glorot or torch.")
    steps: int = Field(300_000, ge=1, le=10**9, description="Updates of the model.")
    batch_size: int = Field(64, ge=2, le=10**6, description="Images, or pairs, in a batch.")
    lr: float = Field(1e-4, gt=0, allow_inf_nan=False, description="Learning rate of Adam.")
    precision: Literal["float32", "bfloat16"] = Field(
        "float32", description="float32, or bfloat16 (about twice as fast)."
    )
    image_size: int | None = Field(None, ge=8, le=10**4, description="Resize images to this many pixels.")
    split: str = Field(
        "",
        description="Train on the training part of this split only: composition, ..., combination:scale=0,shape=0.",
    )
    pairs: str = Field("", description="Law of pairs: one_factor, k_factors, laplace.")
    schedule: Literal["constant", "cosine"] = Field(
        "constant",
        description="Of the learning rate: constant, or cosine (down to 0, after 100 steps of warm-up).",
    )
    pressure: str = Field(
        "",
        description="What all terms but the reconstruction are multiplied by: 24..2 falls from 24 to 2.",
    )
    starts: int | None = Field(
        None,
        ge=2,
        le=1000,
        description="Begin so often, from other seeds, and go on with the one UDR ranks first.",
    )
    seed: int = Field(0, ge=0, lt=2**63, description="Decides weights, batches and noise.")

    def __init__(self, **fields: Any) -> None:
        for name in fields:
            if name not in type(self).model_fields:
                raise unknown("field of a run", name, type(self).model_fields, field=name)
        if isinstance(fields.get("split"), str) and ":" in fields["split"]:
            from unknot.worlds.splits.named import canonical_split  # a run needs no worlds to be read

            try:
                fields["split"] = canonical_split(fields["split"])
            except UnknotError as error:
                raise error.within("split") from None
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _first_fault(error) from None
        must_be_a_path("run", self.world, "world")
        read_pressure(self.pressure)

    @model_serializer(mode="wrap")
    def _recorded(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {n: v for n, v in dump(self).items() if n not in LATER or v != fields[n].default}

    @property
    def id(self) -> str:
        """A short hash of the spec; the run's folder is called so."""
        return json_hash(self.model_dump())

    @property
    def title(self) -> str:
        """The spec in a few words."""
        options = ", ".join(f"{name} {value}" for name, value in sorted(self.options.items()))
        split = f", {self.split} split" if self.split else ""
        starts = f", best of {self.starts} starts" if self.starts else ""
        return f"{self.model}{f' ({options})' if options else ''} on {self.world}{split}{starts}, seed {self.seed}"

    @property
    def updates(self) -> int:
        """Steps of all its starts together.

        >>> RunSpec(world="w", steps=1000).updates, RunSpec(world="w", steps=1000, starts=8).updates
        (1000, 3800)
        """
        return self.steps + ((self.starts or 1) - 1) * judged_after(self.steps)

    @property
    def family(self) -> str:
        """What runs of several seeds share, in few words: the model, and its options if they are few."""
        options = [
            f"{name} {f'{value:g}' if isinstance(value, float) else value}" for name, value in self.options.items()
        ]
        return ", ".join([self.model, *(options if len(options) <= FEW else [])])

    @property
    def label(self) -> str:
        """The spec in fewer words, for heads of tables: the model, its options if they are few, and the seed.

        >>> RunSpec(world="dsprites_rendered", steps=10, options={"beta": 4.0}).label
        'beta_vae, beta 4, seed 0'
        """
        return f"{self.family}, seed {self.seed}"

    def replace(self, **changes: Any) -> "RunSpec":
        """The spec with some fields changed, validated again."""
        return RunSpec(**{**self.model_dump(), **changes})


def _first_fault(error: ValidationError) -> UnknotError:
    """The error of a field, with its value and what was expected."""
    first = error.errors()[0]
    field = first["loc"][:2]  # below that are the types a value was tried as
    value, name = first["input"], ".".join(map(str, field))
    if first["type"] == "missing":
        return UnknotError(f"run: {name} is missing.", who="run", field=field)
    an_option = field[0] == "options" and len(field) > 1
    expected = "expected a finite number, a word, true or false" if an_option else first["msg"].lower()
    return UnknotError(f"run: {name} is {shown(value)}; {expected}.", who="run", field=field, value=value)
