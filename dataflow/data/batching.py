"""`tf.data.experimental.map_and_batch`: a function of each element, and batches, in one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.data.arguments import int64_scalar, static_int
from dataflow.data.dataset import Dataset
from dataflow.data.element_functions import trace_on_elements
from dataflow.data.structure import Structure
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import dataset as ops
from dataflow.ops.seeds import count_left_out


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: TensorLike,
    num_parallel_batches: Any = None,
    drop_remainder: bool | TensorLike = False,
    num_parallel_calls: Any = None,
) -> Callable[[Dataset], Dataset]:
    """`map`, then `batch`; an error of ``map_func`` takes the place of its whole batch.

    ``num_parallel_calls``: how many elements are computed at a time, or ``num_parallel_batches`` how many
    batches; one element where both are None. Raises `ValueError` for both. The end of a sequence within
    ``map_func`` is an `InvalidArgumentError`, not the end of the dataset.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive, got "
            f"{num_parallel_batches!r} and {num_parallel_calls!r}."
        )
    if num_parallel_batches is not None:
        num_parallel_calls = -1
    calls = int64_scalar(1 if num_parallel_calls is None else num_parallel_calls)

    def apply(dataset: Dataset) -> Dataset:
        graph, nested = trace_on_elements(dataset.structure, map_func, "map_func")
        size = static_int(batch_size) if drop_remainder is True else None
        structure = Structure.of(nested).batched(size)
        number = int64_scalar(batch_size)
        count_left_out(4)
        return Dataset(
            structure,
            lambda: ops.map_and_batch_dataset_op(
                dataset.as_variant_tensor(),
                graph.captured,
                number(),
                calls(),
                convert_to_tensor(drop_remainder, dtypes.bool_),
                f=graph,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
            dataset,
        )

    return apply
