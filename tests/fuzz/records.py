"""Records (run.json, study.json, results, study files), and the folders of runs, studies and pictures around them."""

import copy
import io
import json
import shutil
import struct
import zlib
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.arrays import damaged, nested
from tests.fuzz.strange import SUBJECT, file_name, name, number

STUDY: dict[str, Any] = {
    "name": "tiny",
    "about": "a study",
    "worlds": ["dsprites_rendered"],
    "models": {"beta_vae": {"beta": [1, 4]}},
    "seeds": 2,
    "steps": 1,
    "batch_size": 2,
    "rows": 100,
    "limit": 50,
    "metrics": ["mig"],
    "tasks": {"fairness": {"rows": 200}},
    "ranking": {"methods": ["udr_spearman"], "scopes": ["all"], "partners": 5, "rows": 100},
}
RESULT: dict[str, Any] = {
    "task": "generalisation",
    "source": "my model",
    "world": "dsprites_rendered",
    "values": {"r2_extrapolation": 0.5},
    "tables": {"splits": [{"split": "extrapolation", "rows": 10, "test_part": 20, "r2": 0.5}]},
    "settings": {"seed": 0},
    "notes": [{"kind": "seen", "about": "extrapolation", "text": "it has seen them."}, "a sentence"],
    "lower_is_better": [],
    "seconds": 1.0,
    "version": "0.1.0",
}
YAML = (
    "name: {name}\nworlds: [dsprites_rendered]\nmodels: {{beta_vae: {{beta: [1]}}}}\nseeds: 1\nsteps: 1\n{line}\n"
)
LINES = (
    "about: 2020-01-01",
    "seeds: 2020-01-01",
    "seeds: 3000000000",
    "steps: 99999999999",
    "rows: 2020-01-01T00:00:00Z",
    "about: !!python/object/apply:os.system ['true']",
    "about: !!binary aGVsbG8=",
    "about: !!set {a, b}",
    "about: !unknown x",
    "metrics: !!timestamp 2001-99-99",
    "about: !!int abc",
    "about: !!float abc",
    "about: !!bool maybe",
    "? [a, b]\n: c",
    "? {a: b}\n: c",
    "limit: .nan",
    "limit: .inf",
    "rows: 1e400",
    "limit: 0x",
    "about: " + nested("[", 2000),
    "about: " + nested("{", 900),
    "a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]",
    "about: &a [*a]",
    "<<: {seeds: 3}",
    "<<: 5",
    "\tabout: tab",
    "about: |\n  text\n %",
    "about: 'open",
    "seeds: 1\nseeds: 2",
    "---\nname: second",
    "models: {'evilmod:X': {}}",
    'models: {"\\e[31m": {}}',
    'about: "\\ud800"',
    "metrics: ['mig[bins=99999999999]']",
    "tasks: {fairness: {rows: -1}, reasoning: 5}",
    "1: 2",
    "null: 3",
    "lr: 1e-400",
    "latents: 1_0_0",
    "seeds: 1:30:00",
    "about: " + "9" * 5000,
    "seeds: " + "9" * 5000,
    "\x07: x",
)


def mutated(rng: Random, record: Any, times: int = 1) -> Any:
    """A record of which some entry is another, gone, deeper, or under another name."""
    record = copy.deepcopy(record)
    for _ in range(times):
        holder, key = rng.choice(_entries(record))
        kind = rng.random()
        if kind < 0.15:
            del holder[key]
        elif kind < 0.25 and isinstance(holder, dict):
            holder[name(rng)] = holder.pop(key)
        else:
            holder[key] = rng.choice(
                [
                    None,
                    "",
                    name(rng),
                    name(rng),
                    number(rng),
                    number(rng),
                    [],
                    {},
                    [[]],
                    {"a": {"b": []}},
                    [None],
                    True,
                    [name(rng), 5],
                ]
            )
        if not _entries(record):
            break
    return record


def _entries(record: Any) -> list[tuple[Any, Any]]:
    """Every place of a record: what holds it, and under which key or number."""
    keys = list(record) if isinstance(record, dict) else range(len(record)) if isinstance(record, list) else ()
    return [place for key in keys for place in [(record, key), *_entries(record[key])]]


