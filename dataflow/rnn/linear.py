"""A linear map of concatenated inputs, as TensorFlow's recurrent cells used it privately.

Programs that bring cells of their own import ``_linear`` from ``rnn_cell_impl`` or ``core_rnn_cell``, and
before 1.2 from ``rnn_cell``; later ``_Linear``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import InitializerLike
from dataflow.ops.bias import bias_add
from dataflow.ops.concat_split import concat
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.matmul import matmul
from dataflow.ops.variable_scope import get_variable
from dataflow.shapes import dimension_value


def _linear(
    args: Tensor | Sequence[Tensor],
    output_size: int,
    bias: bool,
    bias_initializer: InitializerLike | None = None,
    kernel_initializer: InitializerLike | None = None,
) -> Tensor:
    """``concat(args, 1) @ kernel + bias``: [batch, output_size] of matrices [batch, n_i].

    Makes or reuses the variables ``kernel`` [sum of n_i, output_size] and ``bias`` in the current
    variable scope.
    Raises `ValueError` for inputs that are no matrices, or whose second dimension is unknown.
    """
    return _Linear(
        args,
        output_size,
        bias,
        bias_initializer=bias_initializer,
        kernel_initializer=kernel_initializer,
    )(args)


class _Linear:
    """`_linear` as an object: the variables are made once, in the variable scope of the constructor."""

    def __init__(
        self,
        args: Tensor | Sequence[Tensor],
        output_size: int,
        build_bias: bool,
        bias_initializer: InitializerLike | None = None,
        kernel_initializer: InitializerLike | None = None,
    ) -> None:
        tensors = self._tensors(args)
        size = 0
        for tensor in tensors:
            shape = tensor.get_shape()
            if shape.ndims != 2:
                raise ValueError(
                    f"linear is expecting 2D arguments: {[t.get_shape() for t in tensors]}"
                )
            if dimension_value(shape[1]) is None:
                raise ValueError(
                    f"linear expects shape[1] to be provided for shape {shape}, but saw {shape[1]}"
                )
            size += dimension_value(shape[1])
        dtype = tensors[0].dtype
        self._weights = get_variable(
            "kernel", [size, output_size], dtype=dtype, initializer=kernel_initializer
        )
        self._biases = None
        if build_bias:
            self._biases = get_variable(
                "bias",
                [output_size],
                dtype=dtype,
                initializer=bias_initializer or zeros_initializer(),
            )

    @staticmethod
    def _tensors(args: Any) -> list[Tensor]:
        if args is None or (isinstance(args, (list, tuple)) and not args):
            raise ValueError("`args` must be specified")
        many = args if isinstance(args, (list, tuple)) else [args]
        return [convert_to_tensor(a) for a in many]

    def __call__(self, args: Any) -> Tensor:
        tensors = self._tensors(args)
        product = matmul(tensors[0] if len(tensors) == 1 else concat(tensors, 1), self._weights)
        return product if self._biases is None else bias_add(product, self._biases)


def joined_product(weights: tuple[Any, Any], *parts: Tensor) -> Tensor:
    """``concat(parts, 1) @ kernel + bias`` for ``weights``, the pair of both."""
    kernel, bias = weights
    joined = parts[0] if len(parts) == 1 else concat(list(parts), 1)
    return bias_add(matmul(joined, kernel), bias)


def sharded_kernel(
    add_variable: Callable[..., Any], name: str, shape: list[int], num_shards: int, initializer: Any
) -> Tensor:
    """A matrix whose rows are shared out to the variables ``name_0``, ``name_1``, ... of a cell.

    Raises `ValueError` where there are fewer rows than shards.
    """
    rows, columns = shape
    if num_shards > rows:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={num_shards}")
    sizes = [rows // num_shards + (n < rows % num_shards) for n in range(num_shards)]
    shards = [
        add_variable(f"{name}_{n}", [size, columns], initializer=initializer)
        for n, size in enumerate(sizes)
    ]
    return shards[0] if num_shards == 1 else concat(shards, 0, name=f"{name}/concat")
