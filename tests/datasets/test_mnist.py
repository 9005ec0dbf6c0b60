"""MNIST: idx files, batches, and the split where only the test images are there."""

from __future__ import annotations

import gzip
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataflow.tensorflow_numbers import draw_as_tensorflow
from dataflow_datasets import fetch, mnist


def write_idx(path: Path, array: np.ndarray[Any, Any]) -> None:
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All four files, small: training pixels are the image's number, test pixels 200 more."""
    monkeypatch.setenv("DATAFLOW_OFFLINE", "1")
    monkeypatch.delenv("DATAFLOW_DATA", raising=False)
    monkeypatch.setenv("DATAFLOW_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "MNIST_data"
    folder.mkdir()
    for images, labels, n, first in (
        (mnist.TRAIN_IMAGES, mnist.TRAIN_LABELS, 50, 0),
        (mnist.TEST_IMAGES, mnist.TEST_LABELS, 20, 200),
    ):
        numbers = np.arange(first, first + n, dtype=np.uint8)
        write_idx(folder / images, np.broadcast_to(numbers[:, None, None], (n, 28, 28)).copy())
        write_idx(folder / labels, numbers % 10)
    return folder


def numbers(images: np.ndarray[Any, Any]) -> list[int]:
    return [int(v) for v in np.rint(images.reshape(len(images), -1)[:, 0] * 255)]


def test_read_data_sets(folder: Path) -> None:
    data = mnist.read_data_sets(str(folder), validation_size=10)
    train, validation, test = data
    assert (train.num_examples, validation.num_examples, test.num_examples) == (40, 10, 20)
    assert data.note == ""
    assert numbers(validation.images) == list(range(10))
    assert numbers(train.images) == list(range(10, 50))
    assert train.images.dtype == np.float32
    assert train.images.shape == (40, 784)
    assert train.labels.dtype == np.uint8
    assert train.labels.tolist() == [n % 10 for n in range(10, 50)]
    assert train.images.max() == np.float32(49) * np.float32(1 / 255)


def test_an_empty_name_is_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert mnist.read_data_sets("", validation_size=10).train.num_examples == 40
    monkeypatch.chdir(folder.parent)
    with pytest.raises(fetch.DatasetUnavailableError, match="cache"):
        mnist.read_data_sets("", validation_size=10)
    assert not (folder.parent / mnist.TRAIN_IMAGES).exists()


def test_files_are_announced_under_the_names_of_tensorflow(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from dataflow.examples.tutorials.mnist import input_data

    monkeypatch.chdir(folder.parent)
    files = [mnist.TRAIN_IMAGES, mnist.TRAIN_LABELS, mnist.TEST_IMAGES, mnist.TEST_LABELS]
    input_data.read_data_sets(f"./{folder.name}", validation_size=0)
    assert capsys.readouterr().out.splitlines() == [
        f"Extracting ./{folder.name}/{n}" for n in files
    ]
    monkeypatch.setenv("DATAFLOW_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    shutil.copytree(folder, tmp_path / "data" / "mnist")
    input_data.read_data_sets("elsewhere", validation_size=0)
    assert (
        capsys.readouterr().out.splitlines()[3]
        == f"Extracting {tmp_path / 'data/mnist' / files[3]}"
    )
    mnist.read_data_sets(folder, validation_size=0)
    assert capsys.readouterr().out == ""


def test_options(folder: Path) -> None:
    data = mnist.read_data_sets(
        folder, one_hot=True, dtype=np.uint8, reshape=False, validation_size=0
    )
    assert data.train.images.shape == (50, 28, 28, 1)
    assert data.train.images.dtype == np.uint8
    assert data.train.labels.shape == (50, 10)
    assert data.train.labels.dtype == np.float64
    assert data.train.labels.argmax(axis=1).tolist() == [n % 10 for n in range(50)]
    assert (data.train.labels.sum(axis=1) == 1).all()
    assert data.validation.num_examples == 0
    with pytest.raises(TypeError, match="expected uint8 or float32"):
        mnist.read_data_sets(folder, dtype=np.float64, validation_size=0)
    with pytest.raises(ValueError, match="between 0 and 50. Received: 51"):
        mnist.read_data_sets(folder, validation_size=51)


def test_batches_follow_the_seed_as_in_tensorflow(folder: Path) -> None:
    """The order that numpy.random gives after numpy.random.seed(seed), epoch after epoch."""
    before = np.random.get_state()[1].tolist()
    train = mnist.read_data_sets(folder, validation_size=0, seed=7).train
    images, labels = train.next_batch(30)
    more, more_labels = train.next_batch(30)
    generator = np.random.RandomState(7)
    first, second = np.arange(50), np.arange(50)
    generator.shuffle(first)
    generator.shuffle(second)
    second = first[second]  # the second epoch shuffles the first one's order
    assert numbers(images) == first[:30].tolist()
    assert numbers(more) == [*first[30:], *second[:10]]
    assert np.concatenate((labels, more_labels)).tolist() == [
        n % 10 for n in [*first, *second[:10]]
    ]
    assert train.epochs_completed == 1
    assert np.random.get_state()[1].tolist() == before


def test_programs_of_tensorflow_draw_from_the_same_generator(folder: Path) -> None:
    """TensorFlow seeds NumPy's global generator, from which a program then draws its noise."""
    np.random.seed(5)
    draw_as_tensorflow()
    try:
        train = mnist.read_data_sets(folder, validation_size=0, seed=7).train
        train.next_batch(30)
        noise = np.random.rand()
    finally:
        draw_as_tensorflow(False)
    generator = np.random.RandomState(7)
    generator.shuffle(np.arange(50))
    assert noise == generator.rand()


def test_without_a_seed_the_global_generator_decides(folder: Path) -> None:
    train = mnist.read_data_sets(folder, validation_size=0).train
    np.random.seed(3)
    images, _ = train.next_batch(50)
    order = np.arange(50)
    np.random.RandomState(3).shuffle(order)
    assert numbers(images) == order.tolist()


def test_batches_without_shuffling(folder: Path) -> None:
    train = mnist.read_data_sets(folder, validation_size=0).train
    assert numbers(train.next_batch(40, shuffle=False)[0]) == list(range(40))
    assert numbers(train.next_batch(20, shuffle=False)[0]) == [*range(40, 50), *range(10)]
    assert train.epochs_completed == 1
    assert numbers(train.next_batch(40, shuffle=False)[0]) == list(range(10, 50))
    assert train.epochs_completed == 1


def test_batch_larger_than_the_set(folder: Path) -> None:
    train = mnist.read_data_sets(folder, validation_size=0).train
    with pytest.raises(ValueError, match="51 is more than the 50"):
        train.next_batch(51)
    assert len(train.next_batch(50)[0]) == 50


def test_fake_data() -> None:
    data = mnist.read_data_sets("nowhere", fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(3, fake_data=True)
    assert images == [[1] * 784] * 3
    assert labels == [[1] + [0] * 9] * 3
    assert data.test.num_examples == 10000
    _, labels = mnist.read_data_sets("nowhere", fake_data=True).train.next_batch(2, True)
    assert labels == [0, 0]


def test_labels_out_of_range_name_the_row() -> None:
    with pytest.raises(ValueError, match="Row 2 has label 11; needed 0 to 9"):
        mnist.dense_to_one_hot(np.array([1, 9, 11, 12]))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: raw[:-5], "the gzip file is damaged"),
        (lambda raw: gzip.decompress(raw)[:-1], r"\(50, 28, 28\).*39,200 bytes.*39,199 follow"),
        (lambda raw: b"<html>", "not an idx file of uint8 in 3 dimensions"),
        (lambda raw: b"", "not an idx file"),
    ],
)
def test_damaged_file_is_named(folder: Path, damage: Any, message: str) -> None:
    path = folder / mnist.TRAIN_IMAGES
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(mnist.DamagedFileError, match=message) as caught:
        mnist.read_data_sets(folder, validation_size=0)
    assert str(path) in str(caught.value)


def test_images_and_labels_must_agree(folder: Path) -> None:
    write_idx(folder / mnist.TRAIN_LABELS, np.zeros(49, np.uint8))
    with pytest.raises(mnist.DamagedFileError, match="50 images.*49 labels"):
        mnist.read_data_sets(folder, validation_size=0)


def test_missing_file_offline(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(FileNotFoundError, match="mnist/train-images-idx3-ubyte.gz"):
        mnist.read_data_sets(folder)


def test_only_test_images_are_split_and_said_to_be(real_data: Path, tmp_path: Path) -> None:
    if (real_data / "mnist" / mnist.TRAIN_IMAGES).exists():
        pytest.skip("DATAFLOW_DATA holds the training images too")
    with pytest.warns(UserWarning, match="10,000 test images"):
        data = mnist.read_data_sets(str(tmp_path / "MNIST_data"), one_hot=True)
    # Programs of tutorials divide by the number of their validation images.
    assert [part.num_examples for part in data] == [7000, 1000, 2000]
    assert "7,000 to train on, 1,000 for validation, 2,000 to test on" in data.note
    assert data.note in repr(data)
    with pytest.warns(UserWarning, match="test images"):
        (train_x, train_y), (_, test_y) = mnist.load_data()
    pixels = train_x.reshape(8000, 784).astype(np.float32) * np.float32(1 / 255)
    assert np.array_equal(np.concatenate((data.validation.images, data.train.images)), pixels)
    assert np.array_equal(data.test.labels.argmax(axis=1), test_y)
    # Together they are MNIST's test set, each image once: its label counts are known.
    counts = np.bincount(np.concatenate((train_y, test_y)))
    assert counts.tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    with pytest.warns(UserWarning, match="test images"):
        data = mnist.read_data_sets(validation_size=500)
    assert (data.train.num_examples, data.validation.num_examples) == (7500, 500)
    with pytest.warns(UserWarning, match="8,000 to train on, 2,000 to test on"):
        data = mnist.read_data_sets(validation_size=0)
    assert (data.train.num_examples, data.validation.num_examples) == (8000, 0)
