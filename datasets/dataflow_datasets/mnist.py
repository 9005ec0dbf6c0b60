"""MNIST: handwritten digits of 28 x 28 pixels, as TensorFlow 1's tutorial module serves them.

`read_data_sets` and `DataSet` behave as in ``tensorflow.examples.tutorials.mnist.input_data``: with
the same ``seed`` the batches come in the same order. Where only the 10,000 test images are on the
machine, they are split 7,000 / 1,000 / 2,000 instead, with a warning and a ``note`` on the result.
"""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import fetch
from .registry import DatasetInfo, RemoteFile

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_MIRROR_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
TRAIN_IMAGES = "train-images-idx3-ubyte.gz"
TRAIN_LABELS = "train-labels-idx1-ubyte.gz"
TEST_IMAGES = "t10k-images-idx3-ubyte.gz"
TEST_LABELS = "t10k-labels-idx1-ubyte.gz"

Array = np.ndarray[Any, Any]


def _file(name: str, sha256: str, size_bytes: int) -> RemoteFile:
    urls = (DEFAULT_SOURCE_URL + name, _MIRROR_URL + name)
    return RemoteFile("mnist", name, urls, sha256, size_bytes)


FILES = {
    file.name: file
    for file in (
        _file(
            TRAIN_IMAGES,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            9_912_422,
        ),
        _file(
            TRAIN_LABELS,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            28_881,
        ),
        _file(
            TEST_IMAGES,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            1_648_877,
        ),
        _file(
            TEST_LABELS,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            4_542,
        ),
    )
}

INFO = DatasetInfo(
    name="mnist",
    title="70,000 handwritten digits, 28 x 28 pixels",
    license="CC BY-SA 3.0 (LeCun, Cortes, Burges)",
    files=tuple(FILES.values()),
)

NUM_SPLIT_TRAIN = 8000
#: Of those, for a program that asks for the default: many divide by the number of these images.
NUM_SPLIT_VALIDATION = 1000
SPLIT_SEED = 0
_DEFAULT_VALIDATION_SIZE = 5000


class DamagedFileError(ValueError):
    """An idx file is truncated or is none; the message names it and says what differs."""


def read_idx(path: str | os.PathLike[str], num_dimensions: int) -> Array:
    """The uint8 array in an idx file (optionally gzipped), with ``num_dimensions`` dimensions.

    Raises `DamagedFileError` for a file that is no idx file of bytes, or is cut short.
    Format: two zero bytes, the type (8 is uint8), the number of dimensions, each dimension as a
    big-endian 32-bit integer, then the values in row order.
    """
    path = Path(path)
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError) as error:
            raise DamagedFileError(f"{path}: the gzip file is damaged: {error}.") from error
    magic = bytes([0, 0, 8, num_dimensions])
    header_bytes = 4 + 4 * num_dimensions
    if raw[:4] != magic or len(raw) < header_bytes:
        raise DamagedFileError(
            f"{path}: not an idx file of uint8 in {num_dimensions} dimensions: it starts with "
            f"{raw[:4].hex(' ') or 'nothing'}, needed {magic.hex(' ')}."
        )
    shape = tuple(int(n) for n in np.frombuffer(raw, ">u4", num_dimensions, offset=4))
    values = np.frombuffer(raw, np.uint8, offset=header_bytes)
    needed = int(np.prod(shape, dtype=np.int64))
    if values.size != needed:
        raise DamagedFileError(
            f"{path}: the header says shape {shape}, which is {needed:,} bytes, "
            f"but {values.size:,} follow."
        )
    return values.reshape(shape)


def dense_to_one_hot(labels_dense: Array, num_classes: int = 10) -> Array:
    """Integer labels ``[n]`` to float64 rows ``[n, num_classes]`` with a single 1 each.

    Raises `ValueError` for a label outside ``0 .. num_classes - 1``, naming its row.
    """
    labels = np.asarray(labels_dense)
    wrong = np.flatnonzero((labels < 0) | (labels >= num_classes))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(
            f"Row {row} has label {labels[row]}; needed 0 to {num_classes - 1} "
            f"({wrong.size} labels are out of range)."
        )
    one_hot = np.zeros((labels.shape[0], num_classes))
    one_hot[np.arange(labels.shape[0]), labels] = 1
    return one_hot


