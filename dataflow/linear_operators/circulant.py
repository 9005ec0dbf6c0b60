"""Circulant matrices in one, two and three dimensions: convolutions, by Fourier transforms."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.linear_operators.dense import assert_no_zeros
from dataflow.linear_operators.linear_operator import LinearOperator, log_of, matrix_parameter
from dataflow.linear_operators.operator_properties import size_along
from dataflow.ops import array
from dataflow.ops.assertions import assert_near, assert_positive
from dataflow.ops.broadcast_shapes import common_shape
from dataflow.ops.casts import cast
from dataflow.ops.complex_numbers import conj, real
from dataflow.ops.math import reduce_prod, reduce_sum
from dataflow.ops.matrix_diag import matrix_transpose
from dataflow.ops.spectral import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from dataflow.shapes import TensorShape

_TRANSFORMS = {1: (fft, ifft), 2: (fft2d, ifft2d), 3: (fft3d, ifft3d)}


class _Circulant(LinearOperator):
    """``F^-1 @ diag(spectrum) @ F``, with F the Fourier transform over the last `_depth` axes.

    ``input_output_dtype`` is the dtype of the operator: complex, or real for a spectrum that is
    Hermitian, so that the matrix is real. A spectrum of real numbers makes a self-adjoint operator.
    """

    _depth = 1

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        if not is_square:
            raise ValueError("A block circulant operator is always square.")
        given = matrix_parameter(spectrum, "spectrum")
        if not given.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        wide = given.dtype.base_dtype in (dtypes.float64, dtypes.complex128)
        self._spectrum = cast(given, dtypes.complex128 if wide else dtypes.complex64)
        ndims = given.get_shape().ndims
        if ndims is not None and ndims < self._depth:
            raise ValueError(
                f"spectrum must have at least {self._depth} axes, got {given.get_shape()}"
            )
        super().__init__(
            input_output_dtype,
            [given],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name or type(self).__name__,
        )

    @property
    def spectrum(self) -> Any:
        """The eigenvalues, as complex numbers: the transform of the first column."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """How many dimensions the transform has."""
        return self._depth

    @property
    def block_shape(self) -> TensorShape:
        """The static sizes of the transform."""
        shape = self._spectrum.get_shape()
        return TensorShape([None] * self._depth if shape.ndims is None else shape[-self._depth :])

    def block_shape_tensor(self) -> Any:
        """The sizes of the transform as an int32 vector."""
        if self.block_shape.is_fully_defined():
            return broadcasting.as_shape_tensor(self.block_shape)
        return array.shape(self._spectrum)[-self._depth :]

    def _shape(self) -> TensorShape:
        shape: TensorShape = self._spectrum.get_shape()
        if shape.ndims is None:
            return shape
        size = self.block_shape.num_elements()
        return TensorShape([*shape[: -self._depth], size, size])

    def _shape_tensor(self) -> Any:
        shape = array.shape(self._spectrum)
        size = reduce_prod(shape[-self._depth :], keepdims=True)
        return array.concat([shape[: -self._depth], size, size], 0)

    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """The inverse transform of the spectrum: the first column, in the shape of the blocks."""
        with self._scope(name):
            return self._own(_TRANSFORMS[self._depth][1](self._spectrum))

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """An op that fails where the matrix is not real."""
        with self._scope(name):
            kernel = _TRANSFORMS[self._depth][1](self._spectrum)
            return assert_near(kernel, conj(kernel), message="The spectrum is not Hermitian.")

    def _own(self, x: TensorLike) -> Any:
        """Complex numbers in the operator's dtype."""
        return cast(x if self.dtype.is_complex else real(x), self.dtype)

    def _filtered(self, x: Any, spectrum: Any) -> Any:
        """The columns of x [..., n, k] transformed, multiplied and transformed back."""
        forward, back = _TRANSFORMS[self._depth]
        rows = matrix_transpose(cast(x, self._spectrum.dtype))
        shape = array.concat([array.shape(rows)[:-1], self.block_shape_tensor()], 0)
        blocks = array.reshape(rows, shape)
        spectrum = array.expand_dims(spectrum, -self._depth - 1)
        found = back(forward(blocks) * spectrum)
        shape = array.concat([array.shape(found)[: -self._depth], self.shape_tensor()[-1:]], 0)
        result = self._own(matrix_transpose(array.reshape(found, shape)))
        batch = common_shape([x.get_shape()[:-2], self.batch_shape])
        result.set_shape(batch.concatenate([self.domain_dimension, broadcasting.known_size(x, -1)]))
        return result

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        spectrum = conj(self._spectrum) if adjoint else self._spectrum
        return self._filtered(broadcasting.flipped_if(x, adjoint_arg), spectrum)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        spectrum = conj(self._spectrum) if adjoint else self._spectrum
        return self._filtered(broadcasting.flipped_if(rhs, adjoint_arg), 1 / spectrum)

    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _determinant(self) -> Any:
        return self._own(reduce_prod(self._spectrum, self._axes()))

    def _log_abs_determinant(self) -> Any:
        return self._own(reduce_sum(log_of(self._spectrum), self._axes()))

    def _trace(self) -> Any:
        return self._own(reduce_sum(self._spectrum, self._axes()))

    def _diag_part(self) -> Any:
        mean = self._trace() / cast(size_along(self, -1), self.dtype)
        return array.broadcast_to(array.expand_dims(mean, -1), self.shape_tensor()[:-1])

    def _eigvals(self) -> Any:
        shape = array.concat([self.batch_shape_tensor(), [-1]], 0)
        found = array.reshape(self._spectrum, shape)
        found.set_shape(self.batch_shape.concatenate([self.range_dimension]))
        return self._own(found)

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(
            self._spectrum, "Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self) -> Any:
        text = "Not positive definite:  Real part of spectrum was not all positive."
        return assert_positive(real(self._spectrum), message=text)

    def _with(self, spectrum: Any) -> LinearOperator:
        return type(self)(
            spectrum,
            self.dtype,
            is_non_singular=self.is_non_singular,
            is_self_adjoint=self.is_self_adjoint,
            is_positive_definite=self.is_positive_definite,
        )

    def _adjoint(self) -> LinearOperator:
        return self._with(conj(self._spectrum))

    def _inverse(self) -> LinearOperator:
        return self._with(1 / self._spectrum)

    def _matmul_operator(self, right: LinearOperator) -> LinearOperator:
        if type(right) is not type(self):
            return super()._matmul_operator(right)
        both = True if self.is_non_singular and right.is_non_singular else None
        return type(self)(self._spectrum * right.spectrum, self.dtype, is_non_singular=both)


class LinearOperatorCirculant(_Circulant):
    """The matrix of a convolution on a circle: each row is the one above, moved on by one place."""


class LinearOperatorCirculant2D(_Circulant):
    """The matrix of a convolution on a torus; its vectors are pictures [n0, n1] row by row."""

    _depth = 2


class LinearOperatorCirculant3D(_Circulant):
    """The matrix of a periodic convolution in three dimensions."""

    _depth = 3
