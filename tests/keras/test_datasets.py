"""Data sets of Keras, read from files of their formats."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.errors import DataLossError

datasets = tf.keras.datasets


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of data sets of a home of its own, without a network."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("DATAFLOW_OFFLINE", "1")
    monkeypatch.delenv("DATAFLOW_DATA", raising=False)
    result = tmp_path / ".keras" / "datasets"
    result.mkdir(parents=True)
    return result


def _lists(*lists: list[int]) -> np.ndarray:
    result = np.empty(len(lists), object)
    result[:] = lists
    return result


def test_reviews(folder: Path) -> None:
    x = _lists([1, 2, 3], [4, 5], [6, 1, 1, 1], [2])
    np.savez(folder / "imdb.npz", x_train=x, y_train=[0, 1, 1, 0], x_test=x[:3], y_test=[1, 0, 1])
    (folder / "imdb_word_index.json").write_text(json.dumps({"the": 1}))
    assert datasets.imdb.get_word_index() == {"the": 1}
    # The order and the numbers of TensorFlow 1.15 with the same file.
    (x_train, y_train), (x_test, y_test) = datasets.imdb.load_data(num_words=8)
    assert x_train.tolist() == [[1, 5], [1, 2, 4, 4, 4], [1, 4, 5, 6], [1, 7, 2]]
    assert y_train.tolist() == [0, 1, 0, 1]
    assert x_test.tolist() == [[1, 7, 2], [1, 4, 5, 6], [1, 2, 4, 4, 4]]
    assert y_test.tolist() == [0, 1, 1]
    plain = datasets.imdb.load_data(start_char=None, oov_char=None, index_from=0, maxlen=3)
    assert sorted(map(tuple, [*plain[0][0], *plain[1][0]])) == [(2,), (4,), (4,)]
    with pytest.raises(ValueError, match="no sequence was kept"):
        datasets.imdb.load_data(maxlen=1)
    with pytest.raises(TypeError, match="unexpected"):
        datasets.imdb.load_data(words=3)


def test_news_and_houses(folder: Path) -> None:
    np.savez(folder / "reuters.npz", x=_lists(*([i, i + 1] for i in range(10))), y=np.arange(10))
    (x_train, y_train), (x_test, y_test) = datasets.reuters.load_data(test_split=0.3)
    assert (len(x_train), len(x_test)) == (7, 3)
    assert sorted([*y_train, *y_test]) == list(range(10))
    np.savez(folder / "boston_housing.npz", x=np.arange(20.0).reshape(10, 2), y=np.arange(10.0))
    (x_train, y_train), _ = datasets.boston_housing.load_data()
    assert x_train.shape == (8, 2)
    np.testing.assert_array_equal(x_train[:, 0], 2 * y_train)


def _batch(path: Path, **labels: list[int]) -> None:
    data = np.arange(2 * 3072, dtype="uint8").reshape(2, 3072)
    content = {b"data": data, **{key.encode(): value for key, value in labels.items()}}
    path.write_bytes(pickle.dumps(content, protocol=2))


def test_small_images(folder: Path) -> None:
    for name, files in (
        ("cifar-10-batches-py", [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]),
        ("cifar-100-python", ["train", "test"]),
    ):
        made = folder / "made" / name
        made.mkdir(parents=True)
        for file in files:
            if name == "cifar-10-batches-py":
                _batch(made / file, labels=[3, 9])
            else:
                _batch(made / file, fine_labels=[99, 1], coarse_labels=[19, 0])
        with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(made, name)
    (x_train, _), (x_test, y_test) = datasets.cifar10.load_data()
    assert (x_train.shape, x_train.dtype, x_test.shape) == (
        (10, 32, 32, 3),
        np.uint8,
        (2, 32, 32, 3),
    )
    assert x_train[0, 0, 1].tolist() == [1, (1024 + 1) % 256, (2048 + 1) % 256]
    assert y_test.tolist() == [[3], [9]]
    assert datasets.cifar100.load_data()[1][1].tolist() == [[99], [1]]
    assert datasets.cifar100.load_data("coarse")[1][1].tolist() == [[19], [0]]
    with pytest.raises(ValueError, match="label_mode"):
        datasets.cifar100.load_data("middle")


def test_clothes(folder: Path) -> None:
    made = folder / "fashion-mnist"
    made.mkdir()
    for name, count in (("train", 3), ("t10k", 2)):
        labels, images = bytes(range(count)), bytes(784 * count)
        (made / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes(8) + labels))
        (made / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(16) + images))
    (x_train, y_train), (x_test, y_test) = datasets.fashion_mnist.load_data()
    assert (x_train.shape, x_test.shape) == ((3, 28, 28), (2, 28, 28))
    assert (y_train.tolist(), y_test.tolist()) == ([0, 1, 2], [0, 1])
    (made / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(100)))
    with pytest.raises(DataLossError, match="84 pixels"):
        datasets.fashion_mnist.load_data()


def test_digits_of_the_file_that_keras_keeps(folder: Path, tmp_path: Path) -> None:
    x, y = np.arange(5 * 784, dtype=np.uint8).reshape(5, 28, 28), np.arange(5, dtype=np.uint8)
    np.savez(folder / "mnist.npz", x_train=x, y_train=y, x_test=x[3:], y_test=y[3:])
    (x_train, _), (_, y_test) = datasets.mnist.load_data()
    assert (x_train.tolist(), y_test.tolist()) == (x.tolist(), [3, 4])
    np.savez(tmp_path / "own.npz", x_train=x[:1], y_train=y[:1], x_test=x, y_test=y)
    own = datasets.mnist.load_data(str(tmp_path / "own.npz"))
    assert own[0][0].tolist() == x[:1].tolist() and own[1][1].tolist() == y.tolist()


class _Harmful:
    def __reduce__(self) -> object:
        return os.mkdir, ("harmed",)


def test_files_that_run_code_or_are_damaged_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    harmful = np.empty(1, object)
    harmful[0] = _Harmful()
    np.savez(folder / "reuters.npz", x=harmful, y=[0])
    with pytest.raises(DataLossError, match="not an array"):
        datasets.reuters.load_data()
    assert not (tmp_path / "harmed").exists()
    (folder / "boston_housing.npz").write_bytes(b"nothing")
    with pytest.raises(DataLossError, match="damaged"):
        datasets.boston_housing.load_data()


def test_no_file_and_no_network(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"put it at .*imdb\.npz"):
        datasets.imdb.load_data()
