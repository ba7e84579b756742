"""TFRecord files, written here byte by byte."""

import gzip
import struct

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.reading.tfrecord import features, masked_crc, records


def varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(**named) -> bytes:
    """An Example: bytes, each by itself; floats, packed; integers, packed; or a list of words."""
    entries = b""
    for name, values in named.items():
        if isinstance(values, list):
            content = field(1, b"".join(field(1, word) for word in values))
        elif values.dtype == np.uint8:
            triples = np.stack([np.full(values.size, 10), np.full(values.size, 1), values.ravel()], axis=1)
            content = field(1, triples.astype(np.uint8).tobytes())
        elif values.dtype.kind == "f":
            content = field(2, field(1, values.astype("<f4").tobytes()))
        else:
            content = field(3, field(1, b"".join(varint(int(v) % 2**64) for v in values.ravel())))
        entries += field(1, field(1, name.encode()) + field(2, content))
    return field(1, entries)


def framed(*contents: bytes) -> bytes:
    out = b""
    for content in contents:
        length = struct.pack("<Q", len(content))
        out += length + struct.pack("<I", masked_crc(length)) + content + struct.pack("<I", masked_crc(content))
    return out


def test_features_are_read_as_they_were_written(tmp_path):
    named = {
        "image": np.arange(300).astype(np.uint8),
        "x": np.array([1.5, -2.0], np.float32),
        "id": np.array([3, -1, 2**40]),
        "words": [b"cube", b"ball"],
    }
    for packed in (bytes, gzip.compress):
        (tmp_path / "a").write_bytes(packed(framed(example(**named), example(id=np.array([7])))))
        first, second = [features(record) for record in records(tmp_path / "a")]
        assert {name: values.tolist() for name, values in first.items()} == {
            name: values if isinstance(values, list) else values.tolist() for name, values in named.items()
        }
        assert second["id"].tolist() == [7]
        assert len(list(records(tmp_path / "a", 1))) == 1


def test_numbers_that_are_not_packed_are_read_too():
    floats = field(2, b"".join(varint(1 << 3 | 5) + struct.pack("<f", v) for v in (1.0, 2.0)))
    integers = field(3, b"".join(varint(1 << 3) + varint(v) for v in (4, 300)))
    record = field(1, field(1, field(1, b"f") + field(2, floats)) + field(1, field(1, b"i") + field(2, integers)))
    assert {name: values.tolist() for name, values in features(record).items()} == {"f": [1.0, 2.0], "i": [4, 300]}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-3], "record 1 is cut short or damaged"),
        (lambda content: content[:5] + b"\x01" + content[6:], "the length of record 0 is damaged"),
        (
            lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
            "record 0 is cut short or damaged",
        ),
        (lambda content: content + b"abc", "the length of record 2 is damaged"),
    ],
)
def test_damage_is_named_with_the_record(tmp_path, damage, message):
    content = framed(example(image=np.zeros(50, np.uint8)), example(image=np.ones(50, np.uint8)))
    (tmp_path / "a.tfrecords").write_bytes(damage(content))
    with pytest.raises(UnknotError, match=message):
        list(records(tmp_path / "a.tfrecords"))


def test_a_length_beyond_memory_is_refused_before_it_is_read(tmp_path):
    length = struct.pack("<Q", 2**50)
    (tmp_path / "a.tfrecords").write_bytes(length + struct.pack("<I", masked_crc(length)) + b"x")
    with pytest.raises(UnknotError, match="would take"):
        list(records(tmp_path / "a.tfrecords"))
    with pytest.raises(UnknotError, match="no such file"):
        list(records(tmp_path / "nowhere"))


@pytest.mark.parametrize("record", [b"\x0a\xff", b"\x0a\x05ab", b"\xff" * 12, b"\x0b"])
def test_what_is_no_example_is_a_value_error(record):
    with pytest.raises(ValueError):
        features(record)
