"""Samples of ops that read bytes."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number: int, data: bytes) -> bytes:
    """One field of a message in wire format."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def example(**features: Any) -> bytes:
    """A serialized ``Example``: lists of int, float or bytes by name."""
    entries = b""
    for name, values in features.items():
        entries += field(1, field(1, name.encode()) + field(2, _feature(values)))
    return field(1, entries)


def _feature(values: Any) -> bytes:
    if isinstance(values[0], bytes):
        return field(1, b"".join(field(1, v) for v in values))
    if isinstance(values[0], float):
        return field(2, field(1, np.array(values, "<f4").tobytes()))
    return field(3, field(1, b"".join(_varint(v & (2**64 - 1)) for v in values)))


FULL = example(i=[1, 300, -5], f=[1.5, 2.5], s=[b"ab", b"c"])
PART = example(i=[7, 8, 9], s=[b"z"])


def _text(*items: bytes) -> Any:
    return np.array(items, object)


_PARSED = [
    [[0, 0], [0, 1], [1, 0]],
    _text(b"ab", b"c", b"z"),
    [2, 2],
    [[1, 300, -5], [7, 8, 9]],
    [[9, 8], [9, 8]],
]


def _flat(tf: Any, op: str, **arguments: Any) -> list[Any]:
    return [tensor for group in raw(tf, op, **arguments) for tensor in group]


def _batch(tf: Any) -> list[Any]:
    parsed = tf.parse_example(
        [FULL, PART],
        {
            "i": tf.FixedLenFeature([3], tf.int64),
            "f": tf.FixedLenFeature([2], tf.float32, [9.0, 8.0]),
            "s": tf.VarLenFeature(tf.string),
        },
    )
    sparse = parsed["s"]
    return [parsed["i"], parsed["f"], sparse.indices, sparse.values, sparse.dense_shape]


def _padded(tf: Any) -> list[Any]:
    parsed = tf.parse_example(
        [FULL, PART],
        {
            "f": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
            "s": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
        },
    )
    return [parsed["f"], parsed["s"]]


def sequence_example(context: bytes, **lists: Any) -> bytes:
    """A serialized ``SequenceExample``: ``context`` an `example`, lists of entries by name."""
    entries = b""
    for name, steps in lists.items():
        features = b"".join(field(1, _feature(step)) for step in steps)
        entries += field(1, field(1, name.encode()) + field(2, features))
    return context + field(2, entries)


LONG = sequence_example(example(a=[7], v=[b"x", b"y"]), t=[[1.0, 2.0], [3.0, 4.0]], s=[[1], [2, 3]])
SHORT = sequence_example(example(a=[8]), t=[[5.0, 6.0]], s=[[4]])


def _steps(tf: Any) -> list[Any]:
    context, steps = tf.parse_single_sequence_example(
        LONG,
        {"a": tf.FixedLenFeature([], tf.int64), "v": tf.VarLenFeature(tf.string)},
        {"t": tf.FixedLenSequenceFeature([2], tf.float32), "s": tf.VarLenFeature(tf.int64)},
    )
    sparse = steps["s"]
    words = context["v"].values
    return [context["a"], words, steps["t"], sparse.indices, sparse.values, sparse.dense_shape]


def _step_batch(tf: Any) -> list[Any]:
    _, steps, lengths = tf.io.parse_sequence_example(
        [LONG, SHORT],
        None,
        {"t": tf.FixedLenSequenceFeature([2], tf.float32), "s": tf.VarLenFeature(tf.int64)},
    )
    sparse = steps["s"]
    return [steps["t"], lengths["t"], sparse.indices, sparse.values, sparse.dense_shape]


_STRINGS = np.empty((2, 2), object)
_STRINGS[:] = [[b"ab", b"c"], [b"z", b""]]

JSON = b"""{"features": {"feature": {
    "n": {"int64List": {"value": ["3", -4]}}, "f": {"float_list": {"value": [0.5, "NaN"]}},
    "b": {"bytesList": {"value": ["YWI="]}}}}}"""
KINDS = {"n": "int64", "f": "float32", "b": "string"}


def _from_json(tf: Any) -> Any:
    binary = tf.decode_json_example([JSON, b"{}"])
    wanted = {name: tf.VarLenFeature(getattr(tf, kind)) for name, kind in KINDS.items()}
    return [part.values for _, part in sorted(tf.parse_example(binary, wanted).items())]


