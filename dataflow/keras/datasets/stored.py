"""Files of the data sets of Keras: arrays in ``.npz`` files and pickled batches, read without running code."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from dataflow.errors import DataLossError
from dataflow.formats.object_arrays import object_array
from dataflow.keras.utils.data_files import get_file

#: Where Keras has its data sets.
ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"

#: What a pickled array is made of; anything else in a file is refused.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
    **{
        # As NumPy's own pickles name them, before and after version 2.
        (f"{core}.multiarray", name): value.__reduce__()[0]
        for core in ("numpy.core", "numpy._core")
        for name, value in (("_reconstruct", np.empty(0)), ("scalar", np.float64(0)))
    },
}


class _ArraysOnly(pickle.Unpickler):
    """Reads lists, dicts, numbers, texts and arrays."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return lambda text, encoding: text.encode(encoding)
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not an array")
        return _ALLOWED[module, name]


def unpickled(opened: IO[bytes], path: Any) -> Any:
    """Data that Python 2 or 3 pickled; raises `DataLossError` for anything but arrays and lists."""
    try:
        return _ArraysOnly(opened, encoding="bytes").load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ValueError, TypeError) as error:
        raise DataLossError(message=f"{path} is damaged, or no data set: {error}.") from error


def arrays(name: str) -> dict[str, Any]:
    """The arrays of an ``.npz`` file of Keras: in the cache, in ``DATAFLOW_DATA``, or downloaded.

    Raises `FileNotFoundError` where there is none and no network; `DataLossError`.
    """
    path = Path(name)
    if not path.is_absolute():
        path = Path(get_file(name, origin=ORIGIN + name))
    found = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as opened:
                    found[member.removesuffix(".npy")] = _array(opened, path)
    except zipfile.BadZipFile as error:
        raise DataLossError(message=f"{path} is damaged, or no .npz file: {error}.") from error
    return found


def _array(opened: IO[bytes], path: Path) -> Any:
    version = np.lib.format.read_magic(opened)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read:
        raise DataLossError(message=f"{path}: arrays of version {version} are not known.")
    shape, is_fortran, dtype = read[version](opened)
    if dtype.hasobject:
        return unpickled(opened, path)
    data = np.frombuffer(opened.read(), dtype)
    return data.reshape(shape[::-1]).T if is_fortran else data.reshape(shape)


def shuffled(random: Any, *together: Any) -> list[Any]:
    """Arrays in one new order, the same for all."""
    order = np.arange(len(together[0]))
    random.shuffle(order)
    return [np.asarray(one)[order] for one in together]


def shuffled_parts(seed: int, *parts: tuple[Any, Any]) -> list[list[Any]]:
    """Pairs of arrays in new orders, one pair after the other, as ``numpy.random.seed(seed)`` gives."""
    random = np.random.RandomState(seed)
    return [shuffled(random, *part) for part in parts]


def encoded(
    texts: Any,
    labels: Any,
    num_words: int | None,
    skip_top: int,
    maxlen: int | None,
    start_char: int | None,
    oov_char: int | None,
    index_from: int,
) -> tuple[list[list[int]], list[Any]]:
    """Texts of word numbers (1 is the most common), as `tf.keras.datasets.imdb.load_data` says."""
    start = [] if start_char is None else [start_char]
    shift = index_from or 0
    found = [[*start, *(int(word) + shift for word in text)] for text in texts]
    kept = list(labels)
    if maxlen:
        pairs = [pair for pair in zip(found, kept, strict=True) if len(pair[0]) < maxlen]
        if not pairs:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. "
                "Increase maxlen."
            )
        found, kept = [text for text, _ in pairs], [label for _, label in pairs]
    limit = num_words or max(max(text) for text in found)
    if oov_char is None:
        return [[w for w in text if skip_top <= w < limit] for text in found], kept
    return [[w if skip_top <= w < limit else oov_char for w in text] for text in found], kept


def in_two_parts(texts: list[list[int]], labels: list[Any], count: int) -> Any:
    """The first ``count`` texts with their labels, and the others with theirs: arrays, of lists and numbers."""
    return (
        (object_array(texts[:count]), np.array(labels[:count])),
        (object_array(texts[count:]), np.array(labels[count:])),
    )


def word_numbers(name: str) -> dict[str, int]:
    """The number of each word, from a JSON file of Keras, found as in `arrays`."""
    with open(get_file(name, origin=ORIGIN + name), encoding="utf-8") as opened:
        return json.load(opened)  # type: ignore[no-any-return]
