"""Batches of changed images, by number or without an end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dataflow.keras.preprocessing.image_arrays import save_img
from dataflow.keras.utils import Sequence

Array = np.ndarray[Any, Any]


class SaveTo(NamedTuple):
    """Where the images of the batches are left to be looked at."""

    folder: Any
    prefix: str
    file_format: str

    def write(self, images: Array, rows: Array, batch: int, data_format: str) -> None:
        """A file for each image: the prefix, the number of the image, the number of the batch."""
        for image, row in zip(images, rows, strict=True):
            name = f"{self.prefix}_{row}_{batch}.{self.file_format}"
            save_img(Path(self.folder) / name, image, data_format)


class Iterator(Sequence):
    """Batches without an end for ``next``, or by number for ``fit``."""

    gives_itself = False
    #: The columns of "raw" and "multi_output", and those of "multi_output" once more.
    labels: Any = None
    _outputs: list[Array] | None = None
    classes: Array
    class_indices: dict[str, int]
    filenames: list[str]
    num_classes: int

    def __init__(
        self,
        generator: Any,
        read: Any,
        others: list[Array],
        count: int,
        batch_size: int,
        shuffle: bool,
        seed: int | None,
        save_to: SaveTo | None = None,
    ) -> None:
        self.n = self.samples = count
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.batch_index = 0
        self.total_batches_seen = 0
        self._generator = generator
        self._read = read
        self._others = others
        self._save_to = save_to
        self._order: Any = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def __iter__(self) -> Iterator:
        return self

    def reset(self) -> None:
        """Starts the next batch at the beginning."""
        self.batch_index = 0

    def on_epoch_end(self) -> None:
        """Shuffles anew."""
        self._order = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def next(self) -> Any:
        """The next batch."""
        return self.__next__()

    def __next__(self) -> Any:
        with self._lock:
            if self.batch_index == 0:
                self._seed()
                self.on_epoch_end()
            index = self.batch_index
            self.batch_index = (index + 1) % len(self)
        return self[index]

    def _seed(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise ValueError(
                f"Asked to retrieve element {index}, but the Sequence has length {len(self)}"
            )
        self._seed()
        self.total_batches_seen += 1
        if self._order is None:
            self.on_epoch_end()
        rows = self._order[index * self.batch_size : (index + 1) * self.batch_size]
        make = self._generator
        images = np.stack(
            [
                make.standardize(make.random_transform(self._read(i).astype(make.dtype)))
                for i in rows
            ]
        )
        if self._save_to is not None:
            self._save_to.write(images, rows, self.total_batches_seen, make.data_format)
        if self.gives_itself:
            return images, images.copy()
        others = [v[rows] for v in self._others]
        if self._outputs is not None:
            return (images, [v[rows] for v in self._outputs], *others)
        return (images, *others) if others else images


class NumpyArrayIterator(Iterator):
    """Batches of the images of an array: what ``flow`` returns."""


class DirectoryIterator(Iterator):
    """Batches of the images in a folder: what ``flow_from_directory`` returns."""


class DataFrameIterator(Iterator):
    """Batches of the images of a table: what ``flow_from_dataframe`` returns."""
