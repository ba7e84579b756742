"""Files of arrays: npy, npz, safetensors, csv, parquet, hdf5; as they should be, damaged, lying, or bombs."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.fuzz.strange import SUBJECT, file_name, labels, latents, name

Arrays = Mapping[str, Any]
N, D, F = 60, 3, 2
BOMB = 12 << 30  # bytes that a bomb unfolds to, or that a header claims


def representation(rng: Random) -> dict[str, Any]:
    """The arrays of a file of latents, of which some may be strange."""
    draw = np.random.default_rng(rng.randrange(2**32))
    arrays: dict[str, Any] = {"latents": draw.normal(size=(N, D)), "factors": draw.integers(0, 3, (N, F))}
    choices: dict[str, Callable[[], Any]] = {
        "latents": lambda: latents(rng, N, D),
        "factors": lambda: labels(rng, N, F),
        "factor_names": lambda: np.array([name(rng) for _ in range(rng.choice([F, F, F, 1, 5]))]),
        "latents_test": lambda: latents(rng, N, D),
        "factors_test": lambda: labels(rng, N, F),
        "kl": lambda: draw.normal(size=rng.choice([D, D, 1, 7])),
        "logvars": lambda: draw.normal(size=(N, rng.choice([D, D, 1]))) * rng.choice([1, 1, 1e4]),
        "source": lambda: np.array(rng.choice([json.dumps({"world": name(rng)}), nested("[", 100_000), "{", "5"])),
        "images": lambda: draw.integers(0, 255, (N, 8, 8), dtype=np.uint8),
        "extra": lambda: draw.normal(size=3),
    }
    for key in rng.sample(list(choices), rng.choice([0, 1, 1, 2, 3])):
        arrays[key] = choices[key]()
    if rng.random() < 0.05:
        del arrays["latents"]
    return arrays


def pictures(rng: Random) -> dict[str, Any]:
    """The arrays of a file of images with factors, of which some may be strange."""
    draw = np.random.default_rng(rng.randrange(2**32))
    images = draw.integers(0, 255, (N, 32, 32, 1), dtype=np.uint8)
    strange = [images[..., 0], images / 255, images[:0], images.astype(bool), images[..., 0][0], images > 9]
    strange += [np.repeat(images, 5, 3), images[:, :1, :1], np.moveaxis(np.repeat(images, 3, 3), 3, 1)]
    arrays: dict[str, Any] = {"images": images, "factors": draw.integers(0, 3, (N, F))}
    if rng.random() < 0.3:
        arrays["images"] = rng.choice(strange)
    if rng.random() < 0.5:
        arrays["factors"] = labels(rng, N, F)
    if rng.random() < 0.4:
        arrays["factor_names"] = np.array([name(rng) for _ in range(F)])
    if rng.random() < 0.2:
        arrays["factor_kinds"] = np.array([rng.choice(["ordinal", "circular", name(rng)]) for _ in range(F)])
    return arrays


def nested(bracket: str, depth: int) -> str:
    """Text that opens brackets only to close them."""
    return bracket * depth + {"[": "]", "{": "}", "(": ")"}[bracket] * depth


def written(rng: Random, folder: Path, arrays: Arrays, suffixes: tuple[str, ...]) -> Path:
    """A file of these arrays: in half of all cases as it should be, else damaged, lying or a bomb."""
    suffix = rng.choice(suffixes)
    path = folder / file_name(rng, suffix)
    if rng.random() < 0.12:
        BOMBS[suffix](rng, path)
        return path
    content = WRITERS[suffix](arrays)
    if rng.random() < 0.2 and suffix in LIES:
        content = LIES[suffix](rng, content)
    elif rng.random() < 0.35:
        content = damaged(rng, content)
    path.write_bytes(content)
    if rng.random() < 0.03:
        path = path.rename(path.with_suffix(rng.choice((".npz", ".csv", ".parquet", ".h5", ".bin", ""))))
    return path


def damaged(rng: Random, content: bytes) -> bytes:
    """Bytes cut short, changed, put in, taken out, or something else altogether."""
    if not content:
        return b"\0"
    at, n = rng.randrange(len(content)), rng.choice([1, 1, 2, 8, 100])
    head = rng.randrange(min(len(content), 300))
    noise = rng.randbytes(n)
    return rng.choice(
        [
            content[:at],
            content[:head],
            content[at:],
            b"",
            content + noise,
            content[:at] + noise + content[at + n :],
            content[:head] + noise + content[head + n :],
            content[:head] + bytes([content[head] ^ (1 << rng.randrange(8))]) + content[head + 1 :],
            content[: -1 - head]
            + bytes([content[-1 - head] ^ (1 << rng.randrange(8))])
            + content[len(content) - head :],
            content[:at] + bytes(n) + content[at + n :],
            content[:at] + noise + content[at:],
            content[:at] + content[at + n :],
            content[at:] + content[:at],
            rng.randbytes(200),
            b"\x93NUMPY",
            b"PK\x03\x04",
            b"PAR1PAR1",
            b"\x89HDF\r\n\x1a\n",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
        ]
    )


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def _npz(arrays: Arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **{key: np.asarray(array) for key, array in arrays.items()})
    return file.getvalue()


def _npz_compressed(arrays: Arrays) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **{key: np.asarray(array) for key, array in arrays.items()})
    return file.getvalue()


def _numbers(arrays: Arrays) -> dict[str, np.ndarray]:
    """Those arrays that formats of numbers can hold."""
    tables = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
    return {
        key: table for key, table in tables.items() if table.dtype.kind in "biuf" and table.dtype.itemsize <= 8
    }


def _safetensors(arrays: Arrays) -> bytes:
    from safetensors.numpy import save

    names = {"factor_names": json.dumps([str(n) for n in np.asarray(arrays.get("factor_names", []))], default=str)}
    return save(_numbers(arrays), names if "factor_names" in arrays else None)


def _columns(arrays: Arrays) -> dict[str, list[Any]]:
    """Columns latent_... and factor_...: of the arrays, or of what is left of them."""
    columns: dict[str, list[Any]] = {}
    for key, what in (("latents", "latent"), ("factors", "factor")):
        table = np.asarray(arrays.get(key, np.zeros((N, 1))))
        table = table.reshape(len(table), -1) if table.ndim and table.size else np.zeros((N, 1))
        names = arrays.get("factor_names", ()) if key == "factors" else ()
        for j in range(table.shape[1]):
            columns[f"{what}_{names[j] if j < len(names) else j}"] = table[:N, j].tolist()
    longest = max(map(len, columns.values()))
    return {key: [*column, *[None] * (longest - len(column))] for key, column in columns.items()}


def _csv(arrays: Arrays) -> bytes:
    columns = _columns(arrays)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _parquet(arrays: Arrays) -> bytes:
    import pandas as pd

    columns = {key.encode("utf-8", "replace").decode(): column for key, column in _columns(arrays).items()}
    file = io.BytesIO()
    try:
        pd.DataFrame(columns).to_parquet(file)
    except Exception:  # what Parquet has no place for is written as words
        pd.DataFrame(columns).astype(str).to_parquet(file)
    return file.getvalue()


def _hdf5(arrays: Arrays) -> bytes:
    import h5py

    file = io.BytesIO()
    with h5py.File(file, "w") as archive:
        for key, table in _numbers(arrays).items():
            archive[key] = table
        archive.create_group("group")
    return file.getvalue()


WRITERS: dict[str, Callable[[Arrays], bytes]] = {
    ".npy": lambda arrays: _npy(arrays.get("images", arrays.get("latents", 0))),
    ".npz": _npz,
    ".safetensors": _safetensors,
    ".csv": _csv,
    ".parquet": _parquet,
    ".h5": _hdf5,
}


def npy_header(rng: Random) -> bytes:
    """The head of an npy file that says something about its array which is not so."""
    shape = rng.choice(
        ["(60, 3)", "(-1, 3)", f"({BOMB}, 3)", "(10**12,)", "(2.5, 3)", "('a',)", "()", "None", "(60,)*9"]
    )
    descr = rng.choice(
        ["'<f8'", "'|O'", "'<U1000000000'", "'V8'", "'<M8[D]'", "'<q9'", "[('a', '<f8')]", "5", "'|S0'"]
    )
    order = rng.choice(["False", "True", "3", "__import__('os')"])
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    text = rng.choice(
        [text, text, text, nested("(", 3000), nested("[", 90), "{", "", text.replace("shape", "size")]
    )
    head = (text + " " * 60 + "\n").encode()
    version, length = rng.choice(
        [(b"\x01\x00", "<H"), (b"\x02\x00", "<I"), (b"\x03\x00", "<I"), (b"\x09\x09", "<I")]
    )
    size = len(head) if rng.random() < 0.8 else 65_000
    return b"\x93NUMPY" + version + struct.pack(length, size) + head


def _lying_npy(rng: Random, content: bytes) -> bytes:
    return npy_header(rng) + content[128:]


def _lying_npz(rng: Random, content: bytes) -> bytes:
    """A zip with a lying array, an unknown compression, a password, one name twice, or names of other places."""
    kind = rng.choice(["header", "header", "method", "encrypted", "twice", "elsewhere", "compressed", "sizes"])
    members = {info.filename: zipfile.ZipFile(io.BytesIO(content)).read(info) for info in _infos(content)}
    file = io.BytesIO()
    with zipfile.ZipFile(
        file, "w", zipfile.ZIP_DEFLATED if kind == "compressed" else zipfile.ZIP_STORED
    ) as archive:
        for key, data in members.items():
            lies = kind in ("header", "compressed") and rng.random() < 0.5
            archive.writestr(
                f"../{key}" if kind == "elsewhere" else key, npy_header(rng) + data[128:] if lies else data
            )
        if kind == "twice":
            archive.filelist.append(archive.filelist[0])
    patched = bytearray(file.getvalue())
    at = patched.find(b"PK\x01\x02")
    while at >= 0 and kind in ("method", "encrypted", "sizes"):
        if kind == "method":
            patched[at + 10 : at + 12] = struct.pack("<H", rng.choice([1, 12, 14, 97, 99]))
        elif kind == "encrypted":
            patched[at + 8] |= 1
        else:
            patched[at + 20 : at + 28] = struct.pack("<II", rng.randrange(2**32), rng.randrange(2**32))
        at = patched.find(b"PK\x01\x02", at + 4)
    return bytes(patched)


def _infos(content: bytes) -> list[zipfile.ZipInfo]:
    return zipfile.ZipFile(io.BytesIO(content)).infolist()


def _lying_safetensors(rng: Random, content: bytes) -> bytes:
    length = struct.unpack("<Q", content[:8])[0]
    head, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    for entry in head.values():
        if rng.random() < 0.5 and "shape" in entry:
            key = rng.choice(list(entry))
            entry[key] = rng.choice([[BOMB, 3], [-1], "F99", [0, 2**62], None, {}, [0, 0]])
    text = rng.choice(
        [json.dumps(head), nested("[", 50_000), "{", '{"a": 1}', json.dumps({"__metadata__": {"x": 5}})]
    ).encode()
    return struct.pack("<Q", rng.choice([len(text), len(text), 2**62, 0])) + text + data


def _lying_csv(rng: Random, content: bytes) -> bytes:
    return rng.choice(
        [
            b"latent_0,factor_a\n" + b"9" * 140_000 + b",1\n2,3\n",
            b"latent_0,factor_a\n" + b'"' + b"x" * 140_000 + b'",1\n',
            b"x" * 140_000 + b"\n1\n",
            content.replace(b",", b";"),
            content.replace(b",", b"\t"),
            content.replace(b"\n", b"\r"),
            content.replace(b"1", b"\0"),
            content.replace(b"0.", b"1e999", 1),
            content.decode("utf-8", "replace").encode("utf-16"),
            b"\xef\xbb\xbf" + content,
            content + b"\n1,2,3,4,5,6,7,8,9",
            content.replace(b"\n", b"\n\n"),
            content.replace(b"latent_0", b"latent_0,latent_0"),
            b"latent_0\n" + b"1" * 5000 + b"\n2\n",
            b"\n\n\n",
            b",".join([b"latent_%d" % i for i in range(5000)]) + b"\n" + b",".join([b"1"] * 5000),
        ]
    )


def _lying_parquet(rng: Random, content: bytes) -> bytes:
    length = rng.choice([0, 1, 2**31, 2**32 - 1, len(content)])
    return content[:-8] + struct.pack("<I", length) + content[-4:]


def _lying_hdf5(rng: Random, content: bytes) -> bytes:
    import h5py

    file = io.BytesIO(content)
    with h5py.File(file, "a") as archive:
        for key in list(archive):
            if rng.random() < 0.5:
                del archive[key]
                lie = rng.choice(["group", "link", "words", "soft", "scalar"])
                if lie == "group":
                    archive.create_group(key)
                elif lie == "link":
                    archive[key] = h5py.ExternalLink("/etc/hostname", "/x")
                elif lie == "soft":
                    archive[key] = h5py.SoftLink(f"/{key}")
                elif lie == "words":
                    archive[key] = ["a", "b"]
                else:
                    archive[key] = 5
    return file.getvalue()


LIES: dict[str, Callable[[Random, bytes], bytes]] = {
    ".npy": _lying_npy,
    ".npz": _lying_npz,
    ".safetensors": _lying_safetensors,
    ".csv": _lying_csv,
    ".parquet": _lying_parquet,
    ".h5": _lying_hdf5,
}


def _sparse(path: Path, head: bytes, size: int = BOMB) -> None:
    """A file that is as large as it says, and takes no room on the disk."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)


