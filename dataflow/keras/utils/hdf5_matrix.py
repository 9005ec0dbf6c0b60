"""`tf.keras.utils.HDF5Matrix`: rows of a dataset in an HDF5 file, read when they are asked for."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dataflow.extras import install


class HDF5Matrix:
    """Rows ``start`` to ``end`` of ``dataset`` in the file ``datapath``; needs h5py.

    `fit`, `evaluate` and `predict` take it in place of an array. ``normalizer``, a function, is applied to the
    rows that are read. Raises `ImportError` without h5py, `IndexError` for rows that are not there.
    """

    refs: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        datapath: str,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Any = None,
    ) -> None:
        if datapath not in self.refs:
            self.refs[datapath] = _opened(datapath)
        self.data = self.refs[datapath][dataset]
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            if key.start is not None and key.start >= len(self):
                raise IndexError(f"HDF5Matrix: row {key.start} of {len(self)}")
            first, last, step = key.indices(len(self))
            rows = self.data[self.start + first : self.start + max(first, last) : step]
        else:
            index = np.asarray(key)
            if index.size and not (index.min() >= 0 and index.max() < len(self)):
                raise IndexError(f"HDF5Matrix: row {index.max()} of {len(self)}")
            if index.ndim == 0:
                rows = self.data[int(index) + self.start]
            else:  # h5py wants rising numbers, each once
                sorted_rows, back = np.unique(index, return_inverse=True)
                rows = self.data[list(sorted_rows + self.start)][back]
        return rows if self.normalizer is None else self.normalizer(rows)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    @property
    def _sample(self) -> Any:
        return self.data if self.normalizer is None else self.normalizer(self.data[0:1])

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, ...)."""
        return (len(self), *self._sample.shape[1:])

    @property
    def dtype(self) -> Any:
        """The rows' dtype."""
        return self._sample.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.data.ndim)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))


def _opened(path: str) -> Any:
    try:
        import h5py
    except ImportError:
        raise ImportError(f"HDF5Matrix: h5py is not installed: {install('hdf5')}.") from None
    return h5py.File(path, "r")