class DataSet:
    """Images with labels, given out in shuffled batches that go round and round.

    Attributes:
        images: ``[n, 784]`` (``[n, 28, 28, 1]`` without ``reshape``), float32 in [0, 1], or uint8.
        labels: ``[n]`` uint8, or ``[n, 10]`` float64 where they are one-hot.
        num_examples: n.
        epochs_completed: how often `next_batch` has gone through all images.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = "float32",
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        """``dtype`` is uint8 (pixels 0 to 255) or float32 (0 to 1); others raise `TypeError`.

        ``reshape`` flattens each image. With ``seed`` the order of batches repeats; without, it
        follows the default graph's seed, and without that NumPy's global generator.
        """
        name = _dtype_name(dtype)
        if name not in ("uint8", "float32"):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        seed = _graph_seed() if seed is None else seed
        # RandomState(seed) shuffles as numpy.random does after numpy.random.seed(seed), which is
        # what TensorFlow calls, but leaves the learner's global generator alone.
        self._random: Any = np.random if seed is None else np.random.RandomState(seed)
        if seed is not None and _draws_as_tensorflow():
            np.random.seed(seed)  # what the program itself draws next depends on it
            self._random = np.random
        self.one_hot = one_hot
        self._epochs_completed = 0
        self._index_in_epoch = 0
        if fake_data:
            self._images: Any = images
            self._labels: Any = labels
            self._num_examples = 10000
            return
        images, labels = np.asarray(images), np.asarray(labels)
        if images.shape[0] != labels.shape[0]:
            raise ValueError(
                f"There must be as many images as labels: images {images.shape}, "
                f"labels {labels.shape}."
            )
        self._num_examples = images.shape[0]
        if reshape:
            if images.ndim != 4 or images.shape[3] != 1:
                raise ValueError(
                    f"To be flattened, images must be [n, rows, columns, 1], got {images.shape}."
                )
            images = images.reshape(images.shape[0], images.shape[1] * images.shape[2])
        if name == "float32":
            images = np.multiply(images.astype(np.float32), np.float32(1.0 / 255.0))
        self._images = images
        self._labels = labels

    @property
    def images(self) -> Any:
        """The images, in the order of the current epoch."""
        return self._images

    @property
    def labels(self) -> Any:
        """The labels, in the order of the images."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """Number of images."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """How often all images have been given out."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """The next ``batch_size`` images and labels.

        A batch that runs over the end takes what is left of this epoch and goes on with the next,
        newly shuffled. The first epoch is shuffled too.

        Raises `ValueError` where ``batch_size`` is larger than the set.
        """
        if fake_data:
            label = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        if batch_size > self._num_examples:
            raise ValueError(
                f"A batch of {batch_size} is more than the {self._num_examples} images there are."
            )
        start = self._index_in_epoch
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self._num_examples:
            self._index_in_epoch = start + batch_size
            end = self._index_in_epoch
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        images_rest, labels_rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = batch_size - (self._num_examples - start)
        end = self._index_in_epoch
        return (
            np.concatenate((images_rest, self._images[:end]), axis=0),
            np.concatenate((labels_rest, self._labels[:end]), axis=0),
        )

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        self._random.shuffle(order)
        self._images = self._images[order]
        self._labels = self._labels[order]

    def __repr__(self) -> str:
        if not isinstance(self._images, np.ndarray):
            return "DataSet(fake)"
        return (
            f"DataSet({self._num_examples:,} images {self._images.dtype}"
            f"{list(self._images.shape[1:])}, labels {self._labels.dtype}"
            f"{list(self._labels.shape[1:])})"
        )


class _Datasets(NamedTuple):
    train: Any
    validation: Any
    test: Any


class Datasets(_Datasets):
    """``(train, validation, test)``; ``note`` says where the images are not MNIST's usual split."""

    note: str = ""

    def __repr__(self) -> str:
        parts = [f"  {name}: {getattr(self, name)!r}" for name in self._fields]
        notes = [f"  NOTE: {self.note}"] if self.note else []
        return "\n".join(["Datasets(", *parts, *notes, ")"])


