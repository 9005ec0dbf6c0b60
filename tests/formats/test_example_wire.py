"""`scan_examples`, which cuts Examples in the places of earlier ones, against `read_example`."""

from __future__ import annotations

import numpy as np

import dataflow as tf
from dataflow.formats.example_wire import read_example, scan_examples, unpacked

WANTED = {b"numbers", b"label", b"words"}


def _example(numbers: list[float], labels: list[int], words: list[bytes], other: bytes) -> bytes:
    features = {
        "numbers": tf.train.Feature(float_list=tf.train.FloatList(value=numbers)),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=labels)),
        "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
        "other": tf.train.Feature(bytes_list=tf.train.BytesList(value=[other])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def test_examples_are_cut_as_they_are_read() -> None:
    """Many of one length: like each other, with words cut elsewhere, with other bytes not wanted."""
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(300):
        words = [b"x" * n for n in rng.integers(0, 4, rng.integers(0, 5))]
        labels = rng.integers(0, 200, rng.integers(1, 3)).tolist()
        texts.append(_example(rng.random(2).tolist(), labels, words, b"y" * rng.integers(0, 3)))
    assert len({len(t) for t in texts}) < len(texts) / 5
    for text, found in zip(texts, scan_examples(texts, WANTED), strict=True):
        assert found is not None
        read = read_example(text, WANTED)
        assert found.keys() == read.keys() == WANTED
        for key, (name, values) in read.items():
            assert found[key][0] == name
            got = unpacked(*found[key])
            assert list(got) == list(values) and type(got) is type(values)


def test_bytes_that_are_no_example_are_left_to_the_reader() -> None:
    good = _example([0.5], [1], [b"word"], b"")
    torn = bytes([good[0] ^ 0x10]) + good[1:]
    found = scan_examples([good, torn, b"", good[:-1]], WANTED)
    assert found[0] is not None and found[1:] == [None, None, None]
