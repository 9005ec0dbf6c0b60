"""Wishart distributions of positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, after
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_less_equal
from dataflow.ops.casts import cast
from dataflow.ops.decompositions import cholesky
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import log, matmul, reduce_sum, sqrt, square
from dataflow.ops.matrix_diag import matrix_band_part, matrix_diag_part, matrix_set_diag
from dataflow.ops.random import random_gamma, random_normal
from dataflow.ops.solvers import matrix_triangular_solve
from dataflow.ops.special import digamma, lgamma
from dataflow.shapes import TensorShape


class WishartCholesky(Distribution):
    """Sums of ``df`` outer products of normal vectors: positive definite matrices [k, k].

    ``scale`` [..., k, k] is the lower Cholesky factor of the vectors' covariance, ``df`` at least k. With
    ``cholesky_input_output_matrices`` values and samples are lower Cholesky factors, too. Raises
    `ValueError` for a smaller ``df`` that is known.
    """

    def __init__(
        self,
        df: TensorLike,
        scale: TensorLike,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartCholesky",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            factor = self._factor(convert_to_tensor(scale, name="scale"))
            self._df = convert_to_tensor(df, factor.dtype, name="df")
            size = None if factor.dims is None else factor.dims[-1]
            self._event_size = size
            #: A number, or where the scale is fed a scalar tensor, as float.
            self._size = array.shape(factor)[-1] if size is None else size
            if size is None:
                self._size = cast(self._size, factor.dtype)
            text = "Degrees of freedom (df) cannot be less than dimension of scale matrix"
            self._check(size, text)
            if validate_args:
                # One that is known has been compared; others are, when the graph runs.
                enough = convert_to_tensor(self._size, factor.dtype)
                self._df = after([assert_less_equal(enough, self._df, message=text)], self._df)
        self._tril = factor
        self.cholesky_input_output_matrices = cholesky_input_output_matrices
        super().__init__(
            dtype=factor.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=arguments,
            graph_parents=[self._df, factor],
            name=scope,
        )

    def _check(self, size: int | None, text: str) -> None:
        """Raises `ValueError` where ``df`` is known to be less than ``size``."""
        from dataflow.ops.tensor_values import constant_value

        known = constant_value(self._df)
        if size is not None and known is not None and np.any(known < size):
            raise ValueError(f"{text}: df = {known}, scale.dimension = {size}.")

    @staticmethod
    def _factor(scale: Any) -> Any:
        return scale

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self._df

    @property
    def dimension(self) -> Any:
        """The size k of the matrices, as a float."""
        return convert_to_tensor(self._size, self.dtype)

    def scale(self) -> Any:
        """The scale matrix, or its factor where values are factors."""
        return self._tril if self.cholesky_input_output_matrices else self._square()

    def _square(self) -> Any:
        return matmul(self._tril, self._tril, adjoint_b=True)

    def _batch_shape(self) -> TensorShape:
        return self._tril.shape[:-2]  # type: ignore[no-any-return]

    def _batch_shape_tensor(self) -> Any:
        return array.shape(self._tril)[:-2]

    def _event_shape(self) -> TensorShape:
        return TensorShape([self._event_size, self._event_size])

    def _event_shape_tensor(self) -> Any:
        return array.shape(self._tril)[-2:]

    def _sequence(self, a: Any) -> Any:
        """a, a - 1/2, ... of as many as the dimension, along a new last axis."""
        steps = self._size if self._event_size is None else np.array(self._size, self.dtype.numpy)
        return a[..., None] - 0.5 * array.range_(0.0, steps, dtype=self.dtype)

    def _multi_lgamma(self, a: Any) -> Any:
        p = self._size
        return 0.25 * p * (p - 1.0) * math.log(math.pi) + reduce_sum(lgamma(self._sequence(a)), -1)

    def _multi_digamma(self, a: Any) -> Any:
        return reduce_sum(digamma(self._sequence(a)), -1)

    def _log_det(self) -> Any:
        return reduce_sum(log(matrix_diag_part(self._tril)), -1)

    def _sample_n(self, n: ShapeLike | Tensor, seed: Any = None) -> Any:
        # Bartlett's decomposition: chi's on the diagonal, normal numbers below it.
        shape = array.concat([[n], array.shape(self._tril)], 0)
        x = random_normal(shape, dtype=self.dtype, seed=seed)
        half = 0.5 * self._df + array.zeros_like(self._tril[..., 0, 0])
        other = None if seed is None else (int(seed) * 31 + 7) % (2**31 - 1)
        chi = sqrt(random_gamma([n], self._sequence(half), 0.5, self.dtype, seed=other))
        x = matrix_set_diag(matrix_band_part(x, -1, 0), chi)
        x = matmul(self._tril + array.zeros_like(x), x)
        return x if self.cholesky_input_output_matrices else matmul(x, x, adjoint_b=True)

    def log_normalization(self, name: str = "log_normalization") -> Any:
        """The logarithm of what the density is divided by."""
        half = 0.5 * self._df
        return (
            self._df * self._log_det()
            + half * self._size * math.log(2.0)
            + self._multi_lgamma(half)
        )

    def mean_log_det(self, name: str = "mean_log_det") -> Any:
        """The mean of the logarithm of the determinant."""
        return (
            self._multi_digamma(0.5 * self._df) + self._size * math.log(2.0) + 2.0 * self._log_det()
        )

    def _log_prob(self, x: Any) -> Any:
        factor = x if self.cholesky_input_output_matrices else cholesky(x)
        solved = matrix_triangular_solve(self._tril + array.zeros_like(factor), factor)
        trace = reduce_sum(square(solved), [-2, -1])
        half_log_det = reduce_sum(log(matrix_diag_part(factor)), -1)
        power = self._df - self._size - 1.0
        return power * half_log_det - 0.5 * trace - self.log_normalization()

    def _entropy(self) -> Any:
        p, half = self._size, 0.5 * self._df
        q = 0.5 * p + 0.5
        return (
            p * (half + q * math.log(2.0))
            + 2.0 * q * self._log_det()
            + self._multi_lgamma(half)
            + (q - half) * self._multi_digamma(half)
        )

    def _over_matrix(self, value: Any) -> Any:
        return value[..., None, None]

    def _mean(self) -> Any:
        df = self._over_matrix(self._df)
        if self.cholesky_input_output_matrices:
            return sqrt(df) * self._tril
        return df * self._square()

    def _variance(self) -> Any:
        x = sqrt(self._over_matrix(self._df)) * self._square()
        d = matrix_diag_part(x)[..., None]
        v = square(x) + matmul(d, d, adjoint_b=True)
        return cholesky(v) if self.cholesky_input_output_matrices else v

    def _stddev(self) -> Any:
        if self.cholesky_input_output_matrices:
            raise ValueError("The standard deviation of Cholesky factors is not defined.")
        return cholesky(self.variance())

    def _mode(self) -> Any:
        s = self._df - self._size - 1.0
        s = self._over_matrix(array.where_v2(s < 0.0, s * np.nan, s))
        return sqrt(s) * self._tril if self.cholesky_input_output_matrices else s * self._square()


class WishartFull(WishartCholesky):
    """`WishartCholesky` with the covariance itself, symmetric and positive definite, as ``scale``."""

    def __init__(
        self,
        df: TensorLike,
        scale: TensorLike,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartFull",
    ) -> None:
        super().__init__(
            df, scale, cholesky_input_output_matrices, validate_args, allow_nan_stats, name
        )

    @staticmethod
    def _factor(scale: Any) -> Any:
        return cholesky(scale)