def as_text(rng: Random, record: Any) -> bytes:
    """A record as JSON, which may be damaged, or none at all."""
    text = json.dumps(record, default=str)
    strange = [
        "",
        "null",
        "[]",
        "5",
        '"x"',
        nested("[", 100_000),
        '{"a":' * 50_000,
        "9" * 5000,
        "NaN",
        "{'a': 1}",
        text * 2,
    ]
    strange += [text.replace("0", "1e400"), text.replace("1", "9" * 5000), text.replace("{", '{"\\ud800": 1, ', 1)]
    content = rng.choice([text] * 30 + strange).encode()
    return damaged(rng, content) if rng.random() < 0.15 else content


def study_file(rng: Random, folder: Path) -> list[str]:
    """`unknot study` of a file that nobody should have written."""
    path = folder / file_name(rng, rng.choice([".yaml", ".yaml", ".yml"]))
    if rng.random() < 0.5:
        text = YAML.format(
            name=rng.choice(["tiny", "tiny", "'[/red]'", "'..'", "'" + "n" * 300 + "'"]), line=rng.choice(LINES)
        )
        content = text.encode("utf-8", "surrogatepass")
    else:
        import yaml

        content = yaml.safe_dump(json.loads(json.dumps(mutated(rng, STUDY, rng.choice([1, 1, 2, 3]))))).encode(
            "utf-8", "replace"
        )
    path.write_bytes(damaged(rng, content) if rng.random() < 0.1 else content)
    return ["study", str(path), rng.choice(["--dry-run", "--dry-run", "--dry-run", "--show"])]


def result_files(rng: Random, folder: Path) -> list[str]:
    """`unknot leaderboard` of results and of published numbers."""
    folder = folder / SUBJECT
    folder.mkdir()
    for i in range(rng.choice([1, 1, 2])):
        path = folder / (file_name(rng, ".json") if not i else f"{SUBJECT}{i}.json")
        path.write_bytes(as_text(rng, mutated(rng, RESULT, rng.choice([0, 1, 1, 2, 4]))))
    words = ["leaderboard", str(path) if rng.random() < 0.7 else str(folder)]
    if rng.random() < 0.3:
        table = f"world,split,model,r2,source,note\ndsprites,random,{name(rng)},{number(rng)},paper,note\n"
        (folder / f"{SUBJECT}.csv").write_bytes(damaged(rng, table.encode("utf-8", "surrogatepass")))
        return ["leaderboard", "--published", str(folder / f"{SUBJECT}.csv")]
    return [
        *words,
        *rng.choice([[], ["--format", rng.choice(["csv", "markdown", "latex", "json"])], ["--html", "page.html"]]),
    ]


def run_folder(rng: Random, folder: Path, stage: Path) -> list[str]:
    """A command for a run whose folder somebody else has been at."""
    run = folder / file_name(rng, "")
    shutil.copytree(stage / "run", run)
    target = rng.choice(
        ["run.json"] * 5
        + ["weights.safetensors", "latents.npz", "scores.json", "curve.parquet", "tasks", "time.json"]
    )
    if target == "run.json":
        record = json.loads((run / target).read_text())
        (run / target).write_bytes(as_text(rng, mutated(rng, record, rng.choice([1, 1, 2]))))
    elif target == "tasks":
        (run / "tasks" / "by_hand").mkdir(parents=True)
        record = mutated(rng, RESULT, rng.choice([0, 1, 2]))
        (run / "tasks" / rng.choice(["", "by_hand"]) / "generalisation-x.json").write_bytes(as_text(rng, record))
    elif target in ("scores.json", "time.json"):
        record = json.loads((run / target).read_text())
        (run / target).write_bytes(as_text(rng, mutated(rng, record, rng.choice([1, 2, 5]))))
    else:
        (run / target).write_bytes(damaged(rng, (run / target).read_bytes()))
    lines = [
        ["score", str(run), "--metrics", "mig"],
        ["encode", str(run), "--rows", "50", *rng.choice([[], ["--pictures"]])],
        ["report", str(run)],
        ["report", str(run)],
        ["rank", str(run), str(stage / "run"), "--all-to-all", "--method", "spearman"],
        ["explore", str(run), "--no-browser"],
        ["task", "fairness", str(run), "--rows", "200"],
    ]
    return rng.choice(lines)