def read_data_sets(
    train_dir: str | os.PathLike[str] | None = None,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = "float32",
    reshape: bool = True,
    validation_size: int = _DEFAULT_VALIDATION_SIZE,
    seed: int | None = None,
    source_url: str | None = DEFAULT_SOURCE_URL,
    *,
    announced: bool = False,
) -> Datasets:
    """MNIST as three `DataSet` objects: 55,000 / 5,000 / 10,000 images.

    Args:
        train_dir: where to look for the four files first (the current folder where it is empty)
            and, unless it is ``None`` or empty, where to download them to. Then come
            ``DATAFLOW_DATA``, the cache, and the network.
        fake_data: sets whose `DataSet.next_batch` gives constant images.
        one_hot: labels as rows of ten instead of numbers.
        dtype: float32 (pixels 0 to 1) or uint8 (0 to 255).
        reshape: images of 784 numbers instead of ``[28, 28, 1]``.
        validation_size: how many of the first training images are set aside.
        seed: of the shuffling.
        source_url: the folder to download from, ending in ``/``.
        announced: print a line for each file, as TensorFlow does:
            ``Extracting MNIST_data/train-images-idx3-ubyte.gz``.

    Where ``train_dir`` or ``DATAFLOW_DATA`` holds the 10,000 test images but no training images,
    nothing is downloaded: they are shuffled with seed 0 and split into 8,000 for training and
    2,000 for testing. Then the default ``validation_size`` means 1,000 of the 8,000. A warning and
    ``note`` say so.

    Raises:
        ValueError: ``validation_size`` is negative or more than the training images.
        DatasetUnavailableError: the files are not here and there is no network.
        DamagedFileError: a file is cut short or is no idx file.
    """
    if fake_data:
        fakes = [
            DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
            for _ in range(3)
        ]
        return Datasets(*fakes)
    note = ""
    (train_images, train_labels), (test_images, test_labels), is_split = _load(
        train_dir, source_url, announced
    )
    if is_split:
        if validation_size == _DEFAULT_VALIDATION_SIZE:
            validation_size = NUM_SPLIT_VALIDATION
        num_train = max(NUM_SPLIT_TRAIN - validation_size, 0)
        for_validation = f"{validation_size:,} for validation, " if validation_size else ""
        note = (
            "only MNIST's 10,000 test images are on this machine. They were shuffled with seed "
            f"{SPLIT_SEED} and split: {num_train:,} to train on, {for_validation}"
            f"{len(test_images):,} to test on. Accuracies are not comparable with "
            "published ones, which train on 60,000."
        )
        warnings.warn("read_data_sets: " + note, UserWarning, stacklevel=2)
    if not 0 <= validation_size <= len(train_images):
        raise ValueError(
            f"Validation size should be between 0 and {len(train_images)}. "
            f"Received: {validation_size}."
        )
    if one_hot:
        train_labels, test_labels = dense_to_one_hot(train_labels), dense_to_one_hot(test_labels)
    parts = (
        (train_images[validation_size:], train_labels[validation_size:]),
        (train_images[:validation_size], train_labels[:validation_size]),
        (test_images, test_labels),
    )
    result = Datasets(
        *(
            DataSet(x[..., np.newaxis], y, one_hot=one_hot, dtype=dtype, reshape=reshape, seed=seed)
            for x, y in parts
        )
    )
    result.note = note
    return result


