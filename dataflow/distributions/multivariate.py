"""Normal distributions of vectors, whose elements may depend on each other."""

from __future__ import annotations

import math
from typing import Any

from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    after,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.normal_functions import softplus
from dataflow.distributions.vector_scales import (
    DiagonalScale,
    TriangularScale,
    diagonal_scale,
    vector_size,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DynamicShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_none_equal, assert_same_float_dtype
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.ops.decompositions import cholesky
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import abs_, log, matmul, reduce_sum, square
from dataflow.ops.random import random_normal, random_uniform
from dataflow.shapes import TensorShape


class _VectorLocationScale(Distribution):
    """``loc + scale @ z`` for a vector z of independent standard numbers."""

    def _set_up(
        self, arguments: dict[str, Any], loc: TensorLike | None, scale: DiagonalScale, scope: str
    ) -> None:
        if loc is not None:
            loc = convert_to_tensor(loc, scale.diag_part().dtype.base_dtype, name="loc")
            assert_same_float_dtype([loc, scale.diag_part()])
        self._loc = loc
        if arguments["validate_args"]:
            diagonal = scale.diag_part()
            check = assert_none_equal(
                diagonal, array.zeros_like(diagonal), message="scale must not be singular"
            )
            scale._diagonal = after([check], diagonal)
        self._scale = scale
        Distribution.__init__(
            self,
            dtype=scale.diag_part().dtype.base_dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=arguments["validate_args"],
            allow_nan_stats=arguments["allow_nan_stats"],
            parameters=arguments,
            graph_parents=[scale.diag_part(), *([] if loc is None else [loc])],
            name=scope,
        )
        self._vector_shape()

    @property
    def loc(self) -> Any:
        """The means ``[..., k]``, or None for zeros."""
        return self._loc

    @property
    def scale(self) -> DiagonalScale:
        """The matrix that independent noise is multiplied with: `to_dense`, `matvec`, `solvevec`."""
        return self._scale

    def _vector_shape(self) -> TensorShape:
        shapes = [] if self._loc is None else [self._loc.get_shape()]
        return common_shape([*shapes, self._scale.vector_shape])

    def _vector_shape_tensor(self) -> Any:
        shapes = [] if self._loc is None else [array.shape(self._loc)]
        return common_shape_tensor([*shapes, self._scale.vector_shape_tensor()])

    def _batch_shape(self) -> TensorShape:
        shape = self._vector_shape()
        return TensorShape(None) if shape.ndims is None else shape[:-1]

    def _batch_shape_tensor(self) -> Any:
        return self._vector_shape_tensor()[:-1]

    def _event_shape(self) -> TensorShape:
        shape = self._vector_shape()
        return TensorShape([None]) if shape.ndims is None else shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return self._vector_shape_tensor()[-1:]

    def _centered(self, x: TensorLike) -> Any:
        return x if self._loc is None else x - self._loc

    def _standardized(self, x: TensorLike) -> Any:
        return self._scale.solvevec(self._centered(x))

    def _noise(self, shape: DynamicShapeLike, seed: int) -> Any:
        raise NotImplementedError

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        noise = self._noise(array.concat([[n], self._vector_shape_tensor()], 0), seed)
        drawn = self._scale.matvec(noise)
        return drawn if self._loc is None else drawn + self._loc

    def _over_batch(self, value: TensorLike) -> Any:
        return value + array.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Any:
        return array.zeros(self._vector_shape_tensor(), self.dtype) + (
            0.0 if self._loc is None else self._loc
        )

    _mode = _mean

    #: The variance of one element of z.
    _noise_variance = 1.0

    def _dense(self) -> Any:
        dense = self._scale.to_dense()
        shape = self._vector_shape_tensor()
        return array.broadcast_to(dense, array.concat([shape, shape[-1:]], 0))

    # As in TensorFlow these two have the batch of the scale alone: ``loc`` does not count in them.

    def _covariance(self) -> Any:
        dense = self._scale.to_dense()
        return self._noise_variance * matmul(dense, dense, transpose_b=True)

    def _variance(self) -> Any:
        return self._noise_variance * reduce_sum(square(self._scale.to_dense()), -1)


class _MultivariateNormal(_VectorLocationScale):
    def _noise(self, shape: DynamicShapeLike, seed: int) -> Any:
        return random_normal(shape, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: TensorLike) -> Any:
        size = vector_size(self)
        distance = reduce_sum(square(self._standardized(x)), -1)
        constant = 0.5 * size * math.log(2.0 * math.pi)
        return -0.5 * distance - constant - self._scale.log_abs_determinant()

    def _entropy(self) -> Any:
        constant = 0.5 * vector_size(self) * (1.0 + math.log(2.0 * math.pi))
        return self._over_batch(constant + self._scale.log_abs_determinant())


class MultivariateNormalDiag(_MultivariateNormal):
    """Normal vectors with independent elements: mean ``loc``, standard deviations ``scale_diag``.

    ``loc`` and ``scale_diag`` are ``[..., k]`` floats that broadcast; None means zeros and ones.
    ``scale_identity_multiplier`` ``[...]`` is added to (or stands for) the standard deviations. Samples
    have gradients. Raises `ValueError` when nothing tells k.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            scale = diagonal_scale(loc, scale_diag, scale_identity_multiplier)
            self._set_up(arguments, loc, scale, scope)


class MultivariateNormalDiagWithSoftplusScale(_MultivariateNormal):
    """`MultivariateNormalDiag` with standard deviations ``softplus(scale_diag)``."""

    def __init__(
        self,
        loc: TensorLike,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            scale = DiagonalScale(softplus(convert_to_tensor(scale_diag)))
            self._set_up(arguments, loc, scale, scope)


class MultivariateNormalTriL(_MultivariateNormal):
    """Normal vectors ``loc + scale_tril @ noise``, with covariance ``scale_tril @ scale_tril^T``.

    ``scale_tril`` ``[..., k, k]`` is lower triangular (None for the identity), ``loc`` ``[..., k]``.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            if scale_tril is None:
                scale = diagonal_scale(loc, None, None)
            else:
                scale = TriangularScale(convert_to_tensor(scale_tril, name="scale_tril"))
            self._set_up(arguments, loc, scale, scope)


class MultivariateNormalFullCovariance(_MultivariateNormal):
    """Normal vectors with mean ``loc`` ``[..., k]`` and ``covariance_matrix`` ``[..., k, k]``.

    The matrix has to be symmetric and positive definite: its Cholesky factor is taken.
    """

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            if covariance_matrix is None:
                scale = diagonal_scale(loc, None, None)
            else:
                matrix = convert_to_tensor(covariance_matrix, name="covariance_matrix")
                scale = TriangularScale(cholesky(matrix))
            self._set_up(arguments, loc, scale, scope)


class MultivariateNormalDiagPlusLowRank(_MultivariateNormal):
    """Normal vectors with covariance ``S S^T``, S a diagonal plus ``U diag(d) U^T`` of low rank.

    The diagonal is that of `MultivariateNormalDiag`; ``scale_perturb_factor`` is U [..., k, r],
    ``scale_perturb_diag`` d [..., r] (ones). Noise is multiplied by the Cholesky factor of the covariance.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            vectors = loc
            if loc is None and scale_diag is None and scale_perturb_factor is not None:
                vectors = array.zeros_like(convert_to_tensor(scale_perturb_factor)[..., 0])
            scale = diagonal_scale(vectors, scale_diag, scale_identity_multiplier)
            if scale_perturb_factor is not None:
                factor = convert_to_tensor(scale_perturb_factor, name="scale_perturb_factor")
                scaled = factor
                if scale_perturb_diag is not None:
                    scaled = factor * convert_to_tensor(scale_perturb_diag)[..., None, :]
                root = scale.to_dense() + matmul(scaled, factor, transpose_b=True)
                scale = TriangularScale(cholesky(matmul(root, root, transpose_b=True)))
            self._set_up(arguments, vectors, scale, scope)


class VectorLaplaceDiag(_VectorLocationScale):
    """Vectors ``loc + scale_diag * z`` for independent standard `Laplace` elements of z."""

    _noise_variance = 2.0

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorLaplaceDiag",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            scale = diagonal_scale(loc, scale_diag, scale_identity_multiplier)
            self._set_up(arguments, loc, scale, scope)

    def _noise(self, shape: DynamicShapeLike, seed: int) -> Any:
        from dataflow.distributions.location_scale import Laplace

        zero = convert_to_tensor(0.0, self.dtype)
        return Laplace(zero, array.ones_like(zero)).sample(shape, seed=seed)

    def _log_prob(self, x: TensorLike) -> Any:
        distance = reduce_sum(abs_(self._standardized(x)), -1)
        return -distance - vector_size(self) * math.log(2.0) - self._scale.log_abs_determinant()

    def _entropy(self) -> Any:
        constant = vector_size(self) * (1.0 + math.log(2.0))
        return self._over_batch(constant + self._scale.log_abs_determinant())


class VectorExponentialDiag(_VectorLocationScale):
    """Vectors ``loc + scale_diag * z`` for independent standard `Exponential` elements of z."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorExponentialDiag",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            scale = diagonal_scale(loc, scale_diag, scale_identity_multiplier)
            self._set_up(arguments, loc, scale, scope)

    def _noise(self, shape: DynamicShapeLike, seed: int) -> Any:
        import numpy as np

        smallest = np.finfo(self.dtype.as_numpy_dtype).tiny
        return -log(random_uniform(shape, smallest, 1.0, self.dtype, seed=seed))

    def _log_prob(self, x: TensorLike) -> Any:
        import numpy as np

        z = self._standardized(x)
        outside = np.array(-np.inf, self.dtype.as_numpy_dtype)
        terms = array.where_v2(z >= 0.0, -z, outside)
        return reduce_sum(terms, -1) - self._scale.log_abs_determinant()

    def _entropy(self) -> Any:
        return self._over_batch(vector_size(self) + self._scale.log_abs_determinant())

    def _mean(self) -> Any:
        return super()._mean() + reduce_sum(self._dense(), -1)

    def _mode(self) -> Any:
        return super()._mean()


@RegisterKL(_MultivariateNormal, _MultivariateNormal)
def _kl_multivariate_normals(a: Any, b: Any, name: str | None = None) -> Any:
    """``0.5 (|B^-1 A|^2 - k + |B^-1 (mean_b - mean_a)|^2) + log |B| - log |A|``."""
    with name_scope(name, "kl_mvn"):
        distance = reduce_sum(square(b.scale.solvevec(b._mean() - a._mean())), -1)
        if isinstance(a.scale, TriangularScale) or isinstance(b.scale, TriangularScale):
            # The columns of A as vectors in front: B^-1 A, column by column.
            dense = a._dense()
            rank = dense.get_shape().ndims
            if rank is None:
                raise ValueError("the KL divergence of matrices needs a known rank.")
            columns = array.transpose(dense, [rank - 1, *range(rank - 1)])
            spread = reduce_sum(square(b.scale.solvevec(columns)), [0, -1])
        else:
            spread = reduce_sum(square(a.scale.diag_part() / b.scale.diag_part()), -1)
        logs = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        return 0.5 * (spread - vector_size(a) + distance) + logs