def _honest_header(shape: tuple[int, ...], dtype: str) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def _npy_bomb(rng: Random, path: Path) -> None:
    dtype, shape = rng.choice([("<f8", (BOMB // 80, 10)), ("|u1", (BOMB // 4096, 64, 64))])
    _sparse(path, _honest_header(shape, dtype), BOMB + rng.choice([0, 128, 10_000]))


@cache
def _deflated_zeros() -> bytes:
    """64 MB of zeros; any number of copies, one after the other, are a stream of zeros too."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(bytes(64 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)


def _npz_bomb(rng: Random, path: Path) -> None:
    """A few megabytes that unfold to gigabytes; their checksum is only looked at when all are there."""
    key, dtype, shape = rng.choice(
        [("latents", "<f8", (BOMB // 80, 10)), ("images", "|u1", (BOMB // 4096, 64, 64))]
    )
    head = _honest_header(shape, dtype)
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = squeeze.compress(head) + squeeze.flush(zlib.Z_FULL_FLUSH)
    data = start + _deflated_zeros() * (BOMB // (64 << 20)) + b"\x03\x00"
    file = f"{key}.npy".encode()
    claimed = rng.choice([2**32 - 1, 1000])  # an archive may lie about what it unfolds to
    entry = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, 0, len(data), claimed, len(file), 0)
    local = b"PK\x03\x04" + entry + file + data
    central = b"PK\x01\x02" + struct.pack("<H", 20) + entry + struct.pack("<HHHII", 0, 0, 0, 0, 0) + file
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + end)


def _safetensors_bomb(rng: Random, path: Path) -> None:
    head = json.dumps(
        {"latents": {"dtype": "F64", "shape": [BOMB // 80, 10], "data_offsets": [0, BOMB // 80 * 80]}}
    ).encode()
    _sparse(path, struct.pack("<Q", len(head)) + head, 8 + len(head) + BOMB // 80 * 80)


def _csv_bomb(rng: Random, path: Path) -> None:
    _sparse(path, b"latent_0,factor_a\n1,2\n")


def _parquet_bomb(rng: Random, path: Path) -> None:
    """Rows without end, all the same; or one long word, again and again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if rng.random() < 0.5:
        words = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000), pa.array(["x" * 1_000_000]))
        with path.open("wb") as file:
            pq.write_table(pa.table({"latent_0": words}), file)
        return
    zeros = pa.table({"latent_0": pa.array(np.zeros(10_000_000))})
    with path.open("wb") as file, pq.ParquetWriter(file, zeros.schema) as writer:
        for _ in range(60):
            writer.write_table(zeros)


def _hdf5_bomb(rng: Random, path: Path) -> None:
    """Arrays of which nothing was ever written are zeros, however many."""
    import h5py

    with path.open("w+b") as file, h5py.File(file, "w") as archive:
        archive.create_dataset("latents", (BOMB // 80, 10), "f8", chunks=(1024, 10))
        archive.create_dataset("images", (BOMB // 4096, 64, 64), "u1", chunks=(64, 64, 64))
        archive.create_dataset("labels", (BOMB // 48, 6), "f8", chunks=(1024, 6))


BOMBS: dict[str, Callable[[Random, Path], None]] = {
    ".npy": _npy_bomb,
    ".npz": _npz_bomb,
    ".safetensors": _safetensors_bomb,
    ".csv": _csv_bomb,
    ".parquet": _parquet_bomb,
    ".h5": _hdf5_bomb,
}


def commands(rng: Random, folder: Path) -> list[str]:
    """A command that reads a file of arrays."""
    kind = rng.choice(["score", "score", "score", "pair", "rank", "task", "world", "world", "check"])
    if kind in ("world", "check"):
        path = written(
            rng, folder, pictures(rng), (".npz", ".npz", ".npy", ".h5") if kind == "world" else (".npz", ".h5")
        )
        lines = [
            ["data", "preview", str(path), "-o", "sheet.png"],
            ["data", "preview", str(path), "-o", "sheet.png", "--kind", "factors"],
            ["data", "split", str(path), "--kind", rng.choice(["random", "composition", "extrapolation"])],
            ["train", "--world", str(path), "--steps", "1", "--batch-size", "2", "-o", "runs"],
        ]
        return ["data", "check", str(path), "--quick"] if kind == "check" else rng.choice(lines)
    if kind == "pair":
        suffixes = (".npy", ".csv", ".parquet")
        path = written(rng, folder, representation(rng), suffixes)
        arrays = representation(rng)
        factors = WRITERS[suffix := rng.choice(suffixes)]({"latents": arrays.get("factors", 0)})
        beside = folder / f"{SUBJECT}-factors{suffix}"
        beside.write_bytes(factors.replace(b"latent_", b"factor_"))
        return [
            "score",
            *[str(path), str(beside)][:: rng.choice([1, 1, -1])],
            "--metrics",
            "mig",
        ]
    path = written(
        rng, folder, representation(rng), (".npz", ".npz", ".npz", ".safetensors", ".csv", ".parquet", ".npy")
    )
    if kind == "rank":
        beside = folder / "beside.npz"
        beside.write_bytes(_npz_compressed({"latents": np.random.default_rng(0).normal(size=(N, D))}))
        return ["rank", str(path), str(beside), "--all-to-all", "--method", rng.choice(["lasso", "spearman"])]
    if kind == "task":
        task = rng.choice(["fairness", "combinations", "reasoning", "generalisation", "algebra"])
        small = ["--tuples", "1", "--size", "16"]
        words = small if task == "algebra" else rng.choice([[], ["--world", "dsprites_rendered"]])
        return ["task", task, str(path), *words]
    metrics = rng.choice(["mig", "mig,sap,irs", "mcc,r2", "modularity,jemmig,infomec", "rankme,lidar", "snc,nk"])
    outputs = rng.choice(
        [[], ["--csv", "-"], ["--json", "-"], ["--html", "page.html"], ["--csv", "t.csv", "--json", "t.json"]]
    )
    return ["score", str(path), "--metrics", metrics, *outputs]
