"""Elements of `Dataset.from_generator`: what the user's generator yields, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import shapes
from dataflow.data.structure import Structure, flatten
from dataflow.errors import InvalidArgumentError


def element_of_generator(item: Any, structure: Structure) -> tuple[Any, ...]:
    """One yielded item as arrays, checked against types and shapes."""
    from dataflow.kernels.dataset.elements import as_element_array

    parts = (
        flatten(item) if len(structure.dtypes) > 1 or isinstance(item, (tuple, dict)) else [item]
    )
    if isinstance(item, list) and len(structure.dtypes) > 1:
        parts = list(item)
    if len(parts) != len(structure.dtypes):
        raise InvalidArgumentError(
            None,
            None,
            f"the generator yielded an element with {len(parts)} components, "
            f"output_types names {len(structure.dtypes)}: {item!r}",
        )
    result = []
    for part, dtype, dims in zip(parts, structure.dtypes, structure.dims, strict=True):
        try:
            array = as_element_array(part, dtype)
        except (ValueError, TypeError) as e:
            raise InvalidArgumentError(
                None,
                None,
                f"the generator yielded {part!r}, which cannot be converted to {dtype.name}: {e}",
            ) from e
        if not shapes.compatible(dims, np.shape(array)):
            raise InvalidArgumentError(
                None,
                None,
                f"the generator yielded an element of shape {np.shape(array)} where an element of "
                f"shape {shapes.format_dims(dims)} was expected.",
            )
        result.append(array)
    return tuple(result)