SAMPLES = [
    Sample(
        "DecodeRaw",
        lambda tf: tf.decode_raw(["abcd", "efgh"], tf.int16),
        (),
        [np.frombuffer(b"abcdefgh", "<i2").reshape(2, 2)],
    ),
    Sample(
        "DecodeRaw",
        lambda tf: tf.decode_raw("\x01\x02", tf.int16, little_endian=False),
        (),
        [[258]],
        note="big endian",
    ),
    Sample(
        "DecodeCompressed",
        lambda tf: tf.decode_compressed([gzip.compress(b"text")], "GZIP"),
        (),
        [_text(b"text")],
    ),
    Sample(
        "DecodeCSV",
        lambda tf: tf.decode_csv(["1,2.5,x", '3,,"a,""b"'], [[0], [1.5], ["d"]]),
        (),
        [[1, 3], [2.5, 1.5], _text(b"x", b'a,"b')],
    ),
    Sample(
        "SerializeTensor",
        lambda tf: tf.serialize_tensor(tf.constant([1, 0x10203040])),
        (),
        [
            np.array(
                b"\x08\x03\x12\x04\x12\x02\x08\x02\x22\x08"
                + np.array([1, 0x10203040], "<i4").tobytes(),
                object,
            )
        ],
    ),
    Sample(
        "ParseTensor",
        lambda tf: tf.parse_tensor(tf.serialize_tensor(tf.constant(["a", "bc"])), tf.string),
        (),
        [_text(b"a", b"bc")],
    ),
    Sample(
        "ParseTensor",
        lambda tf, x: tf.parse_tensor(tf.serialize_tensor(x), x.dtype),
        (np.arange(6.0).reshape(2, 3),),
        lambda x: x,
        gradient=(),
        note="numbers",
    ),
    Sample(
        "ParseExample",
        _batch,
        (),
        [
            [[1, 300, -5], [7, 8, 9]],
            [[1.5, 2.5], [9, 8]],
            [[0, 0], [0, 1], [1, 0]],
            _text(b"ab", b"c", b"z"),
            [2, 2],
        ],
        note="batch",
    ),
    Sample(
        "ParseExampleV2",
        lambda tf: _flat(
            tf,
            "ParseExampleV2",
            serialized=[FULL, PART],
            names=[],
            sparse_keys=["s"],
            dense_keys=["i", "k"],
            ragged_keys=np.array([], object),
            dense_defaults=[np.zeros(0, np.int64), np.array([9, 8], np.int64)],
            num_sparse=1,
            sparse_types=[tf.string],
            ragged_value_types=[],
            ragged_split_types=[],
            dense_shapes=[[3], [2]],
        ),
        (),
        _PARSED,
    ),
    Sample("ParseExample", _padded, (), [[[1.5, 2.5], [0, 0]], _STRINGS], note="padded"),
    Sample(
        "ParseSingleExample",
        lambda tf: tf.parse_single_example(FULL, {"s": tf.VarLenFeature(tf.string)})["s"].indices,
        (),
        [[[0], [1]]],
        note="single",
    ),
    Sample(
        "ParseExample",
        lambda tf: _flat(
            tf,
            "ParseExample",
            serialized=[FULL, PART],
            names=[],
            sparse_keys=["s"],
            dense_keys=["i", "k"],
            dense_defaults=[np.zeros(0, np.int64), np.array([9, 8], np.int64)],
            sparse_types=[tf.string],
            dense_shapes=[[3], [2]],
        ),
        (),
        _PARSED,
    ),
    Sample(
        "ParseSingleExample",
        lambda tf: _flat(
            tf,
            "ParseSingleExample",
            serialized=PART,
            dense_defaults=[np.zeros(0, np.int64), np.array([9, 8], np.int64)],
            num_sparse=1,
            sparse_keys=["s"],
            dense_keys=["i", "k"],
            sparse_types=[tf.string],
            dense_shapes=[[3], [2]],
        ),
        (),
        [[[0]], _text(b"z"), [1], [7, 8, 9], [9, 8]],
    ),
    Sample(
        "ParseSequenceExampleV2",
        _steps,
        (),
        [7, _text(b"x", b"y"), [[1, 2], [3, 4]], [[0, 0], [1, 0], [1, 1]], [1, 2, 3], [2, 2]],
    ),
    Sample(
        "ParseSequenceExampleV2",
        _step_batch,
        (),
        [
            [[[1, 2], [3, 4]], [[5, 6], [0, 0]]],
            [2, 1],
            [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]],
            [1, 2, 3, 4],
            [2, 2, 2],
        ],
        note="batch",
    ),
    Sample(
        "DecodeJSONExample",
        _from_json,
        (),
        [np.array([b"ab"], object), np.float32([0.5, np.nan]), [3, -4]],
    ),
]
