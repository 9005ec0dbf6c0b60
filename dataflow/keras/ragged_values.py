"""Ragged tensors where metrics compare tensors: their values, once their rows are as long."""

from __future__ import annotations

from typing import Any

from dataflow.ops.assertions import assert_equal
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.reshape import expand_dims


def flat_values_of_same_rows(values: Any, mask: Any = None) -> Any:
    """(values, mask); of ragged tensors their ``flat_values``, with an axis of 1 behind, once their rows are as long.

    ``values`` is one tensor or a list of them. Raises `TypeError` where only some are ragged, `ValueError` where they
    have other numbers of ragged axes.
    """
    listed = values if isinstance(values, list) else [values]
    ragged = [isinstance(one, RaggedTensor) for one in listed]
    if not any(ragged) and not isinstance(mask, RaggedTensor):
        return values, mask
    if not all(ragged) or not (mask is None or isinstance(mask, RaggedTensor)):
        raise TypeError("Ragged and dense tensors: values and mask must all be ragged, or none.")
    splits = [one.nested_row_splits for one in (*listed, *([] if mask is None else [mask]))]
    if len({len(one) for one in splits}) > 1:
        raise ValueError(
            f"Inputs must have identical ragged splits, got {[len(s) for s in splits]} ragged axes."
        )
    same = [
        assert_equal(a, b, message="Inputs must have identical ragged splits")
        for other in splits[1:]
        for a, b in zip(splits[0], other, strict=True)
    ]

    def flat(one: Any) -> Any:
        return expand_dims(
            with_dependencies([op for op in same if op is not None], one.flat_values), -1
        )

    found = [flat(one) for one in listed]
    return found if isinstance(values, list) else found[0], None if mask is None else flat(mask)