def study_folder(rng: Random, folder: Path, stage: Path) -> list[str]:
    """A command for a study whose folder somebody else has been at."""
    study = folder / file_name(rng, "")
    shutil.copytree(stage / "study", study)
    target = rng.choice(
        [
            "study.json",
            "study.json",
            "study.json",
            "tables/runs",
            "tables/scores",
            "tables/ranks",
            "tables/tasks",
            "ranks",
        ]
    )
    if target == "study.json":
        record = json.loads((study / target).read_text())
        (study / target).write_bytes(as_text(rng, mutated(rng, record, rng.choice([1, 1, 3]))))
    elif target == "ranks":
        path = rng.choice(sorted((study / "ranks").glob("*.json")))
        path.write_bytes(as_text(rng, mutated(rng, json.loads(path.read_text()), rng.choice([1, 3]))))
    else:
        _spoil_table(rng, study / f"{target}.parquet")
    form = rng.choice([[], ["--format", rng.choice(["csv", "markdown", "latex", "json"])], ["--parts"]])
    return rng.choice([["results", str(study), *form], ["report", str(study)], ["leaderboard", str(study)]])


def _spoil_table(rng: Random, path: Path) -> None:
    import pandas as pd

    if rng.random() < 0.4:
        path.write_bytes(damaged(rng, path.read_bytes()))
        return
    with path.open("rb") as file:
        table = pd.read_parquet(file).astype(object)
    for _ in range(rng.choice([1, 2])):
        column = rng.choice(list(table.columns))
        if rng.random() < 0.2:
            table = table.drop(columns=column)
        elif len(table):
            words = rng.choice([name(rng).encode("utf-8", "replace").decode(), "../../x", None, "x"])
            table[column] = (
                [words if rng.random() < 0.7 else "x"] * len(table) if rng.random() < 0.6 else float("nan")
            )
    with path.open("wb") as file:
        table.to_parquet(file, index=False)


def picture_folder(rng: Random, folder: Path) -> list[str]:
    """A command for a folder of pictures."""
    from PIL import Image

    pictures = folder / file_name(rng, "")
    pictures.mkdir()
    for i in range(rng.choice([0, 1, 3, 3])):
        file = io.BytesIO()
        mode = rng.choice(["RGB", "L", "RGBA", "1", "P", "I;16", "CMYK"])
        kind = "PNG" if mode != "CMYK" else "JPEG"
        Image.new(
            mode, rng.choice([(8, 8), (1, 1), (300, 2)]), 3 if mode in ("L", "1", "P", "I;16") else None
        ).save(file, kind)
        content = file.getvalue()
        strange = [
            damaged(rng, content),
            damaged(rng, content),
            _claims(60_000),
            _claims(2**31 - 1),
            b"",
            b"GIF89a",
            b"BM" + bytes(60),
        ]
        (
            pictures / f"{i}{file_name(rng, rng.choice(['.png', '.png', '.jpg', '.gif', '.tif', '.PNG']))}"
        ).write_bytes(rng.choice([content, content, *strange]))
    if rng.random() < 0.1:
        (pictures / "loop").symlink_to(pictures)
    if rng.random() < 0.1:
        (pictures / "folder.png").mkdir()
    if rng.random() < 0.15:
        (pictures / rng.choice(["corpus.json", "scenes.json", "CLEVR_scenes.json"])).write_bytes(
            as_text(rng, {"a": 1})
        )
    world = str(pictures)
    return rng.choice(
        [
            ["data", "preview", world, "-o", "sheet.png"],
            ["data", "split", world, "--kind", "random"],
            ["train", "--world", world, "--steps", "1", "--batch-size", "2", "-o", "runs"],
        ]
    )


def _claims(side: int) -> bytes:
    """A PNG of a few bytes that says it has sides of so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes(100)))
        + chunk(b"IEND", b"")
    )
