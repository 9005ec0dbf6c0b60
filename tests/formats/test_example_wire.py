"""`scan_example`, which reads what writers of today leave, against `read_example`."""

from __future__ import annotations

import numpy as np

import dataflow as tf
from dataflow.formats.example_wire import read_example, scan_example, unpacked

WANTED = {b"numbers", b"label", b"words"}


def _example(numbers: list[float], labels: list[int], words: list[bytes], other: bytes) -> bytes:
    features = {
        "numbers": tf.train.Feature(float_list=tf.train.FloatList(value=numbers)),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=labels)),
        "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
        "other": tf.train.Feature(bytes_list=tf.train.BytesList(value=[other])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def test_examples_are_scanned_as_they_are_read() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        words = [b"x" * n for n in rng.integers(0, 4, rng.integers(0, 5))]
        labels = rng.integers(0, 200, rng.integers(1, 3)).tolist()
        text = _example(rng.random(2).tolist(), labels, words, b"y" * rng.integers(0, 3))
        found, read = scan_example(text, WANTED), read_example(text, WANTED)
        assert found is not None and found.keys() == read.keys() == WANTED
        for key, (name, values) in read.items():
            assert found[key][0] == name
            got = unpacked(*found[key])
            assert list(got) == list(values) and type(got) is type(values)


def test_bytes_that_are_no_example_are_left_to_the_reader() -> None:
    good = _example([0.5], [1], [b"word"], b"")
    torn = bytes([good[0] ^ 0x10]) + good[1:]
    assert scan_example(good, WANTED) is not None
    for text in (torn, b"", good[:-1]):
        assert scan_example(text, WANTED) is None
