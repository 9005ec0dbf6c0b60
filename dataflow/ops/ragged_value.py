"""The value of a ragged tensor, as a run gives it."""

from __future__ import annotations

from typing import Any

import numpy as np


class RaggedTensorValue:
    """The value of a `RaggedTensor`: arrays in place of tensors, or a value inside for more levels."""

    is_ragged = True

    def __init__(self, values: Any, row_splits: Any) -> None:
        self.values: Any = values if isinstance(values, RaggedTensorValue) else np.asarray(values)
        self.row_splits = np.asarray(row_splits)
        if self.row_splits.ndim != 1 or self.row_splits.dtype not in (np.int32, np.int64):
            raise TypeError("row_splits must be a vector of int32 or int64")

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        return self.values.flat_values if is_value(self.values) else self.values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all levels, outermost first."""
        inner = self.values.nested_row_splits if is_value(self.values) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """How many levels of rows there are."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the values."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The number of rows, None for each ragged axis, and the sizes of the values' other axes."""
        return (len(self.row_splits) - 1, None, *self.values.shape[1:])

    def to_list(self) -> list[Any]:
        """The rows as lists."""
        if is_value(self.values):
            inner = self.values.to_list()
        else:
            inner = self.values.tolist()
        return [inner[a:b] for a, b in zip(self.row_splits[:-1], self.row_splits[1:], strict=True)]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"


def is_value(value: Any) -> bool:
    """Whether it is the value of a ragged tensor."""
    return isinstance(value, RaggedTensorValue)