def load_data() -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """``(train_x, train_y), (test_x, test_y)`` as Keras gives them: uint8 ``[n, 28, 28]``, ``[n]``.

    60,000 and 10,000 images, or 8,000 and 2,000 with a warning: see `read_data_sets`.
    """
    train, test, is_split = _load(None, DEFAULT_SOURCE_URL)
    if is_split:
        warnings.warn(
            "mnist.load_data: only the 10,000 test images are here; "
            f"split {NUM_SPLIT_TRAIN:,} / {len(test[0]):,} with seed {SPLIT_SEED}.",
            UserWarning,
            stacklevel=2,
        )
    return train, test


def _load(
    train_dir: str | os.PathLike[str] | None, source_url: str | None, announced: bool = False
) -> tuple[tuple[Array, Array], tuple[Array, Array], bool]:
    """Training and test arrays, and whether they are a split of the test images."""
    has_training = all(fetch.find(FILES[n], train_dir) for n in (TRAIN_IMAGES, TRAIN_LABELS))
    if not has_training and _given_test_images_only(train_dir):
        images, labels = _pair(TEST_IMAGES, TEST_LABELS, train_dir, source_url, announced)
        order = np.random.RandomState(SPLIT_SEED).permutation(len(images))
        train, test = order[:NUM_SPLIT_TRAIN], order[NUM_SPLIT_TRAIN:]
        return (images[train], labels[train]), (images[test], labels[test]), True
    return (
        _pair(TRAIN_IMAGES, TRAIN_LABELS, train_dir, source_url, announced),
        _pair(TEST_IMAGES, TEST_LABELS, train_dir, source_url, announced),
        False,
    )


def _given_test_images_only(train_dir: str | os.PathLike[str] | None) -> bool:
    """Whether the user, rather than an earlier download, put the test images where they are."""
    cache = fetch.cache_directory()
    found = [fetch.find(FILES[name], train_dir) for name in (TEST_IMAGES, TEST_LABELS)]
    return all(path is not None and cache not in path.parents for path in found)


def _pair(
    images_name: str,
    labels_name: str,
    train_dir: str | os.PathLike[str] | None,
    source_url: str | None,
    announced: bool,
) -> tuple[Array, Array]:
    images_path = fetch.fetch(_from_source(images_name, source_url), train_dir)
    labels_path = fetch.fetch(_from_source(labels_name, source_url), train_dir)
    if announced:
        for path in (images_path, labels_path):
            print("Extracting", _as_asked(path, train_dir))
    images, labels = read_idx(images_path, 3), read_idx(labels_path, 1)
    if len(images) != len(labels):
        raise DamagedFileError(
            f"{images_path} has {len(images):,} images, {labels_path} {len(labels):,} labels."
        )
    return images, labels


def _as_asked(path: Path, train_dir: str | os.PathLike[str] | None) -> str:
    """``path`` as TensorFlow prints it: ``train_dir`` in the program's own words, where the file lies there."""
    if train_dir is not None and path.parent == Path(train_dir).expanduser():
        return os.path.join(train_dir, path.name)
    return str(path)


def _from_source(name: str, source_url: str | None) -> RemoteFile:
    file = FILES[name]
    if not source_url or source_url == DEFAULT_SOURCE_URL:
        return file
    return RemoteFile(
        file.folder, name, (source_url.rstrip("/") + "/" + name,), file.sha256, file.size_bytes
    )


def _dtype_name(dtype: Any) -> str:
    """The name of a dataflow dtype, a NumPy dtype, or anything NumPy takes for one."""
    name = getattr(dtype, "name", None)
    return name if isinstance(name, str) else str(np.dtype(dtype))


def _draws_as_tensorflow() -> bool:
    """Whether a program runs as one of TensorFlow's, and expects its numbers."""
    numbers = sys.modules.get("dataflow.tensorflow_numbers")
    return numbers is not None and bool(numbers.draws_as_tensorflow())


def _graph_seed() -> int | None:
    """The default graph's seed, if dataflow is in use and has one."""
    dataflow = sys.modules.get("dataflow")
    get_default_graph = getattr(dataflow, "get_default_graph", None)
    return getattr(get_default_graph(), "seed", None) if get_default_graph else None
