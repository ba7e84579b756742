"""TFRecord files without TensorFlow: records one after the other, each a `tf.train.Example` of named features.

A record is its length (8 bytes), a checksum of that, its bytes, and a checksum of these (CRC-32C, masked); the whole
file may be compressed with gzip. An Example is a protocol buffer: a map from names to lists of bytes, floats or
integers.
"""

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.reading.guard import must_fit, parsing

Features = dict[str, NDArray[Any]]
WHAT = "a TFRecord file"
_HEAD, _TAIL = 12, 4  # bytes around those of a record
_MASK = 0xA282EAD8
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # how protocol buffers write a field


def _table() -> NDArray[np.uint32]:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, (values >> 1) ^ np.uint32(0x82F63B78), values >> 1)
    return values.astype(np.uint32)


_TABLE = _table()


def masked_crc(content: bytes) -> int:
    """The checksum that stands beside a length or a record.

    >>> hex(masked_crc(b"123456789"))
    '0xc78ab0e5'
    """
    from unknot.reading._crc32c import crc32c

    crc = int(crc32c(np.frombuffer(content, np.uint8), _TABLE))
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def records(path: Path, most: int | None = None) -> Iterator[bytes]:
    """The records of a file, `most` of them at most; one that is cut short or damaged is an error with its number."""
    with parsing(path, WHAT), path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        file = gzip.GzipFile(fileobj=raw) if packed else raw
        number = 0
        while number != most and (head := file.read(_HEAD)):
            if len(head) < _HEAD or masked_crc(head[:8]) != struct.unpack("<I", head[8:])[0]:
                raise ValueError(f"the length of record {number} is damaged")
            (length,) = struct.unpack("<Q", head[:8])
            must_fit(path, length)
            content, tail = file.read(length), file.read(_TAIL)
            if len(content) < length or len(tail) < _TAIL or masked_crc(content) != struct.unpack("<I", tail)[0]:
                raise ValueError(f"record {number} is cut short or damaged")
            yield content
            number += 1


def features(record: bytes) -> Features:
    """The features of an Example by name: bytes of one byte each as uint8, others as objects, floats and integers."""
    named = {}
    for _, whole in _fields(memoryview(record)):
        for _, entry in _fields(whole):
            name, feature = "", None
            for number, value in _fields(entry):
                if number == 1:
                    name = bytes(value).decode("utf-8")
                elif number == 2:
                    feature = _feature(value)
            if feature is not None:
                named[name] = feature
    return named


def _feature(content: memoryview) -> NDArray[Any] | None:
    for number, values in _fields(content):
        if number == 1:
            triples = np.frombuffer(values, np.uint8)
            if len(triples) % 3 == 0 and (triples.reshape(-1, 3)[:, :2] == (10, 1)).all():
                return triples[2::3]  # each byte by itself, behind its tag and its length
            return np.array([bytes(value) for _, value in _fields(values)], dtype=object)
        if number == 2:
            parts = [np.frombuffer(value, "<f4") for _, value in _fields(values)]
            return np.concatenate(parts) if parts else np.empty(0, np.float32)
        if number == 3:
            return np.array([each for _, value in _fields(values) for each in _integers(value)], dtype=np.int64)
    return None


def _integers(value: Any) -> Iterator[int]:
    """A single integer, or several that were packed together."""
    if isinstance(value, int):
        yield value - (1 << 64 if value >> 63 else 0)
        return
    at = 0
    while at < len(value):
        number, at = _varint(value, at)
        yield number - (1 << 64 if number >> 63 else 0)


def _fields(content: memoryview) -> Iterator[tuple[int, Any]]:
    """Field numbers of a message, each with its bytes, or with a number if it is one."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        kind = tag & 7
        value: Any
        if kind == _VARINT:
            value, at = _varint(content, at)
        else:
            length = {_FIXED64: 8, _FIXED32: 4}.get(kind, 0)
            if kind == _BYTES:
                length, at = _varint(content, at)
            elif not length:
                raise ValueError(f"a field of kind {kind} is none of an Example")
            value, at = content[at : at + length], at + length
            if at > len(content):
                raise ValueError("a field is longer than what holds it")
        yield tag >> 3, value


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    number = shift = 0
    while shift < 70:
        if at >= len(content):
            raise ValueError("a number is cut short")
        byte = content[at]
        number, at, shift = number | (byte & 0x7F) << shift, at + 1, shift + 7
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
    raise ValueError("a number has more than ten bytes")
