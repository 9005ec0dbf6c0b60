"""Tensors that `fit`, `evaluate` and `predict` are given: each run of them is a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.graph import nest
from dataflow.graph.eager import executing_eagerly
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.tensor import Tensor
from dataflow.ops.variables import Variable
from dataflow.runtime.base_session import BaseSession


def are_tensors(x: Any) -> bool:
    """Whether the inputs (one, or a list or dict of them) have no values before they are run."""
    return not executing_eagerly() and any(
        isinstance(part, (Tensor, Variable)) and not isinstance(part, EagerTensor)
        for part in nest.flatten(x)
    )


def _need_steps(steps: int | None, name: str) -> int:
    if steps is None:
        raise ValueError(
            "When using data tensors as input to a model, you should specify the "
            f"`{name}` argument."
        )
    return steps


def values_of(parts: Any, session: BaseSession) -> tuple[Any, ...]:
    """The arrays of inputs, targets and weights; those that were not given stay None."""
    given = {i: part for i, part in enumerate(parts) if part is not None}
    return tuple(map(session.run(given).get, range(len(parts))))


def batches_of(
    x: Any, y: Any, weights: Any, session: BaseSession, steps: int | None
) -> Iterator[Any]:
    """Batches without an end for `fit`; raises `ValueError` where ``steps`` does not bound them."""
    _need_steps(steps, "steps_per_epoch")
    structure = (x, y) if weights is None else (x, y, weights)

    def runs() -> Iterator[Any]:
        while True:
            yield values_of(structure, session)

    return runs()


def joined(structure: Any, session: BaseSession, steps: int | None, name: str) -> tuple[Any, int]:
    """(arrays of ``steps`` runs, one after the other, in the same structure; rows of a run).

    Raises `ValueError` without ``steps``, which the caller knows as ``name``.
    """
    runs = [values_of(structure, session) for _ in range(_need_steps(steps, name))]
    rows = len(nest.flatten(runs[0])[0])

    def one(*parts: Any) -> Any:
        return None if parts[0] is None else np.concatenate(parts)

    return nest.map_structure(one, *runs), rows
