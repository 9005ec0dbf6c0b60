"""What an initializer of a part of a variable may want to know of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["PartitionInfo"]


def _check_sequence(name: str, value: Any) -> None:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(
            f"`{name}` must be a sequence (like tuple or list) instead of {type(value).__name__}"
        )


class PartitionInfo:
    """The shape of the whole variable, and where in it a part begins.

    Raises `TypeError` for what is no list or tuple, `ValueError` for offsets outside of the shape.
    """

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        _check_sequence("full_shape", full_shape)
        _check_sequence("var_offset", var_offset)
        if len(var_offset) != len(full_shape):
            raise ValueError(
                f"Expected equal length, but `var_offset` is of length {len(var_offset)} while "
                f"full_shape is of length {len(full_shape)}."
            )
        if not all(0 <= o < size for o, size in zip(var_offset, full_shape, strict=True)):
            raise ValueError(
                f"Expected 0 <= offset < shape, got var_offset={var_offset}, full_shape={full_shape}."
            )
        self.full_shape, self.var_offset = full_shape, var_offset

    def single_offset(self, shape: Sequence[int]) -> int:
        """Where a part of ``shape`` begins along the one axis that is cut; 0 where none is."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The one axis along which a part of ``shape`` is less than the whole; None where none is.

        Raises `TypeError` for what is no list or tuple, `ValueError` for another number of axes, a part that
        reaches beyond the whole, and more than one such axis.
        """
        _check_sequence("shape", shape)
        if len(shape) != len(self.full_shape):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while "
                f"self.full_shape={self.full_shape} is of length {len(self.full_shape)}."
            )
        for axis, (o, size, whole) in enumerate(
            zip(self.var_offset, shape, self.full_shape, strict=True)
        ):
            if o + size > whole:
                raise ValueError(
                    f"With self.var_offset={self.var_offset}, a partition of shape={shape} would exceed "
                    f"self.full_shape={self.full_shape} in dimension {axis}."
                )
        cut = [i for i, size in enumerate(shape) if size != self.full_shape[i]]
        if len(cut) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={self.full_shape} "
                f"since slice dim could be either dimension {cut[0]} or {cut[1]}."
            )
        return cut[0] if cut else None
