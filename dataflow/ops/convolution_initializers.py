"""Kernels of convolutions that keep the length of what they are applied to: a delta, and orthogonal ones."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from dataflow.dtypes import as_dtype
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.gather_scatter import scatter_nd
from dataflow.ops.initializers import WithGain, orthonormal_columns
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import eye, matrix_transpose
from dataflow.ops.random import random_normal

Index = tuple[int, ...]


def _channels(shape: Any) -> tuple[int, int]:
    """The channels that go in and come out; raises `ValueError` where fewer come out."""
    before, after = int(shape[-2]), int(shape[-1])
    if before > after:
        raise ValueError(
            f"In_filters cannot be greater than out_filters, got {before} and {after}."
        )
    return before, after


class ConvolutionDeltaOrthogonal(WithGain):
    """Zeros, but for orthogonal rows times ``gain`` in the middle of the kernel (Xiao et al. 2018).

    Kernels are [width, in, out], [height, width, in, out] or [depth, height, width, in, out], with no
    more channels in than out; others raise `ValueError`.
    """

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        sizes = [int(size) for size in shape]
        if not 3 <= len(sizes) <= 5:
            raise ValueError(
                "The tensor to initialize must be at least three-dimensional and at most "
                f"five-dimensional, got shape {sizes}"
            )
        before, after = _channels(sizes)
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        rows = orthonormal_columns([after, after], wanted, self.seed)[:before]
        rows = rows * cast(self.gain, wanted)
        middle = [(size - 1) // 2 for size in sizes[:-2]]
        return scatter_nd([middle], array.expand_dims(rows, 0), sizes)


class ConvolutionOrthogonal(WithGain):
    """A kernel whose convolution, on a circle, keeps lengths up to ``gain`` (Xiao et al. 2018).

    It is a product of kernels of size 2 in each direction, each made of projections. The sizes of the
    kernel must be equal, and no more channels go in than come out; others raise `ValueError`.
    """

    #: How many directions the kernel has.
    _depth = 0
    _name = ""

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        if not self._depth:
            raise NotImplementedError
        sizes = [int(size) for size in shape]
        if len(sizes) != self._depth + 2:
            raise ValueError(f"The tensor to initialize must be {self._name}, got shape {sizes}")
        before, after = _channels(sizes)
        if len(set(sizes[:-2])) != 1:
            raise ValueError(f"Kernel sizes must be equal, got {sizes[:-2]}.")
        kernel = self._kernel(sizes[0], before, after)
        return kernel * cast(self.gain, self.dtype if dtype is None else as_dtype(dtype))

    def _next_seed(self) -> int | None:
        seed = self.seed
        if self.seed:
            self.seed += 1
        return seed

    def _projection(self, size: int) -> Any:
        """The projection on a random subspace: a symmetric matrix."""
        q = orthonormal_columns([size, size], self.dtype, self._next_seed())
        kept = cast(random_normal([size], seed=self._next_seed()) > 0, self.dtype)
        columns = q * kept
        return matmul(columns, matrix_transpose(columns))

    def _small_kernel(self, size: int) -> dict[Index, Any]:
        """The kernel of size 2 in each direction, by index: products of projections and their complements."""
        projections = [self._projection(size) for _ in range(self._depth)]
        identity = eye(size, dtype=self.dtype)
        pairs = [(projection, identity - projection) for projection in projections]
        return {
            index: functools.reduce(matmul, [pair[i] for pair, i in zip(pairs, index, strict=True)])
            for index in itertools.product((0, 1), repeat=self._depth)
        }

    def _kernel(self, size: int, before: int, after: int) -> Any:
        rows = orthonormal_columns([after, after], self.dtype, self._next_seed())[:before]
        if size == 1:
            return array.reshape(rows, [1] * self._depth + [before, after])
        found = self._small_kernel(after)
        for _ in range(size - 2):
            found = _convolved(found, self._small_kernel(after))
        places = itertools.product(range(size), repeat=self._depth)
        stacked = array.stack([matmul(rows, found[place]) for place in places])
        return array.reshape(stacked, [size] * self._depth + [before, after])


def _convolved(first: dict[Index, Any], second: dict[Index, Any]) -> dict[Index, Any]:
    """The kernel of both convolutions, one after the other."""
    found: dict[Index, Any] = {}
    for (i, a), (j, b) in itertools.product(first.items(), second.items()):
        place = tuple(x + y for x, y in zip(i, j, strict=True))
        product = matmul(a, b)
        found[place] = found[place] + product if place in found else product
    return found


class ConvolutionOrthogonal1D(ConvolutionOrthogonal):
    """`ConvolutionOrthogonal` of kernels [width, in, out]."""

    _depth, _name = 1, "three-dimensional"


class ConvolutionOrthogonal2D(ConvolutionOrthogonal):
    """`ConvolutionOrthogonal` of kernels [height, width, in, out]."""

    _depth, _name = 2, "four-dimensional"


class ConvolutionOrthogonal3D(ConvolutionOrthogonal):
    """`ConvolutionOrthogonal` of kernels [depth, height, width, in, out]."""

    _depth, _name = 3, "five-dimensional"


convolutional_delta_orthogonal = ConvolutionDeltaOrthogonal
convolutional_orthogonal_1d = ConvolutionOrthogonal1D
convolutional_orthogonal_2d = ConvolutionOrthogonal2D
convolutional_orthogonal_3d = ConvolutionOrthogonal3D
